"""The text of an earlier answer as a source: used where it is of use, and it never changes a token."""

from collections.abc import Callable, Iterator
from threading import Event

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from as2d.models.contract import AudioModel
from as2d.records import METHODS, Commit, Instruction, UsedMethod
from as2d.runtime.pair import Pair, SpeechWindow
from as2d.runtime.window import PREVIOUS_TEXT, Decoding, WindowRecord, run_window

ToyFactory = Callable[..., AudioModel]

TEXT = "Ask not what your country can do for you, ask what you can do for your country."
END = 256
ENGLISH = Instruction("transcribe", "en")
SPEECH = SpeechWindow(1600, np.zeros(16_000, np.float32))
FOLLOWING: tuple[UsedMethod, ...] = ("as2d", "as2d-without-budget")


def drained(run: Iterator[Commit]) -> WindowRecord:
    try:
        while True:
            next(run)
    except StopIteration as stop:
        record: WindowRecord = stop.value
        return record


def decode(
    target: AudioModel,
    hypothesis: tuple[int, ...],
    method: UsedMethod = "as2d",
    *,
    drafter: AudioModel | None = None,
    budget: int = 7,
    nobody: bool = False,
    resync: bool = False,
) -> WindowRecord:
    pair = Pair(target, (lambda: drafter) if drafter else None, 2)
    chosen = (lambda _: frozenset[int]()) if nobody else None
    decoding = Decoding(method, budget, "word", False, resync, chosen, hypothesis)
    return drained(run_window(pair, SPEECH, ENGLISH, decoding, Event()))


def text_of(record: WindowRecord) -> str:
    return bytes(t for commit in record.commits for t in commit.tokens if t != END).decode()


def accepted(record: WindowRecord, source: int) -> int:
    return sum(commit.accepted for commit in record.commits if commit.source == source)


@pytest.mark.parametrize("method", FOLLOWING)
def test_the_same_text_again_fills_every_round(toy: ToyFactory, method: UsedMethod) -> None:
    record = decode(toy(TEXT), tuple(TEXT.encode()), method)
    assert text_of(record) == TEXT
    assert accepted(record, 0) >= len(TEXT) * 7 // 8
    assert [(source.name, source.drafted, source.fault) for source in record.sources] == [
        (PREVIOUS_TEXT, True, None)
    ]


def test_the_beginning_of_the_text_is_taken_and_the_rest_decoded(toy: ToyFactory) -> None:
    record = decode(toy(TEXT), tuple(TEXT[:40].encode()))
    assert text_of(record) == TEXT
    assert 30 <= accepted(record, 0) <= 40


def test_beside_a_drafter_it_is_the_last_source(toy: ToyFactory) -> None:
    record = decode(toy(TEXT), tuple(TEXT.encode()), drafter=toy(TEXT, name="drafter"))
    assert text_of(record) == TEXT
    assert [source.name for source in record.sources] == ["drafter", PREVIOUS_TEXT]
    assert accepted(record, 0) + accepted(record, 1) >= len(TEXT) // 2


def test_it_takes_no_core(toy: ToyFactory) -> None:
    seen: list[int] = []

    class Noting:
        """A target that notes its cores."""

        def __init__(self, model: AudioModel) -> None:
            self._model = model

        def __getattr__(self, name: str) -> object:
            return getattr(self._model, name)

        def open(self, prepared: object, instruction: Instruction, threads: int) -> object:
            decoder = self._model.open(prepared, instruction, threads)
            seen.append(threads)
            decoder.use_threads = seen.append  # type: ignore[method-assign, assignment]
            return decoder

    target: AudioModel = Noting(toy(TEXT))  # type: ignore[assignment]
    assert text_of(decode(target, tuple(TEXT.encode()), drafter=toy(TEXT), nobody=True)) == TEXT
    assert set(seen) == {2}


@pytest.mark.parametrize("method", [method for method in METHODS if method not in FOLLOWING])
def test_methods_that_follow_no_stream_ignore_it(toy: ToyFactory, method: UsedMethod) -> None:
    record = decode(toy(TEXT), tuple(TEXT.encode()), method, drafter=toy(TEXT, name="drafter"))
    assert text_of(record) == TEXT
    assert all(source.name != PREVIOUS_TEXT for source in record.sources)


def test_without_a_budget_there_are_no_candidates(toy: ToyFactory) -> None:
    record = decode(toy(TEXT), tuple(TEXT.encode()), budget=0)
    assert text_of(record) == TEXT
    assert record.sources == ()
    assert all(commit.proposed == 0 for commit in record.commits)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-3, 300), max_size=60), st.integers(0, 60), st.booleans())
def test_whatever_it_says_the_tokens_are_the_target_s(
    toy: ToyFactory, noise: list[int], kept: int, resync: bool
) -> None:
    said = TEXT.encode()
    hypothesis = (*said[:kept], *noise, *said[kept:])
    assert text_of(decode(toy(TEXT), hypothesis, resync=resync)) == TEXT
