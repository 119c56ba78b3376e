"""Time lines computed by hand."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from as2d.drafting.buffer import Snapshot
from as2d.replay.lanes import Lane, Operation, batches, finish, schedule
from as2d.replay.trace import Step, Stream


class Other(NamedTuple):
    name: str
    until: float


def lasts(active: frozenset[str]) -> float:
    """10 ms alone, 20 ms beside one, 40 ms beside both."""
    return float(10 << len(active))


@pytest.mark.parametrize(
    ("neighbours", "end"),
    [
        ([], 110.0),
        ([Other("a", 100.0)], 110.0),  # ends as the operation begins
        ([Other("a", 50.0)], 110.0),
        ([Other("a", 120.0)], 120.0),  # to the very end beside
        ([Other("a", 500.0)], 120.0),
        ([Other("a", 110.0)], 115.0),  # half is done at 110, the other half takes 5 alone
        (
            [Other("a", 110.0), Other("b", 118.0)],
            121.5,
        ),  # 10/40 at 110, 8/20 more at 118, the other 0.35 alone
        ([Other("a", 120.0), Other("b", 120.0)], 125.0),
    ],
)
def test_an_operation_changes_its_rate_where_another_lane_ends(neighbours: list[Other], end: float) -> None:
    assert finish(100.0, neighbours, lasts) == pytest.approx(end)


def test_an_operation_asks_who_is_at_work() -> None:
    seen: list[frozenset[str]] = []

    def noted(active: frozenset[str]) -> float:
        seen.append(active)
        return 10.0

    finish(0.0, [Other("a", 2.0), Other("b", 4.0)], noted)
    assert seen == [frozenset({"a", "b"}), frozenset({"b"}), frozenset()]


STEPS = (Operation(2.0, 3.0), Operation(2.0, 3.0), Operation(4.0, 6.0))
STATES = [[Snapshot((7,), (1.0,))], [], [Snapshot((7, 8), (1.0,) * 2), Snapshot((7, 8), (1.0,) * 2, True)]]


@pytest.fixture
def lane() -> Lane:
    """Operations at 10–13, 13–16 and 16–22 beside the target."""
    return Lane("a", 10.0, schedule(STEPS, STATES))


@pytest.mark.parametrize(
    ("time", "tokens", "closed"),
    [(0.0, (), False), (12.9, (), False), (13.0, (7,), False), (21.9, (7,), False), (22.0, (7, 8), True)],
)
def test_what_an_operation_publishes_is_seen_from_its_end_on(
    lane: Lane, time: float, tokens: tuple[int, ...], closed: bool
) -> None:
    seen = lane.snapshot(time)
    assert (seen.tokens, seen.closed) == (tokens, closed)


@pytest.mark.parametrize(
    ("time", "until"), [(0.0, 10.0), (10.0, 10.0), (10.1, 13.0), (13.0, 13.0), (15.0, 16.0), (30.0, 22.0)]
)
def test_a_stopped_lane_finishes_its_operation(lane: Lane, time: float, until: float) -> None:
    lane.stop(time)
    assert lane.until == until
    lane.stop(100.0)
    assert lane.until == until


@pytest.mark.parametrize(
    ("target_end", "ended"),
    [(30.0, 22.0), (22.0, 22.0), (5.0, 5.0), (11.5, 12.5), (16.0, 20.0), (19.0, 21.0)],
)
def test_behind_the_target_the_last_operation_goes_on_alone(
    lane: Lane, target_end: float, ended: float
) -> None:
    assert lane.ended(target_end) == pytest.approx(ended)


def test_a_lane_that_was_stopped_before_stays_ended(lane: Lane) -> None:
    lane.stop(11.0)
    assert lane.ended(12.0) == pytest.approx(12.0 + 1.0 * 2 / 3)
    assert lane.ended(15.0) == 13.0


def tokens_of(states: list[list[Snapshot]]) -> list[list[tuple[int, ...]]]:
    return [[state.tokens for state in step] for step in states]


def test_words_are_published_by_the_step_that_completes_them(make_stream: Callable[..., Stream]) -> None:
    states = batches(make_stream([(5, 6), (7,)]), "word")
    assert tokens_of(states) == [[(5, 6)], [(5, 6, 7)], [(5, 6, 7)]]
    assert [state.closed for state in states[-1]] == [True]


def test_batches_wait_until_they_are_full(make_stream: Callable[..., Stream]) -> None:
    states = batches(make_stream([(5,), (6,), (7,), (8, 9, 10)]), 2)
    assert tokens_of(states) == [
        [],
        [(5, 6)],
        [],
        [(5, 6, 7, 8), (5, 6, 7, 8, 9, 10)],
        [(5, 6, 7, 8, 9, 10)],
    ]


def test_the_end_publishes_what_is_left(make_stream: Callable[..., Stream]) -> None:
    states = batches(make_stream([(5,), (6,), (7,)]), 2)
    assert tokens_of(states)[-1] == [(5, 6, 7), (5, 6, 7)]
    assert [state.closed for state in states[-1]] == [False, True]


def test_a_recogniser_publishes_its_chunks_whatever_the_batch(make_stream: Callable[..., Stream]) -> None:
    chunks = make_stream([(5, 6, 7), (8,)], chunks=True)
    assert (
        tokens_of(batches(chunks, 8))
        == tokens_of(batches(chunks, "word"))
        == [
            [(5, 6, 7)],
            [(5, 6, 7, 8)],
            [(5, 6, 7, 8)],
        ]
    )


def test_several_words_of_one_step(make_stream: Callable[..., Stream]) -> None:
    words = make_stream([(5,), (6,)]).steps
    one = Step(1.0, (*words[0].words, *words[1].words))
    joined = Stream((one,), chunks=False, waits=False, open_ms=1.0, encode_ms=1.0)
    assert tokens_of(batches(joined, "word")) == [[(5,), (5, 6), (5, 6)]]
