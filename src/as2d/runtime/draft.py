"""The drafter at work on one window, beside the target."""

from functools import partial
from queue import SimpleQueue
from threading import Event
from time import perf_counter
from typing import Any, Self

from as2d.drafting.buffer import CandidateBuffer
from as2d.drafting.producer import Producer, free_run
from as2d.drafting.publication import BatchSize, Publisher
from as2d.drafting.retokenise import Retokeniser
from as2d.models.contract import AudioModel, Vocabulary
from as2d.records import Instruction
from as2d.runtime.cores import DRAFTER_THREADS
from as2d.runtime.pair import PreparedWindow, SpeechWindow

_JOIN_SECONDS = 1.0
"""How long an answer waits for its producer to stop; a step takes milliseconds."""


class Draft:
    """A producer for one window. It encodes at once and drafts as soon as the instruction is resolved.

    It sees the audio and the instruction only, never the target's text or cache.
    """

    def __init__(
        self, drafter: AudioModel, target: Vocabulary, window: SpeechWindow | PreparedWindow, batch: BatchSize
    ) -> None:
        self.buffer = CandidateBuffer()
        self._resolved: SimpleQueue[Instruction | None] = SimpleQueue()
        self._producer = Producer(
            partial(_draft, drafter, target, window, batch, self._resolved), self.buffer
        )
        self.done_at = perf_counter()
        self.fault: str | None = None

    def __enter__(self) -> Self:
        """Start the producer."""
        self._producer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop and join the producer; then `done_at` (`time.perf_counter()`) and `fault` are known."""
        self._producer.stop()
        self.resolve(None)
        stopped = self._producer.join(_JOIN_SECONDS)
        self.done_at = self._producer.done_at or perf_counter()
        self.fault = self.buffer.fault
        if not stopped:
            self.fault = f"it did not stop within {_JOIN_SECONDS:g} s and was left behind"

    def resolve(self, instruction: Instruction | None) -> None:
        """Say what to draft, or with None that the drafter is not wanted."""
        self._resolved.put(instruction)


def _draft(
    drafter: AudioModel,
    target: Vocabulary,
    window: SpeechWindow | PreparedWindow,
    batch: BatchSize,
    resolved: SimpleQueue[Instruction | None],
    buffer: CandidateBuffer,
    stop: Event,
) -> None:
    """What the producer does. It is no method, so that no cycle keeps a window's arrays alive."""
    prepared = _prepared(drafter, window)
    instruction = resolved.get()
    if instruction is None or stop.is_set():
        return
    instruction = _speakable(instruction, drafter)
    free_run(
        drafter.open(prepared, instruction, DRAFTER_THREADS),
        Retokeniser(drafter.vocabulary, target),
        Publisher(buffer, batch),
        end_ids=drafter.end_ids,
        limit=drafter.output_limit(prepared, instruction),
        stop=stop,
    )


def _prepared(drafter: AudioModel, window: SpeechWindow | PreparedWindow) -> Any:
    if isinstance(window, PreparedWindow):
        return window.drafter
    return drafter.prepare(window.samples, DRAFTER_THREADS)


def _speakable(instruction: Instruction, drafter: AudioModel) -> Instruction:
    """The instruction, with the drafter's own language and task where it lacks the ones asked for."""
    known = drafter.capabilities
    task = instruction.task if instruction.task in known.tasks else known.tasks[0]
    language = instruction.language if instruction.language in known.languages else known.languages[0]
    return Instruction(task, language)
