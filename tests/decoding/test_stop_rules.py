"""Stop rules and the loop guard, token by token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from as2d.decoding.stop import StopRules, cut
from as2d.drafting.repetition import repeats
from as2d.errors import InputError

RULES = StopRules(frozenset({0, 9}), limit=30)


def slow_repeats(tokens: list[int]) -> bool:
    """The definition: some period p ≤ 24 holds over the last max(4p, 24) tokens."""
    for period in range(1, 25):
        tail = tokens[-max(4 * period, 24) :]
        if len(tail) == max(4 * period, 24) and all(
            a == b for a, b in zip(tail, tail[period:], strict=False)
        ):
            return True
    return False


@pytest.mark.parametrize("end", [0, 9])
def test_every_end_id_stops_and_is_kept(end: int) -> None:
    assert cut(RULES, [5], [1, 2, end, 3]) == ((1, 2, end), "stop")


def test_nothing_stops() -> None:
    assert cut(RULES, [5], [1, 2, 3]) == ((1, 2, 3), None)


def test_the_limit_cuts_inside_the_block() -> None:
    committed = list(range(10, 38))
    assert cut(RULES, committed, [1, 2, 3]) == ((1, 2), "length")


def test_an_end_id_at_the_limit_is_a_stop() -> None:
    assert cut(RULES, list(range(10, 39)), [9, 1]) == ((9,), "stop")


def test_a_limit_must_leave_room() -> None:
    with pytest.raises(InputError, match="use 1 or more"):
        StopRules(frozenset(), limit=0)


@pytest.mark.parametrize("period", range(1, 25))
def test_a_loop_of_any_period_ends_at_the_documented_length(period: int) -> None:
    phrase = list(range(100, 100 + period))
    needed = max(4 * period, 24)
    looped = ([1, 2, 3] + phrase * 30)[: 3 + needed]
    assert repeats(looped)
    assert not repeats(looped[:-1])


def test_phrases_said_again_are_speech() -> None:
    no = [3919, 11]
    assert not repeats([1, 2, 3] + no * 11)  # "no, no, no, …" eleven times
    assert not repeats(list(range(24)) * 3)


def test_a_longer_period_is_not_noticed() -> None:
    assert not repeats(list(range(25)) * 10)


@given(
    st.lists(st.integers(1, 3), max_size=30),
    st.lists(st.integers(1, 3), min_size=1, max_size=26),
    st.integers(1, 130),
    st.lists(st.integers(1, 3), max_size=2),
)
def test_the_loop_guard_equals_its_definition(
    before: list[int], phrase: list[int], length: int, after: list[int]
) -> None:
    tokens = before + (phrase * length)[:length] + after
    assert repeats(tokens) == slow_repeats(tokens)


@given(
    st.lists(st.integers(0, 3), max_size=40), st.lists(st.integers(0, 3), min_size=1, max_size=24), st.data()
)
def test_a_block_is_cut_where_single_tokens_would_stop(
    committed: list[int], new: list[int], data: st.DataObject
) -> None:
    rules = StopRules(frozenset({0}), limit=len(committed) + data.draw(st.integers(1, 30)))
    one_by_one: list[int] = []
    reason = None
    for token in new:
        kept, reason = cut(rules, committed + one_by_one, [token])
        one_by_one += kept
        if reason:
            break
    assert cut(rules, committed, new) == (tuple(one_by_one), reason)
