"""The loop guard: tells a model that says one phrase for ever from a speaker who repeats himself.

It lives here because producers need it too, and `decoding` may import `drafting` but not the other way round.
"""

from collections.abc import Sequence

LONGEST_PERIOD = 24
"""Tokens in the longest phrase whose repetition is noticed."""
FEWEST_REPEATS = 4
"""Times that a phrase must be said; fewer occur in speech even when the phrase is long."""
SHORTEST_LOOP = 24
"""Tokens that the repetition must cover: "no, no, no, no" (8 tokens) is speech."""
LONGEST_LOOP = FEWEST_REPEATS * LONGEST_PERIOD
"""Tokens of the tail that `repeats` looks at, at most."""


def repeats(tokens: Sequence[int]) -> bool:
    """Whether the tail has a period p ≤ 24 over its last max(4p, 24) tokens."""
    if len(tokens) < SHORTEST_LOOP:
        return False
    last = tokens[-1]
    before = tokens[-2 : -2 - LONGEST_PERIOD : -1]
    if last not in before:  # the usual case; cheaper than trying the periods one by one
        return False
    return any(
        token == last and _has_period(tokens, period, max(FEWEST_REPEATS * period, SHORTEST_LOOP))
        for period, token in enumerate(before, 1)
    )


def _has_period(tokens: Sequence[int], period: int, span: int) -> bool:
    return len(tokens) >= span and tokens[-span:-period] == tokens[period - span :]
