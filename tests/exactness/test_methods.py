"""Every method is the target alone, token for token, on every kept clip, with a drafter of either vocabulary."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import pytest

from as2d.decoding.methods import TRAITS
from as2d.decoding.tally import Tally
from as2d.models.whisper.model import WhisperModel
from as2d.records import METHODS, Instruction, Task, UsedMethod
from as2d.runtime.pair import Pair, SpeechWindow
from as2d.runtime.window import Decoding, WindowRecord, run_window
from as2d.session import PreparedRecording
from as2d.session.recording import Recording

CLIPS = Path(__file__).parent.parent / "clips"
ALL: list[dict[str, Any]] = [
    json.loads(line) for line in (CLIPS / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
]
DRAFTING = [method for method in METHODS if TRAITS[method].drafts]
BASELINES = [method for method in DRAFTING if method != "as2d"]
"""What test_combinations.py leaves to these tests."""
DRAFTERS = ("tiny.en", "self")
THREADS = (1, 2)
BUDGETS = (1, 7, 24)

Ask = Callable[..., list[WindowRecord]]
AskAll = Callable[..., list[list[WindowRecord]]]
Said = Callable[[Sequence[WindowRecord]], list[tuple[Any, ...]]]


class Spoken(NamedTuple):
    """A clip that is prepared, and what the target alone says of it."""

    clip: dict[str, Any]
    recording: PreparedRecording
    alone: list[tuple[Any, ...]]


@pytest.fixture(scope="module", params=ALL, ids=lambda clip: clip["id"])
def spoken(
    request: pytest.FixtureRequest, prepare: Callable[[Path], PreparedRecording], ask: Ask, said: Said
) -> Spoken:
    recording = prepare(CLIPS / request.param["path"])
    return Spoken(request.param, recording, said(ask(recording)))


def settings(method: UsedMethod, turn: int) -> Iterator[dict[str, Any]]:
    """Every budget where there is one, on one of the numbers of threads; on the other for the next clip."""
    budgets = BUDGETS if TRAITS[method].budget else BUDGETS[:1]
    for place, budget in enumerate(budgets, turn):
        yield {"threads": THREADS[place % 2], "budget": budget, "method": method}


def tally(answers: Sequence[Sequence[WindowRecord]]) -> Tally:
    return Tally.of(commit for records in answers for record in records for commit in record.commits)


def assert_useful(answers: Sequence[Sequence[WindowRecord]], spoken: Spoken, drafter: str) -> None:
    """Where the drafter speaks the language, what it proposed was often right."""
    found = tally(answers)
    assert found.proposed > 0
    if drafter == "self" or spoken.clip["language"] == "en":
        assert found.accepted > 0.3 * found.useful


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("method", BASELINES)
def test_no_method_changes_a_token(
    spoken: Spoken, ask_all: AskAll, said: Said, method: UsedMethod, drafter: str
) -> None:
    """The drafter of English drafts in all languages here."""
    answers = ask_all(spoken.recording, [drafter], settings(method, ALL.index(spoken.clip)))
    assert all(said(records) == spoken.alone for records in answers)
    assert all(record.drafted for records in answers for record in records)
    if TRAITS[method].serial:  # others may be too late
        assert_useful(answers, spoken, drafter)


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("method", [method for method in BASELINES if not TRAITS[method].serial])
def test_no_method_changes_a_token_where_its_drafter_has_time(
    spoken: Spoken, ask: Ask, said: Said, method: UsedMethod, drafter: str
) -> None:
    records = ask(spoken.recording, [drafter], method=method, pace="unhurried")
    assert said(records) == spoken.alone
    assert_useful([records], spoken, drafter)


@pytest.mark.parametrize("method", DRAFTING)
def test_audio_that_nobody_has_prepared_is_no_different(
    spoken: Spoken, ask: Ask, said: Said, method: UsedMethod
) -> None:
    """The drafters take turns over the clips and methods."""
    drafter = DRAFTERS[(ALL.index(spoken.clip) + DRAFTING.index(method)) % 2]
    with Recording(CLIPS / spoken.clip["path"]) as recording:
        windows: list[SpeechWindow] = list(recording.windows)
    assert said(ask(windows, [drafter], method=method, threads=2)) == spoken.alone


@pytest.mark.parametrize("method", DRAFTING)
def test_a_translation_is_no_different(spoken: Spoken, ask: Ask, said: Said, method: UsedMethod) -> None:
    task: Task = "translate"
    alone = ask(spoken.recording, task=task)
    records = ask(spoken.recording, ["self"], method=method, task=task, threads=2)
    assert said(records) == said(alone)
    assert tally([records]).proposed > 0 or not TRAITS[method].serial


@pytest.mark.parametrize("method", [method for method in DRAFTING if TRAITS[method].serial])
def test_a_drafter_in_turn_may_have_all_cores(
    spoken: Spoken, base: WhisperModel, tiny: WhisperModel, said: Said, method: UsedMethod
) -> None:
    pair = Pair(base, lambda: tiny, threads=2, drafter_threads=2)
    decoding = Decoding(method, 7, "word", any_language=True)
    records = [_record(pair, window, decoding) for window in spoken.recording.windows]
    assert said(records) == spoken.alone
    assert tally([records]).proposed > 0


def _record(pair: Pair, window: Any, decoding: Decoding) -> WindowRecord:
    run = run_window(pair, window, Instruction("transcribe", None), decoding, Event())
    while True:
        try:
            next(run)
        except StopIteration as stop:
            record: WindowRecord = stop.value
            return record
