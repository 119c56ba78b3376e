"""Acceptance and the judgement of one round."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from as2d.decoding.accept import accept, judge
from as2d.decoding.stop import StopRules
from as2d.records import Origin

RULES = StopRules(frozenset({0}), limit=100)
TOKENS = st.lists(st.integers(1, 3), max_size=8)


@pytest.mark.parametrize(
    ("candidates", "greedy", "accepted"),
    [
        ((), (5,), 0),
        ((5,), (5, 6), 1),
        ((4,), (5, 6), 0),
        ((5, 6, 7), (5, 6, 8, 9), 2),
        ((5, 6, 7), (4, 6, 7, 9), 0),  # agreement behind a difference does not count
        ((5, 6, 7), (5, 6, 7, 9), 3),
    ],
)
def test_accepts_the_longest_equal_prefix(
    candidates: Sequence[int], greedy: Sequence[int], accepted: int
) -> None:
    assert accept(candidates, greedy) == accepted


@given(TOKENS, TOKENS)
def test_accept_equals_its_definition(candidates: list[int], greedy: list[int]) -> None:
    longest = max(n for n in range(len(candidates) + 1) if candidates[:n] == greedy[:n])
    assert accept(candidates, greedy) == longest


@pytest.mark.parametrize(
    ("candidates", "greedy", "tokens", "origins"),
    [
        ((), (5,), (5,), ("alone",)),
        ((5, 6), (5, 6, 7), (5, 6, 7), ("accepted", "accepted", "bonus")),
        ((5, 6), (5, 4, 7), (5, 4), ("accepted", "corrected")),
        ((5, 6), (4, 6, 7), (4,), ("corrected",)),
        ((5, 6), (0, 6, 7), (0,), ("corrected",)),
    ],
)
def test_every_token_says_where_it_came_from(
    candidates: Sequence[int], greedy: Sequence[int], tokens: tuple[int, ...], origins: tuple[Origin, ...]
) -> None:
    commit = judge(RULES, [], candidates, greedy, source=None)
    assert commit.tokens == tokens
    assert commit.origins == origins
    assert commit.proposed == len(candidates)
    assert commit.accepted == origins.count("accepted")


def test_candidates_behind_a_stop_are_not_accepted() -> None:
    committed = [5] * 22
    commit = judge(RULES, committed, (5, 5, 5), (5, 5, 5, 6), source=0)
    assert commit.tokens == (5, 5)
    assert commit.origins == ("accepted", "accepted")
    assert (commit.proposed, commit.accepted, commit.finish_reason) == (3, 2, "repetition")
