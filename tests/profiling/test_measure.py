"""How often a call is timed, and in which order."""

from collections.abc import Callable, Iterator
from itertools import cycle
from random import Random

import pytest

from as2d.profiling.bench import Bench
from as2d.profiling.measure import Rule, measure, sittings, take_turns, timing
from as2d.profiling.plan import Point, points
from as2d.profiling.profile import Timing

MakeBench = Callable[..., Bench]


def point(width: int) -> Point:
    return Point("forward", "big", 1, 10.0, 8, width)


def scripted(*times: float) -> Callable[[], float]:
    """A call that takes these times, over and over."""
    script: Iterator[float] = cycle(times)
    return lambda: next(script)


def test_a_timing_is_the_median_and_half_the_interquartile_range() -> None:
    assert timing([5.0, 1.0, 2.0, 3.0, 100.0]) == Timing(3.0, 1.5, 5)


def test_the_first_call_warms_up_and_does_not_count() -> None:
    (found,) = take_turns({point(1): scripted(1000.0, *[3.0] * 5)}, Rule(), Random(0))
    assert found == (point(1), Timing(3.0, 0.0, 5))


def test_a_noisy_point_is_timed_again_up_to_a_bound() -> None:
    calls = {point(1): scripted(1.0, 5.0, 2.0, 9.0), point(2): scripted(2.0)}
    found = dict(take_turns(calls, Rule(), Random(0)))
    assert (found[point(1)].repetitions, found[point(2)].repetitions) == (15, 5)


def test_a_point_that_gets_steady_is_not_timed_further() -> None:
    calls = {point(1): scripted(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, *[3.0] * 5)}
    ((_, found),) = take_turns(calls, Rule(), Random(0))
    assert found == Timing(3.0, 0.0, 10)


def test_a_slow_noisy_point_is_not_timed_for_long() -> None:
    ((_, found),) = take_turns({point(1): scripted(100.0, 900.0)}, Rule(most_ms=2000), Random(0))
    assert found.repetitions == 5


def test_points_take_turns_in_a_new_order() -> None:
    order: list[int] = []

    def call(width: int) -> Callable[[], float]:
        def noted() -> float:
            order.append(width)
            return 1.0

        return noted

    list(take_turns({point(width): call(width) for width in range(8)}, Rule(), Random(0)))
    rounds = [order[start : start + 8] for start in range(0, len(order), 8)]
    assert len(rounds) == 1 + 5
    assert all(sorted(turn) == list(range(8)) for turn in rounds)
    assert len({tuple(turn) for turn in rounds}) == len(rounds)


def test_sittings_keep_kinds_of_call_and_other_sides_apart(make_bench: MakeBench) -> None:
    planned = points(make_bench().plan())
    found = sittings(planned)
    assert [p for members in found for p in members if members[0].doing != p.doing] == []
    assert all(len({(p.model, p.beside, p.audio_s) for p in members}) == 1 for members in found)
    assert sorted(map(repr, (p for members in found for p in members))) == sorted(map(repr, planned))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_every_point_of_a_plan_is_timed(make_bench: MakeBench, threads: int) -> None:
    bench = make_bench(threads)
    planned = points(bench.plan(2, (1.0,), (3,)))
    found = dict(measure(bench, planned, Rule(repetitions=2, most=2)))
    assert set(found) == set(planned)
    assert all(timed.ms > 0 and timed.repetitions == 2 for timed in found.values())
