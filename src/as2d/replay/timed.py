"""Models and buffers that note when they are used, from outside: the loops hold no profiling code.

Times are `time.perf_counter()` in milliseconds. Noting costs about a microsecond a call.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event, Lock
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.models.contract import AudioModel, Decoder, Rows
from as2d.models.recognisers.contract import Recogniser, RecogniserStream
from as2d.records import Instruction

Drafter = AudioModel | Recogniser


class Call(NamedTuple):
    """One call of a decoder, with how much text was in its cache; or one chunk of audio that a recogniser heard."""

    start: float
    end: float
    tokens: tuple[int, ...] = ()
    context: int = 0
    threads: int = 1


class Publication(NamedTuple):
    """Tokens that became visible together, after that many calls."""

    at: float
    calls: int
    tokens: tuple[int, ...]
    probabilities: tuple[float, ...]


@dataclass
class Log:
    """What one model did for one window, in order."""

    opened: float = 0.0
    """When its decoder was open."""
    calls: list[Call] = field(default_factory=list)
    publications: list[Publication] = field(default_factory=list)
    looks: list[float] = field(default_factory=list)
    """When the other side looked at what was published."""
    closed: float = 0.0


def now_ms() -> float:
    """The time."""
    return perf_counter() * 1000


def timed(model: Drafter, log: Log) -> Drafter:
    """The model, whose calls are noted."""
    if hasattr(model, "prepare"):
        return cast(AudioModel, _TimedModel(model, log))
    return _TimedRecogniser(model, log)


class TimedDecoder:
    """A decoder whose calls are noted."""

    def __init__(self, decoder: Decoder, log: Log, threads: int) -> None:
        self._decoder = decoder
        self._log = log
        self._threads = threads
        self._opening = decoder.length
        self.root = decoder.root
        self.capacity = decoder.capacity
        self.truncate = decoder.truncate

    @property
    def length(self) -> int:
        """Positions held in the cache."""
        return self._decoder.length

    def forward(self, tokens: Sequence[int]) -> Rows:
        """Append K positions and return K rows."""
        context = self._decoder.length - self._opening
        start = now_ms()
        rows = self._decoder.forward(tokens)
        self._log.calls.append(Call(start, now_ms(), tuple(tokens), context, self._threads))
        return rows

    def scores(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The raw rows, not noted: nothing that is timed reads them."""
        return self._decoder.scores(tokens)

    def use_threads(self, threads: int) -> None:
        """Compute the next rows on that many cores."""
        self._decoder.use_threads(threads)
        self._threads = threads


class TimedBuffer(CandidateBuffer):
    """A buffer that notes what is published and when it is looked at.

    The lock makes the times agree with what a look saw.
    """

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log
        self._lock = Lock()

    def publish(self, tokens: Sequence[int], probabilities: Sequence[float]) -> None:
        """Append one batch."""
        with self._lock:
            super().publish(tokens, probabilities)
            calls = len(self._log.calls)
            self._log.publications.append(Publication(now_ms(), calls, tuple(tokens), tuple(probabilities)))

    def close(self, fault: str | None = None) -> None:
        """Say that the stream is complete."""
        with self._lock:
            super().close(fault)
            self._log.closed = now_ms()

    def snapshot(self) -> Snapshot:
        """What is published now."""
        with self._lock:
            self._log.looks.append(now_ms())
            return super().snapshot()


class _TimedModel:
    """An audio model whose decoders are timed; in everything else the model itself."""

    def __init__(self, model: Drafter, log: Log) -> None:
        self._model = cast(AudioModel, model)
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def open(self, prepared: Any, instruction: Instruction, threads: int) -> Decoder:
        decoder = self._model.open(prepared, instruction, threads)
        self._log.opened = now_ms()
        return TimedDecoder(decoder, self._log, threads)


class _TimedRecogniser:
    """A recogniser whose chunks are timed."""

    def __init__(self, recogniser: Recogniser, log: Log) -> None:
        self._recogniser = recogniser
        self._log = log
        self.name = recogniser.name
        self.languages = recogniser.languages

    def open(self, language: str, stop: Event) -> RecogniserStream:
        stream = self._recogniser.open(language, stop)
        self._log.opened = now_ms()
        return _TimedStream(stream, self._log)


class _TimedStream:
    def __init__(self, stream: RecogniserStream, log: Log) -> None:
        self._stream = stream
        self._log = log
        self.close = stream.close

    def accept(self, chunk: NDArray[np.float32], *, last: bool) -> str:
        start = now_ms()
        text = self._stream.accept(chunk, last=last)
        self._log.calls.append(Call(start, now_ms()))
        return text
