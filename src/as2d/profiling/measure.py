"""How a call is timed: when, how often, and when that is enough."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median, quantiles

from as2d.profiling.bench import Bench, Call
from as2d.profiling.plan import Point
from as2d.profiling.profile import Timing


@dataclass(frozen=True, slots=True)
class Rule:
    """How often each point is timed.

    Once to warm up, which does not count, and `repetitions` times; that often again as long as half the interquartile
    range is more than `noisy` of the median, but not when it has been timed `most` times or for `most_ms`.
    """

    repetitions: int = 5
    noisy: float = 0.1
    most: int = 15
    most_ms: float = 3000.0

    def is_enough(self, times: Sequence[float]) -> bool:
        """Whether a point is timed well enough, or cannot be timed better."""
        found = timing(times)
        steady = found.spread_ms <= self.noisy * found.ms
        return steady or len(times) >= self.most or sum(times) >= self.most_ms


def timing(times: Sequence[float]) -> Timing:
    """Median and half the interquartile range of two or more times."""
    low, _, high = quantiles(times, n=4, method="inclusive")
    return Timing(median(times), (high - low) / 2, len(times))


def measure(bench: Bench, points: Sequence[Point], rule: Rule) -> Generator[tuple[Point, Timing], None, None]:
    """Time the points, and give out each when it is done.

    Points of one kind of call, model, length of audio and other side are timed together, in turns (`take_turns`).
    """
    random = Random(0)
    for members in sittings(points):
        with bench.busy(members[0].beside, members[0].audio_s):
            yield from take_turns(bench.calls(members), rule, random)


def sittings(points: Sequence[Point]) -> list[list[Point]]:
    """The points that are timed together, in the order of the first of each."""
    found: dict[tuple[object, ...], list[Point]] = {}
    for point in points:
        key = (point.doing, point.model, point.audio_s, point.beside)
        found.setdefault(key, []).append(point)
    return list(found.values())


def take_turns(calls: Mapping[Point, Call], rule: Rule, random: Random) -> Iterator[tuple[Point, Timing]]:
    """Time each call once in every round, in a new order each time: a slow spell of the machine hits all alike."""
    for call in calls.values():
        call()
    times: dict[Point, list[float]] = {point: [] for point in calls}
    left = list(calls)
    while left:
        for _ in range(rule.repetitions):
            random.shuffle(left)
            for point in left:
                times[point].append(calls[point]())
        done = [point for point in left if rule.is_enough(times[point])]
        for point in done:
            yield point, timing(times[point])
        left = [point for point in left if point not in done]
