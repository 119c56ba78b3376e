"""One window under one configuration: the native loop on a virtual clock.

What a round verifies, accepts and aligns is decided by the loop of `decoding` itself. It is given a target that knows
its answer and takes its time by the costs, and buffers that show what the drafters would have published by then.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.drafting.publication import BatchSize
from as2d.errors import InputError
from as2d.records import Commit
from as2d.replay.configuration import Configuration
from as2d.replay.costs import Costs
from as2d.replay.lanes import Lane, Operation, Schedule, batches, finish, schedule
from as2d.replay.loop import KnownTarget, loop_in_turn, native_loop
from as2d.replay.prices import Prices, Sharing
from as2d.replay.trace import Provenance, WindowTrace
from as2d.replay.turns import KnownDrafter


@dataclass(frozen=True, slots=True)
class Simulated:
    """What one window would have been. Milliseconds.

    `round_ends`, `decode_ms` and `producer_done_ms` count from the first root ready: the end of each round, of the
    target, and of the last drafter. `latency_ms` counts from the request's arrival to the target's end.
    """

    commits: tuple[Commit, ...]
    round_ends: tuple[float, ...]
    decode_ms: float
    producer_done_ms: float
    latency_ms: float


class Simulator:
    """Simulates one window under any number of configurations."""

    def __init__(self, window: WindowTrace, provenance: Provenance, costs: Costs) -> None:
        self._window = window
        self._provenance = provenance
        self._prices = Prices(costs, provenance.target, window.audio_s)
        self._planned = cache(self._plan)

    def run(self, configuration: Configuration, *, prepared: bool = True) -> Simulated:
        """The window under a configuration; unless `prepared`, target and drafters also encode.

        InputError for a cost that was not measured or cannot be, and for a drafter that is not in the traces.
        """
        names = self._speakers(configuration)
        opened = self._opened_in_turn if configuration.in_turn else self._opened
        clock = opened(configuration, names, prepared=prepared)
        lanes, first_root = clock.lanes, clock.now
        commits: list[Commit] = []
        ends = []
        for commit in self._loop(configuration, names, clock, commits):
            commits.append(commit)
            ends.append(clock.now - first_root)
            for source in commit.switched_off:
                lanes[source].stop(clock.now)
        done = max([clock.now, *(lane.ended(clock.now) for lane in lanes)])
        return Simulated(tuple(commits), tuple(ends), ends[-1], done - first_root, clock.now)

    def _opened(self, configuration: Configuration, names: Sequence[str], *, prepared: bool) -> "_Clock":
        """The drafters at work, and the time when the target's first root is ready; 0 is the request's arrival."""
        streams, prices, cores = self._window.streams, self._prices, configuration.cores
        plans = {name: self._schedule(name, configuration, prepared=prepared) for name in names}
        busy = [name for name in names if prepared or not streams[name].waits]
        lanes = {name: Lane(name, 0.0, plans[name]) for name in busy}
        clock = _Clock(list(lanes.values()), cores.cores_for(1))
        if not prepared:
            clock.spend(cores.cores_for(len(busy)), prices.encode_target)
            lanes |= {name: Lane(name, clock.now, plans[name]) for name in names if name not in lanes}
            clock.lanes = [lanes[name] for name in names]
        clock.spend(cores.cores_for(len(names)), prices.open_target)
        return clock

    def _opened_in_turn(
        self, configuration: Configuration, names: Sequence[str], *, prepared: bool
    ) -> "_Clock":
        """The time when both first roots are ready. Each model encodes on all cores."""
        prices, cores, clock = self._prices, configuration.threads, _Clock([], configuration.threads)
        if not prepared:
            clock.spend(cores, prices.encode_target)
            for name in names:
                clock.add(prices.encode_alone(name, cores))
        clock.spend(cores, prices.open_target)
        for name in names:
            clock.add(prices.open_alone(name, configuration.drafter_threads))
        return clock

    def _speakers(self, configuration: Configuration) -> list[str]:
        """Those that can draft the window, as in a native run."""
        if unknown := set(configuration.drafters) - self._provenance.drafters.keys():
            raise InputError(
                f"the traces hold no drafter {', '.join(sorted(unknown))}; "
                f"use {', '.join(self._provenance.drafters)}, or record them too"
            )
        return [name for name in configuration.drafted if name in self._window.streams]

    def _loop(
        self,
        configuration: Configuration,
        names: Sequence[str],
        clock: "_Clock",
        commits: Sequence[Commit],
    ) -> Iterator[Commit]:
        """The native loop, whose calls of the models let time go by; `commits` are those so far."""
        prices, window = self._prices, self._window

        def spend(tokens: Sequence[int], context: int, cores: int) -> None:
            differs = clock.lanes and commits and commits[-1].accepted < commits[-1].proposed
            overhead = prices.round + (prices.align if differs else 0.0)
            width = len(tokens)
            clock.spend(cores, lambda sharing: overhead + prices.verify(width, context, sharing))

        target = KnownTarget(window.tokens, window.limit, spend)
        answering = self._provenance.answering(window)
        if configuration.in_turn and names:
            drafter = self._drafter(names[0], configuration.drafter_threads, clock)
            return loop_in_turn(configuration, answering, target, drafter)
        buffers = [_LaneBuffer(lane, clock) for lane in clock.lanes]
        return native_loop(configuration, answering, target, buffers)

    def _drafter(self, name: str, cores: int, clock: "_Clock") -> KnownDrafter:
        """What takes turns with the target."""
        continuations = self._window.streams[name].continuations
        if not continuations:
            raise InputError(f"{name} cannot draft from a given text; use the method as2d, or an audio model")

        def drafted(steps: int, context: int) -> None:
            clock.add(sum(self._prices.step_alone(name, context + step, cores) for step in range(steps)))

        return KnownDrafter(self._window.tokens, continuations, self._provenance.end_ids, drafted)

    def _schedule(self, name: str, configuration: Configuration, *, prepared: bool) -> Schedule:
        return self._planned(name, configuration.batch, configuration.drafter_threads, prepared=prepared)

    def _plan(self, name: str, batch: BatchSize, cores: int, *, prepared: bool) -> Schedule:
        """All that a drafter does for the window."""
        stream, prices = self._window.streams[name], self._prices
        published = batches(stream, batch)
        if stream.chunks:  # what a chunk takes is in the trace
            return schedule([Operation(step.ms, step.ms) for step in stream.steps], published)
        before = [prices.open(name, cores)]
        if not prepared:
            before.insert(0, prices.encode(name, cores, waits=stream.waits))
        steps = [
            _longer(prices.step(name, context, cores), len(states) * prices.publish)
            for context, states in enumerate(published)
        ]
        return schedule([*before, *steps], [*([] for _ in before), *published])


class _Clock:
    """The target's time; its operations are slowed by the lanes that have not ended."""

    def __init__(self, lanes: list[Lane], together: int) -> None:
        """`together` are the target's cores beside one drafter."""
        self.now = 0.0
        self.lanes = lanes
        self._together = together

    def spend(self, cores: int, lasts: Callable[[Sharing], float]) -> None:
        """One operation on so many cores."""
        self.now = finish(self.now, self.lanes, lambda active: lasts(Sharing(cores, active, self._together)))

    def add(self, ms: float) -> None:
        """What another does while the target waits."""
        self.now += ms


class _LaneBuffer(CandidateBuffer):
    """What a lane has published by the target's time."""

    def __init__(self, lane: Lane, clock: _Clock) -> None:
        super().__init__()
        self._lane = lane
        self._clock = clock

    def snapshot(self) -> Snapshot:
        return self._lane.snapshot(self._clock.now)


def _longer(operation: Operation, ms: float) -> Operation:
    return Operation(operation.alone + ms, operation.beside + ms)
