"""Notes when models compute, from outside: the loops hold no profiling code.

A recorded model or recogniser does what the plain one does and notes each call of its decoders, which costs about a
microsecond a call.
"""

from collections.abc import Iterable, Sequence
from threading import Event
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from as2d.evaluation.rows import Span
from as2d.models.contract import AudioModel, Decoder, Rows
from as2d.models.recognisers.contract import Recogniser, RecogniserStream
from as2d.records import Instruction

Float32 = NDArray[np.float32]
Call = tuple[float, float, int]
"""Start and end (`time.perf_counter()`) and width of a call."""

_ONLY_OF_SOME = ("share", "prefix", "prepare_after")
"""What `SharesEncoder` and `ReadsContext` add to an audio model; having it is what such a model is known by."""


class Notes:
    """The calls of a run. Any number of threads may add to it."""

    def __init__(self) -> None:
        self.drafting: list[Call] = []
        self.verifying: list[Call] = []

    def clear(self) -> None:
        """Begin a run; a drafter that was left behind by an earlier one writes to that one's list."""
        self.drafting, self.verifying = [], []


class Computing(NamedTuple):
    """The calls of a run as times in milliseconds after its first root."""

    drafting: tuple[Span, ...]
    verifying: tuple[Span, ...]


def computing(notes: Notes, first_root: float) -> Computing:
    """What was noted from `first_root` (`time.perf_counter()`) on."""
    return Computing(_spans(notes.drafting, first_root), _spans(notes.verifying, first_root))


def busy_ms(spans: Iterable[Span]) -> float:
    """The time in which at least one of the calls ran."""
    return sum(end - start for start, end in _united(spans))


def overlap_ms(one: Iterable[Span], other: Iterable[Span]) -> float:
    """The time in which calls of both ran."""
    ones, others = _united(one), _united(other)
    total, i, j = 0.0, 0, 0
    while i < len(ones) and j < len(others):
        start, end = max(ones[i][0], others[j][0]), min(ones[i][1], others[j][1])
        total += max(0.0, end - start)
        if ones[i][1] <= others[j][1]:
            i += 1
        else:
            j += 1
    return total


def recorded_target(model: AudioModel, notes: Notes) -> AudioModel:
    """The target, whose calls are noted as verifying."""
    return _RecordedTarget(model, notes)


def recorded_drafter(model: AudioModel | Recogniser, notes: Notes) -> AudioModel | Recogniser:
    """A drafter whose calls are noted as drafting."""
    if not hasattr(model, "prepare"):
        return _RecordedRecogniser(model, notes)
    return _RecordedDrafter(cast(AudioModel, model), notes)


class _RecordedDecoder:
    """A decoder whose calls are noted."""

    def __init__(self, decoder: Decoder, calls: list[Call]) -> None:
        self._decoder = decoder
        self._calls = calls
        self.root = decoder.root
        self.capacity = decoder.capacity
        self.truncate = decoder.truncate
        self.use_threads = decoder.use_threads

    @property
    def length(self) -> int:
        return self._decoder.length

    def forward(self, tokens: Sequence[int]) -> Rows:
        start = perf_counter()
        rows = self._decoder.forward(tokens)
        self._calls.append((start, perf_counter(), len(tokens)))
        return rows

    def scores(self, tokens: Sequence[int]) -> Float32:
        start = perf_counter()
        rows = self._decoder.scores(tokens)
        self._calls.append((start, perf_counter(), len(tokens)))
        return rows


class _RecordedModel:
    """An audio model of the same abilities; what it opens is up to who derives from it."""

    def __init__(self, model: AudioModel, notes: Notes) -> None:
        self._model = model
        self._notes = notes
        self.name = model.name
        self.identity = model.identity
        self.capabilities = model.capabilities
        self.vocabulary = model.vocabulary
        self.end_ids = model.end_ids
        self.prepare = model.prepare
        self.detect_language = model.detect_language
        self.check = model.check
        self.output_limit = model.output_limit
        for name in _ONLY_OF_SOME:
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))


class _RecordedTarget(_RecordedModel):
    def open(self, prepared: Any, instruction: Instruction, threads: int) -> Decoder:
        return _RecordedDecoder(self._model.open(prepared, instruction, threads), self._notes.verifying)


class _RecordedDrafter(_RecordedModel):
    def open(self, prepared: Any, instruction: Instruction, threads: int) -> Decoder:
        """Opening computes the prompt, which is part of drafting."""
        start = perf_counter()
        decoder = self._model.open(prepared, instruction, threads)
        self._notes.drafting.append((start, perf_counter(), decoder.length))
        return _RecordedDecoder(decoder, self._notes.drafting)


class _RecordedStream:
    """A window being heard; a chunk counts as one token wide."""

    def __init__(self, stream: RecogniserStream, calls: list[Call]) -> None:
        self._stream = stream
        self._calls = calls
        self.close = stream.close

    def accept(self, chunk: Float32, *, last: bool) -> str:
        start = perf_counter()
        text = self._stream.accept(chunk, last=last)
        self._calls.append((start, perf_counter(), 1))
        return text


class _RecordedRecogniser:
    def __init__(self, recogniser: Recogniser, notes: Notes) -> None:
        self._recogniser = recogniser
        self._notes = notes
        self.name = recogniser.name
        self.languages = recogniser.languages

    def open(self, language: str, stop: Event) -> RecogniserStream:
        return _RecordedStream(self._recogniser.open(language, stop), self._notes.drafting)


def _spans(calls: Iterable[Call], zero: float) -> tuple[Span, ...]:
    return tuple(
        Span(_ms(max(start, zero) - zero), _ms(end - zero), width)
        for start, end, width in calls
        if end > zero
    )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 4)


def _united(spans: Iterable[Span]) -> list[tuple[float, float]]:
    """The times in which at least one ran, without overlaps, in order."""
    united: list[tuple[float, float]] = []
    for span in sorted(spans, key=lambda span: span.start):
        if united and span.start <= united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], span.end))
        else:
            united.append((span.start, span.end))
    return united
