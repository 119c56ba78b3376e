"""The calls that are timed, and the other side at work meanwhile."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Event
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from as2d.drafting.buffer import CandidateBuffer
from as2d.drafting.producer import Producer, free_run
from as2d.drafting.publication import Publisher
from as2d.errors import ModelError
from as2d.models.contract import AudioModel, Decoder, SharesEncoder
from as2d.profiling.plan import AUDIO_S, CONTEXTS, VERIFYING, Other, Plan, Point, contexts_within
from as2d.profiling.subjects import Subjects, instruction_for
from as2d.records import SAMPLE_RATE
from as2d.runtime.exactness import MAX_BUDGET
from as2d.runtime.source import DrafterSource

Float32 = NDArray[np.float32]
Call = Callable[[], float]
"""Does what is timed, once, and returns the milliseconds."""

_JOIN_SECONDS = 30.0
"""An encoder that is at work is waited for."""


class Bench:
    """Loaded models on given audio.

    Used by one thread; the other side has decoders of its own. The tokens that are forwarded are seeded random ids:
    the time of a call does not depend on them.
    """

    def __init__(self, subjects: Subjects, speech: Float32, threads: int) -> None:
        """`speech` is mono at 16 kHz, repeated or cut to each length."""
        self.subjects = subjects
        self._speech = speech
        self._threads = threads
        self._prepared: dict[tuple[str, float], Any] = {}
        self._random = np.random.default_rng(0)

    def plan(
        self,
        widest: int = MAX_BUDGET + 1,
        audio_s: tuple[float, ...] = AUDIO_S,
        contexts: tuple[int, ...] = CONTEXTS,
    ) -> Plan:
        """What to time: contexts are cut to the room that the smallest model has."""
        rooms = (self._room(name, audio_s[0]) for name in self.subjects.models)
        fitting = contexts_within(min(rooms) - max(widest, *VERIFYING), contexts)
        drafters = tuple(self.subjects.drafters)
        return Plan(
            self._threads,
            self.subjects.target_name,
            drafters,
            self.subjects.sharing,
            widest,
            fitting,
            audio_s,
        )

    def calls(self, points: list[Point]) -> Mapping[Point, Call]:
        """How to time each of the points, which are of one model and one length of audio."""
        decoders: dict[int, Decoder] = {}
        return {point: self._call(point, decoders) for point in points}

    @contextmanager
    def busy(self, other: Other | None, audio_s: float) -> Iterator[None]:
        """Keep the other side at work in a thread of its own. ModelError when it fails there."""
        if other is None:
            yield
            return
        work, buffer = self._work(other, audio_s), CandidateBuffer()
        producer = Producer(lambda _, stop: _repeat(work, stop), buffer)
        producer.start()
        try:
            yield
        finally:
            producer.stop()
            producer.join(_JOIN_SECONDS)
        if buffer.fault:
            raise ModelError(
                f"{other.model} failed at work beside the other side ({buffer.fault}); leave it out"
            )

    def decoder(self, name: str, cores: int, audio_s: float, context: int) -> Decoder:
        """A decoder of a model with that many tokens of text behind the prompt."""
        model = self._model(name)
        decoder = model.open(self.prepared(name, audio_s), instruction_for(model), cores)
        if context:
            decoder.forward(self._tokens(model, context))
        return decoder

    def prepared(self, name: str, audio_s: float) -> Any:
        """The model's prepared audio, encoded at the first call."""
        key = (name, audio_s)
        if key not in self._prepared:
            self._prepared[key] = self._encoder(name, audio_s, self._threads)()
        return self._prepared[key]

    def _model(self, name: str) -> AudioModel:
        return self.subjects.models[name]

    def _room(self, name: str, audio_s: float) -> int:
        decoder = self.decoder(name, self._threads, audio_s, 0)
        return decoder.capacity - decoder.length

    def _tokens(self, model: AudioModel, count: int) -> list[int]:
        tokens: list[int] = self._random.integers(0, model.vocabulary.size, count).tolist()
        return tokens

    def _call(self, point: Point, decoders: dict[int, Decoder]) -> Call:
        if point.doing == "encode":
            return partial(spent_ms, self._encoder(point.model, point.audio_s, point.cores))
        if point.doing == "open":
            return partial(spent_ms, lambda: self.decoder(point.model, point.cores, point.audio_s, 0))
        if point.context not in decoders:
            decoders[point.context] = self.decoder(point.model, point.cores, point.audio_s, point.context)
        return self._forwarding(point, decoders[point.context])

    def _forwarding(self, point: Point, decoder: Decoder) -> Call:
        tokens, length = self._tokens(self._model(point.model), point.width), decoder.length

        def call() -> float:
            decoder.use_threads(point.cores)
            milliseconds = spent_ms(lambda: decoder.forward(tokens))
            decoder.truncate(length)
            return milliseconds

        return call

    def _encoder(self, name: str, audio_s: float, cores: int) -> Callable[[], Any]:
        model = self._model(name)
        if isinstance(model, SharesEncoder):
            target = self.prepared(self.subjects.target_name, audio_s)
            return lambda: model.share(target)
        samples = np.resize(self._speech, round(audio_s * SAMPLE_RATE))
        return lambda: model.prepare(samples, cores)

    def _work(self, other: Other, audio_s: float) -> Callable[[Event], object]:
        """One stretch of what the other side does; it may be cut short by the event."""
        if other.width == 0:
            encode = self._encoder(other.model, audio_s, other.cores)
            return lambda _: encode()
        if other.model == self.subjects.target_name:
            return self._verifying(other, audio_s)
        return self._drafting(other, audio_s)

    def _verifying(self, other: Other, audio_s: float) -> Callable[[Event], object]:
        decoder = self.decoder(other.model, other.cores, audio_s, 0)
        tokens, length = self._tokens(self._model(other.model), other.width), decoder.length

        def verify(_: Event) -> None:
            if decoder.length + other.width > decoder.capacity:
                decoder.truncate(length)
            decoder.forward(tokens)

        return verify

    def _drafting(self, other: Other, audio_s: float) -> Callable[[Event], object]:
        """The producer's own loop, from the start of the text to its end."""
        model, target = self._model(other.model), self.subjects.target.vocabulary
        prepared = self.prepared(other.model, audio_s)
        drafter = DrafterSource(model).open(prepared, instruction_for(model), target, other.cores)

        def draft(stop: Event) -> None:
            drafter.rewind(())
            free_run(drafter, Publisher(CandidateBuffer(), "word"), stop.is_set)

        return draft


def spent_ms(call: Callable[[], object]) -> float:
    """Milliseconds that a call takes."""
    start = perf_counter()
    call()
    return (perf_counter() - start) * 1000


def _repeat(work: Callable[[Event], object], stop: Event) -> None:
    while not stop.is_set():
        work(stop)
