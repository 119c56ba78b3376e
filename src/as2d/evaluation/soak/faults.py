"""Faults that are injected into drafters. Whatever a drafter does may cost time only."""

import random
from collections import Counter
from collections.abc import Sequence
from threading import Event, Lock
from time import sleep
from typing import Any, Literal, get_args

from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.drafting.prefix import PrefixDrafter
from as2d.models.contract import Vocabulary
from as2d.records import Instruction
from as2d.runtime.source import Encoded, Float32, Job, Source

Fault = Literal["raises", "stalls", "hangs", "lies"]
"""stalls: waits, but stops when told to; hangs: does not even do that."""

LONGEST_S = 1.5
"""Of a stall or hang: longer than a session waits for a drafter to stop."""
_LIE_SHARE = 0.3


class InjectedError(RuntimeError):
    """What an injected fault raises."""


class Faults:
    """Draws faults, and counts them. Any number of threads may use it."""

    def __init__(self, seed: int, share: float) -> None:
        """`share` of the calls of a drafter are faulty."""
        self.counts: Counter[Fault] = Counter()
        self._draw = random.Random(seed)
        self._share = share
        self._lock = Lock()

    def draw(self, among: tuple[Fault, ...] = get_args(Fault)) -> Fault | None:
        """A fault of these kinds, or none."""
        with self._lock:
            if self._draw.random() >= self._share:
                return None
            fault = self._draw.choice(among)
            self.counts[fault] += 1
            return fault

    def delay_s(self) -> float:
        """How long to stall."""
        with self._lock:
            return self._draw.uniform(0.05, LONGEST_S)

    def lie(self, token: int, size: int) -> int:
        """The token, or now and then another one; sometimes one that a vocabulary of that size does not have."""
        with self._lock:
            return self._draw.randrange(-1, size + 2) if self._draw.random() < _LIE_SHARE else token


class FaultySource:
    """A source that raises, stalls, hangs and lies at random, and otherwise does what the plain one does."""

    def __init__(self, source: Source, faults: Faults) -> None:
        self.name = source.name
        self.identity = f"faulty {source.name}"  # what is measured of it is no other drafter's
        self._source = source
        self._faults = faults

    def can_draft(self, instruction: Instruction) -> bool:
        """As the plain one."""
        return self._source.can_draft(instruction)

    def waits(self, instruction: Instruction) -> bool:
        """As the plain one."""
        return self._source.waits(instruction)

    def prepare(self, samples: Float32, encoded: Encoded, threads: int, instruction: Instruction) -> Any:
        """May raise or be late."""
        self._fail(self._faults.draw(("raises", "hangs")), Event())
        return self._source.prepare(samples, encoded, threads, instruction)

    def draft(self, prepared: Any, job: Job) -> None:
        """May raise, be late, or publish other tokens than those drafted."""
        fault = self._faults.draw()
        self._fail(fault, job.stop)
        if fault == "lies":
            job = job._replace(buffer=_LyingBuffer(job.buffer, self._faults, job.target.size))
        self._source.draft(prepared, job)

    def open(
        self, prepared: Any, instruction: Instruction, target: Vocabulary, threads: int
    ) -> PrefixDrafter:
        """May raise or be late."""
        self._fail(self._faults.draw(("raises", "hangs")), Event())
        return self._source.open(prepared, instruction, target, threads)

    def _fail(self, fault: Fault | None, stop: Event) -> None:
        if fault == "raises":
            raise InjectedError("injected")
        if fault == "stalls":
            stop.wait(self._faults.delay_s())
        elif fault == "hangs":
            sleep(self._faults.delay_s())


class _LyingBuffer(CandidateBuffer):
    """Publishes other tokens than it is given, now and then, in another buffer."""

    def __init__(self, buffer: CandidateBuffer, faults: Faults, size: int) -> None:
        super().__init__()
        self._buffer = buffer
        self._faults = faults
        self._size = size

    def publish(self, tokens: Sequence[int], probabilities: Sequence[float]) -> None:
        """Some of the tokens are others."""
        self._buffer.publish([self._faults.lie(token, self._size) for token in tokens], probabilities)

    def restart(self, start: int) -> None:
        """As the other buffer."""
        self._buffer.restart(start)

    def close(self, fault: str | None = None) -> None:
        """As the other buffer."""
        self._buffer.close(fault)

    def snapshot(self) -> Snapshot:
        """As the other buffer."""
        return self._buffer.snapshot()
