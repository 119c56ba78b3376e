"""SpecASR's rule of how far to draft; pure."""

from collections.abc import Sequence

THRESHOLD = 0.4
"""Probability of a drafted token below which nothing is drafted behind it."""
LONGEST_DRAFT = 24
"""Tokens of a draft at most."""


def through_unsure(
    tokens: tuple[int, ...], probabilities: Sequence[float], threshold: float
) -> tuple[int, ...]:
    """The tokens up to the first that is less probable than `threshold`, that one included."""
    for count, probability in enumerate(probabilities, 1):
        if probability < threshold:
            return tokens[:count]
    return tokens
