"""Time on two lanes and more: an operation goes slower while another lane computes. Pure; milliseconds.

The target's lane never rests until its answer ends. So a drafter's operations all have the target beside them, and
those of the target have beside them whichever drafters have not ended; a rate changes where a lane ends.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.drafting.publication import BatchSize, Publisher
from as2d.replay.trace import Stream


class Neighbour(Protocol):
    """Another lane that computes up to a time."""

    @property
    def name(self) -> str:
        """Whose lane it is."""

    @property
    def until(self) -> float:
        """When it ends."""


def finish(start: float, neighbours: Sequence[Neighbour], lasts: Callable[[frozenset[str]], float]) -> float:
    """When an operation ends that begins at `start`.

    `lasts` gives what the whole operation takes with these neighbours at work all the time. Where one ends meanwhile,
    the part that is left goes on at the rate without it.
    """
    now, left = start, 1.0
    active = sorted((lane for lane in neighbours if lane.until > start), key=lambda lane: lane.until)
    while active:
        duration = lasts(frozenset(lane.name for lane in active))
        until = active[0].until
        if now + left * duration <= until:
            return now + left * duration
        left -= (until - now) / duration
        now = until
        active = [lane for lane in active if lane.until > now]
    return now + left * lasts(frozenset())


class Operation(NamedTuple):
    """What an operation takes while the lane is alone, and while the other computes all the time."""

    alone: float
    beside: float


class Publications(NamedTuple):
    """What a stream publishes: all that is visible from each time on; before the first, nothing."""

    times: tuple[float, ...]
    snapshots: tuple[Snapshot, ...]

    def at(self, time: float) -> Snapshot:
        """What is visible at that time."""
        index = bisect_right(self.times, time)
        return self.snapshots[index - 1] if index else _NOTHING


_NOTHING = Snapshot()


def batches(stream: Stream, batch: BatchSize) -> list[list[Snapshot]]:
    """All that is visible after each publication of each step; the last step also says the end."""
    seen = _Seen()
    publisher = Publisher(seen, batch)
    steps = []
    for step in stream.steps:
        for word in step.words:
            if stream.chunks:
                seen.publish(*word)
            else:
                publisher.add(*word)
        steps.append(seen.taken())
    publisher.finish()
    seen.close()
    last = seen.taken()
    return [*steps[:-1], steps[-1] + last]


class _Seen(CandidateBuffer):
    """A buffer that keeps what is visible after each publication."""

    def __init__(self) -> None:
        super().__init__()
        self._states: list[Snapshot] = []

    def publish(self, tokens: Sequence[int], probabilities: Sequence[float]) -> None:
        super().publish(tokens, probabilities)
        self._states.append(self.snapshot())

    def close(self, fault: str | None = None) -> None:
        super().close(fault)
        self._states.append(self.snapshot())

    def taken(self) -> list[Snapshot]:
        """The states since the last call."""
        states, self._states = self._states, []
        return states


class Schedule(NamedTuple):
    """When a lane's operations begin and what they publish, counted from the lane's start, beside the target.

    `starts` has one time more than there are operations: the end of the last.
    """

    operations: tuple[Operation, ...]
    starts: tuple[float, ...]
    publications: Publications


def schedule(operations: Sequence[Operation], published: Sequence[Sequence[Snapshot]]) -> Schedule:
    """The schedule of operations that each make something visible when they end."""
    starts = tuple(accumulate((operation.beside for operation in operations), initial=0.0))
    shown = [(end, state) for end, states in zip(starts[1:], published, strict=True) for state in states]
    publications = Publications(tuple(end for end, _ in shown), tuple(state for _, state in shown))
    return Schedule(tuple(operations), starts, publications)


class Lane:
    """A drafter at work from `start` on, beside the target; it can be stopped, which its current operation outlasts."""

    def __init__(self, name: str, start: float, plan: Schedule) -> None:
        self.name = name
        self.until = start + plan.starts[-1]
        self._start = start
        self._plan = plan

    def snapshot(self, time: float) -> Snapshot:
        """What is visible at that time."""
        return self._plan.publications.at(time - self._start)

    def stop(self, time: float) -> None:
        """Begin nothing from that time on."""
        starts = self._plan.starts
        next_start = min(bisect_left(starts, time - self._start), len(starts) - 1)
        self.until = min(self.until, self._start + starts[next_start])

    def ended(self, target_end: float) -> float:
        """When the lane has ended if the target's ends then and stops it: its operation goes on at the rate alone."""
        if self.until <= target_end:
            return self.until
        time = target_end - self._start
        current = bisect_right(self._plan.starts, time) - 1
        if current < 0:
            return target_end  # it has not begun
        operation, left = self._plan.operations[current], self._plan.starts[current + 1] - time
        return target_end + left * operation.alone / operation.beside
