"""Traces and costs made by hand."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from as2d.decoding.align import Marks
from as2d.drafting.words import Word
from as2d.profiling.profile import Profile
from as2d.records import FinishReason
from as2d.replay.trace import Step, Stream, WindowTrace

END = 0
SIZE = 100


@dataclass
class FlatCosts:
    """Implements `Costs`: a call of the target takes `verify` and `a_token` more for each further token.

    Every token of text in the cache costs `a_context`. Beside each other everything takes `slower` times as long.
    """

    verify: float = 4.0
    a_token: float = 0.0
    a_context: float = 0.0
    step: float = 2.0
    open: float = 1.0
    encode: float = 10.0
    slower: float = 1.0
    publish_ms: float = 0.0
    round_ms: float = 0.0
    align_ms: float = 0.0
    cores: list[int] = field(default_factory=list)

    def verify_ms(
        self, width: int, context: float, audio_s: float, cores: int, beside: str | None = None
    ) -> float:
        self.cores.append(cores)
        ms = self.verify + self.a_token * (width - 1) + self.a_context * context
        return ms * self._slowed(beside)

    def step_ms(self, drafter: str, context: float, audio_s: float, *, beside: bool, cores: int = 1) -> float:
        return (self.step + self.a_context * context) * self._slowed(beside)

    def open_ms(self, model: str, audio_s: float, cores: int, beside: str | None = None) -> float:
        return self.open * self._slowed(beside)

    def encode_ms(self, model: str, audio_s: float, cores: int, beside: str | None = None) -> float:
        return self.encode * self._slowed(beside)

    def _slowed(self, beside: object) -> float:
        return self.slower if beside else 1.0


def stream(words: Sequence[Sequence[int]], **fields: Any) -> Stream:
    """A drafter that completes a word with each step, and ends with one more step."""
    steps = [Step(2.0, (Word(tuple(word), (0.9,) * len(word)),)) for word in words]
    values = {"chunks": False, "waits": False, "open_ms": 1.0, "encode_ms": 10.0, **fields}
    return Stream(steps=(*steps, Step(2.0, ())), **values)


def trace(
    tokens: Sequence[int],
    streams: Mapping[str, Stream] | None = None,
    *,
    window: str = "w#0",
    limit: int = 60,
    finish_reason: FinishReason = "stop",
) -> WindowTrace:
    """A window whose answer is those tokens; it ends with END unless another reason is given."""
    answer = (*tokens, END) if finish_reason == "stop" else tuple(tokens)
    return WindowTrace(
        window=window,
        language="en",
        audio_s=10.0,
        limit=limit,
        tokens=answer,
        finish_reason=finish_reason,
        token_ms=(4.0,) * len(answer),
        open_ms=1.0,
        encode_ms=10.0,
        marks=Marks(frozenset({1, 2}), frozenset(range(20, SIZE))),
        streams=streams or {},
    )


@pytest.fixture(scope="session")
def profile(profile_of: Callable[..., Profile]) -> Profile:
    """On two cores; every call takes the longer the wider it is, and beside another call."""
    return profile_of(lambda point: (2.0 + 0.5 * point.width) * (1.2 if point.beside else 1.0))


@pytest.fixture(scope="session")
def flat_costs() -> Callable[..., FlatCosts]:
    return FlatCosts


@pytest.fixture(scope="session")
def make_stream() -> Callable[..., Stream]:
    return stream


@pytest.fixture(scope="session")
def make_trace() -> Callable[..., WindowTrace]:
    return trace
