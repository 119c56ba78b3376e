"""Every source and every combination of sources is the target alone, token for token, on every kept clip."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from as2d.decoding.tally import Tally
from as2d.models.contract import AudioModel
from as2d.models.whisper.model import WhisperModel
from as2d.records import Task
from as2d.runtime.pair import SpeechWindow
from as2d.runtime.window import WindowRecord
from as2d.session import PreparedRecording, Session
from as2d.session.recording import Recording

CLIPS = Path(__file__).parent.parent / "clips"
ALL: list[dict[str, Any]] = [
    json.loads(line) for line in (CLIPS / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
]
EUROPEAN = ("de", "es", "fr")
THREADS = (1, 2)
SETTINGS = [{"budget": budget, "threads": threads} for budget, threads in product((1, 3, 7, 15, 24), THREADS)]

Ask = Callable[..., list[WindowRecord]]
AskAll = Callable[..., list[list[WindowRecord]]]
Prepare = Callable[[Path], PreparedRecording]
Said = Callable[[Sequence[WindowRecord]], list[tuple[Any, ...]]]
Checksums = Callable[[PreparedRecording], list[int]]


class Combination(NamedTuple):
    names: tuple[str, ...]
    resync: bool = False

    def __str__(self) -> str:
        return "+".join(self.names) + " resync" * self.resync


COMBINATIONS = [
    Combination(names, resync)
    for names in (("self",), ("tiny.en",), ("self", "tiny.en"))
    for resync in (False, True)
]
HEARING = [Combination(("pocketsphinx",)), Combination(("self", "pocketsphinx"))]
needs_pocketsphinx = pytest.mark.skipif(
    find_spec("pocketsphinx") is None, reason='needs pip install "as2d[pocketsphinx]"'
)
EVERY = [
    *(pytest.param(combination, id=str(combination)) for combination in COMBINATIONS),
    *(pytest.param(combination, id=str(combination), marks=needs_pocketsphinx) for combination in HEARING),
]


class Spoken(NamedTuple):
    """A clip that is prepared, and what the target alone says of it, on any number of threads."""

    clip: Mapping[str, Any]
    recording: PreparedRecording
    alone: list[tuple[Any, ...]]


def tally(answers: Sequence[Sequence[WindowRecord]]) -> Tally:
    return Tally.of(commit for records in answers for record in records for commit in record.commits)


@pytest.fixture(scope="module", params=ALL, ids=lambda clip: clip["id"])
def spoken(
    request: pytest.FixtureRequest, prepare: Prepare, ask: Ask, said: Said, checksums: Checksums
) -> Iterator[Spoken]:
    recording = prepare(CLIPS / request.param["path"])
    before = checksums(recording)
    one, two = (said(ask(recording, threads=threads)) for threads in THREADS)
    assert one == two
    yield Spoken(request.param, recording, one)
    assert checksums(recording) == before


@pytest.mark.parametrize("combination", EVERY)
def test_no_combination_changes_a_token(
    spoken: Spoken, ask_all: AskAll, said: Said, combination: Combination
) -> None:
    names, resync = combination
    for records in ask_all(spoken.recording, names, SETTINGS, resync=resync):
        assert said(records) == spoken.alone
        assert all(source.drafted for record in records for source in record.sources)


@pytest.mark.parametrize("combination", EVERY)
def test_no_combination_that_is_ahead_changes_a_token(
    spoken: Spoken, ask: Ask, said: Said, combination: Combination
) -> None:
    names, resync = combination
    pace = "unhurried" if resync else "patient"
    records = ask(spoken.recording, names, resync=resync, pace=pace)
    assert said(records) == spoken.alone
    found = tally([records])
    assert found.proposed > 0
    if "self" in names:  # which speaks every language
        assert found.accepted > 0.4 * found.useful
    if resync and "tiny.en" in names and spoken.clip["language"] != "en":  # where it loses its place
        assert any(commit.resync for record in records for commit in record.commits)


@pytest.mark.parametrize("names", [["self"], ["self", "tiny.en"]], ids="+".join)
@pytest.mark.parametrize("threads", THREADS)
def test_audio_that_nobody_has_prepared_is_no_different(
    spoken: Spoken, ask: Ask, said: Said, names: list[str], threads: int
) -> None:
    with Recording(CLIPS / spoken.clip["path"]) as recording:
        windows: list[SpeechWindow] = list(recording.windows)
    assert said(ask(windows, names, threads=threads)) == spoken.alone


@pytest.mark.parametrize("resync", [False, True], ids=["pure", "resync"])
def test_a_translation_drafted_by_the_target_s_own_decoder_is_no_different(
    spoken: Spoken, ask: Ask, ask_all: AskAll, said: Said, resync: bool
) -> None:
    if spoken.clip["language"] not in EUROPEAN:
        pytest.skip("not of these languages")
    recording = spoken.recording
    task: Task = "translate"
    alone = said(ask(recording, task=task))
    assert alone != spoken.alone
    answers = ask_all(recording, ["self"], SETTINGS, resync=resync, task=task)
    answers.append(ask(recording, ["self"], pace="unhurried" if resync else "patient", task=task))
    assert all(said(records) == alone for records in answers)
    assert tally(answers).proposed > 0


def test_what_is_shared_is_the_same_after_use_by_all_at_once(
    spoken: Spoken,
    ask: Ask,
    said: Said,
    checksums: Checksums,
    base: WhisperModel,
    drafters: Mapping[str, Any],
) -> None:
    """Windows of every combination, and sessions with several drafters, all on the same prepared audio."""
    recording = spoken.recording
    before = checksums(recording)
    for window in recording.windows:
        shared: Any = window.sources[1].audio
        assert shared.states is window.target.states
    both: list[AudioModel] = [drafters["tiny.en"], drafters["self"]]
    with (
        Session(base, both, threads=2) as one,
        Session(base, both, threads=1) as two,
        ThreadPoolExecutor(3) as pool,
    ):
        requests = [
            session.submit(recording, method="as2d", any_language=True, resync=resync)
            for session in (one, two)
            for resync in (False, True)
        ]
        answers = list(
            pool.map(lambda asked: ask(recording, asked.names, resync=asked.resync, threads=2), COMBINATIONS)
        )
        results = [request.result() for request in requests]
    assert checksums(recording) == before
    assert all(said(records) == spoken.alone for records in answers)
    for result in results:
        assert [segment.tokens for segment in result.segments] == [
            tuple(token for token in tokens if token not in base.end_ids) for *_, tokens, _ in spoken.alone
        ]
        assert [source.name for source in result.sources] == [model.name for model in both]
        assert not any("failed" in warning for warning in result.warnings)
