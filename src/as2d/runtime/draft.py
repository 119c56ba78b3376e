"""The sources at work on one window, beside the target."""

from collections.abc import Container, Mapping
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Event
from time import perf_counter
from typing import Any, NamedTuple, Self, TypeVar

from as2d.drafting.buffer import CandidateBuffer
from as2d.drafting.producer import Producer
from as2d.drafting.publication import BatchSize
from as2d.drafting.resync import Requests
from as2d.models.contract import Vocabulary
from as2d.records import Commit, Instruction
from as2d.runtime.pair import PreparedSource, SpeechWindow
from as2d.runtime.source import Job, Source

_JOIN_SECONDS = 1.0
"""How long an answer waits for its producers to stop; a step takes milliseconds."""

T = TypeVar("T")


class _Inbox(NamedTuple):
    """What a producer waits for; None in any of them says that nobody wants the draft any more."""

    encoded: SimpleQueue[Any]
    instruction: SimpleQueue[Instruction | None]
    requests: Requests | None


class _DismissedError(Exception):
    """Nobody wants the draft any more."""


class Manner(NamedTuple):
    """How producers draft: in the target's tokens, so many of them published together, on so many cores.

    One that is to go on from the committed text (`resync`) when it is asked sees the target's text; no other does.
    """

    target: Vocabulary
    batch: BatchSize
    threads: int
    resync: bool


class Draft:
    """One producer for one window. It encodes at once and drafts as soon as the instruction is resolved."""

    def __init__(
        self, source: Source, window: SpeechWindow | PreparedSource, manner: Manner, instruction: Instruction
    ) -> None:
        """The instruction's language need not be known yet."""
        self.buffer = CandidateBuffer()
        self._inbox = _Inbox(SimpleQueue(), SimpleQueue(), SimpleQueue() if manner.resync else None)
        self._producer = Producer(
            partial(_draft, source, window, manner, instruction, self._inbox), self.buffer
        )
        self.done_at = perf_counter()
        self.fault: str | None = None

    def start(self) -> None:
        """Start the producer."""
        self._producer.start()

    def hear(self, encoded: Any) -> None:
        """Give it the target's prepared audio."""
        self._inbox.encoded.put(encoded)

    def resolve(self, instruction: Instruction) -> None:
        """Say what to draft."""
        self._inbox.instruction.put(instruction)

    def restart(self, committed: tuple[int, ...]) -> None:
        """Ask it to go on from the committed tokens, if it is one to catch up."""
        if self._inbox.requests is not None:
            self._inbox.requests.put(committed)

    def stop(self) -> None:
        """Say that the draft is not wanted any more; returns at once."""
        self._producer.stop()
        for queue in self._inbox:
            if queue is not None:
                queue.put(None)

    def join(self, deadline: float) -> None:
        """Wait for the producer until then; afterwards `done_at` (both `time.perf_counter()`) and `fault` are known."""
        stopped = self._producer.join(max(0.0, deadline - perf_counter()))
        self.done_at = self._producer.done_at or perf_counter()
        self.fault = self.buffer.fault
        if not stopped:
            self.fault = f"it did not stop within {_JOIN_SECONDS:g} s and was left behind"


class Drafts:
    """The producers of one window, each with the index of its source; a context in which they run.

    The instruction need not be resolved when they start, so that some may turn out not to be wanted.
    """

    def __init__(self, drafts: Mapping[int, Draft]) -> None:
        self._drafts = drafts
        self._wanted = dict(drafts)
        self._committed: list[int] = []

    def __enter__(self) -> Self:
        """Start the producers."""
        for draft in self._drafts.values():
            draft.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop and join the producers, all of them together."""
        for draft in self._drafts.values():
            draft.stop()
        deadline = perf_counter() + _JOIN_SECONDS
        for draft in self._drafts.values():
            draft.join(deadline)

    @property
    def done_at(self) -> float:
        """When the last producer had stopped; 0 without any."""
        return max((draft.done_at for draft in self._drafts.values()), default=0.0)

    @property
    def wanted(self) -> frozenset[int]:
        """The sources that draft this window."""
        return frozenset(self._wanted)

    def fault(self, source: int) -> str | None:
        """What went wrong with a source's producer, if it has one."""
        draft = self._drafts.get(source)
        return draft.fault if draft else None

    def buffers(self, sources: int) -> list[CandidateBuffer]:
        """A buffer for each of the pair's sources, closed where nobody drafts."""
        return [
            self._wanted[source].buffer if source in self._wanted else _closed() for source in range(sources)
        ]

    def hear(self, encoded: Any) -> None:
        """Give the target's prepared audio to those that work on it."""
        for draft in self._drafts.values():
            draft.hear(encoded)

    def resolve(self, instruction: Instruction, speakers: Container[int]) -> None:
        """Say what to draft, and end the producers of all sources but the `speakers`."""
        for source, draft in self._drafts.items():
            if source in speakers:
                draft.resolve(instruction)
            else:
                draft.stop()
                del self._wanted[source]

    def follow(self, commit: Commit) -> None:
        """End the producers that the commit switches off, and restart those that are to catch up."""
        self._committed += commit.tokens
        for source, draft in self._wanted.items():
            if source in commit.switched_off:
                draft.stop()
            if source in commit.resync:
                draft.restart(tuple(self._committed))


def _draft(
    source: Source,
    window: SpeechWindow | PreparedSource,
    manner: Manner,
    unresolved: Instruction,
    inbox: _Inbox,
    buffer: CandidateBuffer,
    stop: Event,
) -> None:
    """What the producer does. It is no method, so that no cycle keeps a window's arrays alive."""
    with suppress(_DismissedError):
        if isinstance(window, SpeechWindow):
            encoded = partial(_taken, inbox.encoded)
            prepared = source.prepare(window.samples, encoded, manner.threads, unresolved)
        else:
            prepared = window.audio
        instruction = _taken(inbox.instruction)
        if not stop.is_set():
            target, batch, threads = manner[:3]
            source.draft(prepared, Job(instruction, target, batch, inbox.requests, buffer, stop, threads))


def _taken(queue: SimpleQueue[T | None]) -> T:
    """What comes next, waiting for it."""
    value = queue.get()
    if value is None:
        raise _DismissedError
    return value


def _closed() -> CandidateBuffer:
    buffer = CandidateBuffer()
    buffer.close()
    return buffer
