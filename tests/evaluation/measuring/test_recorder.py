"""Recorded models compute what plain ones do, and when they did is known."""

from collections.abc import Callable
from threading import Event
from time import perf_counter
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.evaluation.measuring.recorder import (
    Notes,
    busy_ms,
    computing,
    overlap_ms,
    recorded_drafter,
    recorded_target,
)
from as2d.evaluation.rows import Span
from as2d.models.contract import AudioModel, ReadsContext, SharesEncoder, prefix_of, prepare_for
from as2d.models.recognisers.contract import Recogniser
from as2d.models.whisper.drafter import WhisperSelfDrafter
from as2d.models.whisper.model import WhisperModel
from as2d.records import Instruction

Toy = Callable[..., AudioModel]
SAMPLES = np.zeros(16_000, np.float32)


def spans(*times: tuple[float, float]) -> list[Span]:
    return [Span(start, end, 1) for start, end in times]


def test_the_target_s_calls(toy: Toy) -> None:
    notes = Notes()
    model = recorded_target(toy("hello"), notes)
    decoder = model.open(model.prepare(SAMPLES, 1), Instruction(language="en"), 1)
    first_root = perf_counter()
    decoder.use_threads(2)
    assert decoder.forward([decoder.root]).greedy == (ord("h"),)
    assert decoder.forward([ord("h"), ord("e")]).greedy == (ord("e"), ord("l"))
    assert (decoder.length, decoder.capacity) == (3, 10_000)
    decoder.truncate(1)
    assert decoder.length == 1
    assert decoder.scores([ord("h")]).shape == (1, 257)
    drafting, verifying = computing(notes, first_root)
    assert drafting == ()
    assert [span.width for span in verifying] == [1, 2, 1]
    assert all(0 <= span.start < span.end < 1000 for span in verifying)


def test_a_drafter_s_opening_is_part_of_drafting(toy: Toy) -> None:
    notes = Notes()
    model = recorded_drafter(toy("hello"), notes)
    assert not hasattr(model, "share")
    first_root = perf_counter()
    decoder = model.open(None, Instruction(language="en"), 1)  # type: ignore[arg-type,call-arg]
    decoder.forward([decoder.root])  # type: ignore[union-attr]
    drafting, verifying = computing(notes, first_root)
    assert [span.width for span in drafting] == [0, 1]
    assert verifying == ()


def test_calls_before_the_first_root_are_cut(toy: Toy) -> None:
    notes = Notes()
    notes.drafting += [(1.0, 2.0, 1), (2.5, 4.0, 2), (5.0, 6.0, 3)]
    assert computing(notes, 3.0).drafting == (Span(0.0, 1000.0, 2), Span(2000.0, 3000.0, 3))


def test_a_straggler_of_an_earlier_run_is_not_noted(toy: Toy) -> None:
    notes = Notes()
    model = recorded_target(toy("hello"), notes)
    decoder = model.open(None, Instruction(language="en"), 1)
    notes.clear()
    decoder.forward([decoder.root])
    assert computing(notes, 0.0).verifying == ()


def test_sharing_the_encoder_is_kept(base: WhisperModel, tiny: WhisperModel) -> None:
    own = WhisperSelfDrafter(base.parts)
    assert isinstance(recorded_drafter(own, Notes()), SharesEncoder)
    assert not isinstance(recorded_drafter(tiny, Notes()), SharesEncoder)
    assert not isinstance(recorded_target(base, Notes()), SharesEncoder)


def test_what_is_read_before_the_audio_is_kept(toy: Toy) -> None:
    reading: Any = toy("hello")
    reading.prefix = lambda instruction: instruction.context
    reading.prepare_after = lambda prefix, samples, threads: (prefix, len(samples), threads)
    told = Instruction(context="names")
    for model in (recorded_target(reading, Notes()), recorded_drafter(reading, Notes())):
        assert prefix_of(cast(AudioModel, model), told) == "names"
        assert prepare_for(cast(AudioModel, model), told, SAMPLES, 2) == ("names", 16_000, 2)
    assert not isinstance(recorded_target(toy("hello"), Notes()), ReadsContext)


class Hearing:
    name = "hearing"
    languages = ("en",)
    closed = False

    def open(self, language: str, stop: Event) -> Any:
        return self

    def accept(self, chunk: NDArray[np.float32], *, last: bool) -> str:
        return f"{len(chunk)} {last}"

    def close(self) -> None:
        self.closed = True


def test_a_recogniser_s_chunks(toy: Toy) -> None:
    notes, plain = Notes(), Hearing()
    recogniser: Recogniser = recorded_drafter(plain, notes)  # type: ignore[assignment]
    assert (recogniser.name, recogniser.languages) == ("hearing", ("en",))
    stream = recogniser.open("en", Event())
    assert stream.accept(SAMPLES, last=True) == "16000 True"
    stream.close()
    assert plain.closed
    assert [width for _, _, width in notes.drafting] == [1]


def test_a_call_costs_about_a_microsecond(toy: Toy) -> None:
    class Nothing:
        root, length, capacity = 0, 0, 0

        def __getattr__(self, name: str) -> Any:
            return lambda *_: None

    class Model:
        def __getattr__(self, name: str) -> Any:
            return lambda *_: Nothing()

    decoder = recorded_target(Model(), Notes()).open(None, Instruction(), 1)
    start = perf_counter()
    for _ in range(10_000):
        decoder.forward((1,))
    assert perf_counter() - start < 0.2  # 20 µs a call, for a busy machine


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([], 0),
        ([(0, 1), (2, 3)], 2),
        ([(0, 2), (1, 3)], 3),
        ([(0, 9), (1, 2)], 9),
        ([(5, 6), (0, 1), (1, 2)], 3),
    ],
)
def test_busy_time(times: list[tuple[float, float]], expected: float) -> None:
    assert busy_ms(spans(*times)) == expected


def test_overlap() -> None:
    assert overlap_ms(spans((0, 2), (4, 6)), spans((1, 5))) == 2
    assert overlap_ms(spans((0, 2)), spans((2, 3))) == 0
    assert overlap_ms(spans((0, 2), (1, 3)), spans((0, 3), (0, 3))) == 3
    assert overlap_ms(spans(), spans((0, 1))) == 0


times = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9)).map(lambda t: (t[0], t[0] + t[1])))


@given(times, times)
def test_overlap_is_what_a_count_of_moments_says(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    def moments(intervals: list[tuple[int, int]]) -> set[int]:
        return {moment for start, end in intervals for moment in range(start, end)}

    assert busy_ms(spans(*one)) == len(moments(one))
    assert overlap_ms(spans(*one), spans(*other)) == len(moments(one) & moments(other))
