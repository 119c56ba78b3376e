"""Every source and combination of sources is the target alone, token for token, on every recording of AS2D_CORPUS.

There are too many recordings to draft each of them anew for every budget. So there are two kinds of answers: at every
budget and number of threads with drafts that are made once and then all ready; and at a few that take turns over the
recordings, with drafters that run beside the target.
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from threading import Event, Lock
from typing import Any, NamedTuple

import pytest

from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.errors import AudioError
from as2d.models.whisper.model import WhisperModel
from as2d.records import METHODS, SAMPLE_RATE, Instruction
from as2d.runtime.source import Job, Source, source_of
from as2d.runtime.window import WindowRecord
from as2d.session import PreparedRecording, Session

CORPUS = os.environ.get("AS2D_CORPUS")
CLIPS = Path(__file__).parent.parent / "clips"
BUDGETS = (1, 3, 7, 15, 24)
THREADS = (1, 2)
SETTINGS = [{"budget": budget, "threads": threads} for threads, budget in product(THREADS, BUDGETS)]
BASELINES = [method for method in METHODS if method not in ("as2d", "target-only")]
EUROPEAN = ("de", "es", "fr", "pt", "sv")
FEW = 8
"""Tokens; of fewer, all may be said before a drafter is heard."""
WHOLE = 200
"""Recordings at least of a corpus that says something about languages."""
LONGEST_HEARD_S = 12
"""Of what a recogniser must hear, which it does hardly faster than it is spoken."""
needs_pocketsphinx = pytest.mark.skipif(
    find_spec("pocketsphinx") is None, reason='needs pip install "as2d[pocketsphinx]"'
)

Ask = Callable[..., list[WindowRecord]]
AskAll = Callable[..., list[list[WindowRecord]]]
Said = Callable[[Sequence[WindowRecord]], list[tuple[Any, ...]]]
Checksums = Callable[[PreparedRecording], list[int]]
Prepare = Callable[[Path], PreparedRecording]


class Rehearsed:
    """A source whose draft of a window is kept: from the second time on it is published at once.

    For targets that wait for whole drafts anyway. The windows must live as long as this does.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._drafts: dict[tuple[int, Instruction], Snapshot] = {}
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def draft(self, prepared: Any, job: Job) -> None:
        """Implements `Source`."""
        key = (id(prepared), job.instruction)
        with self._lock:
            if key not in self._drafts:
                self._drafts[key] = self._rehearse(prepared, job)
        draft = self._drafts[key]
        job.buffer.publish(draft.tokens, draft.probabilities)

    def _rehearse(self, prepared: Any, job: Job) -> Snapshot:
        buffer = CandidateBuffer()
        self._source.draft(prepared, job._replace(buffer=buffer, stop=Event()))
        return buffer.snapshot()


class Heard(NamedTuple):
    """The `turn`-th recording of the corpus, prepared for every drafter, and what the target alone says."""

    turn: int
    entry: Mapping[str, Any]
    recording: PreparedRecording
    alone: list[WindowRecord]
    rehearsed: Mapping[str, Rehearsed]

    @property
    def english(self) -> bool:
        return bool(self.entry["language"] == "en")

    @property
    def tokens(self) -> int:
        return sum(len(commit.tokens) for record in self.alone for commit in record.commits)

    @property
    def repeats_others(self) -> bool:
        """Whether it is another recording in another format, or several of them joined."""
        return self.entry["kind"] in ("format", "long")

    @property
    def settings(self) -> list[dict[str, int]]:
        """All budgets and threads; two where the speech is that of other recordings."""
        return self.turns if self.repeats_others else SETTINGS

    @property
    def every_budget(self) -> list[dict[str, int]]:
        """Each budget on one of the numbers of threads; on the other for the next recording."""
        if self.repeats_others:
            return self.turns
        return [SETTINGS[place + 5 * ((place + self.turn) % 2)] for place in range(5)]

    @property
    def setting(self) -> dict[str, int]:
        return SETTINGS[self.turn % len(SETTINGS)]

    @property
    def turns(self) -> list[dict[str, int]]:
        """A budget for each number of threads; others for the next recording."""
        return [SETTINGS[self.turn % 5], SETTINGS[5 + (self.turn + 2) % 5]]


Counts = dict[str, list[tuple[str, int]]]
"""By what was tested: the language of each recording, and its candidates or restarts."""


def recordings() -> Iterator[Any]:
    """Every different recording of the manifest once; without a corpus one test that is skipped.

    The kept clips are asked more in the other tests.
    """
    if not CORPUS:
        yield pytest.param({}, id="none", marks=pytest.mark.skip(reason="AS2D_CORPUS names no folder"))
        return
    kept = {sha256(path.read_bytes()).hexdigest() for path in CLIPS.iterdir()}
    seen: dict[str, int] = {}
    for line in (Path(CORPUS) / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        digest = sha256((Path(CORPUS) / entry["path"]).read_bytes()).hexdigest()
        if digest not in seen and digest not in kept:
            seen[digest] = len(seen)
            yield pytest.param(entry | {"turn": seen[digest]}, id=entry["id"])


@pytest.fixture(scope="module", params=list(recordings()))
def heard(
    request: pytest.FixtureRequest,
    prepare: Prepare,
    drafters: Mapping[str, Any],
    ask_all: AskAll,
    said: Said,
    checksums: Checksums,
) -> Iterator[Heard]:
    """All tests of one recording follow each other, so that it is prepared once. None may write into what is shared."""
    entry: dict[str, Any] = request.param
    try:
        recording = prepare(Path(CORPUS or "") / entry["path"])
    except AudioError as error:
        if entry["kind"] != "format":
            raise
        pytest.skip(f"not audio: {error}")
    before = checksums(recording)
    one, two = ask_all(recording, (), [{"threads": threads} for threads in THREADS])
    assert said(one) == said(two)
    rehearsed = {name: Rehearsed(source_of(model)) for name, model in drafters.items()}
    yield Heard(entry["turn"], entry, recording, one, rehearsed)
    assert checksums(recording) == before


@pytest.fixture(scope="module")
def counts() -> Counts:
    """What the tests of every recording counted."""
    return defaultdict(list)


def proposed(records: Sequence[WindowRecord]) -> int:
    return sum(commit.proposed for record in records for commit in record.commits)


@pytest.mark.parametrize("names", [("self",), ("tiny.en",), ("self", "tiny.en")], ids="+".join)
def test_whole_drafts_change_no_token(
    heard: Heard, ask_all: AskAll, said: Said, counts: Counts, names: Sequence[str]
) -> None:
    """Also those of the English drafter in other languages."""
    settings = heard.settings if len(names) == 1 else heard.every_budget
    answers = ask_all(heard.recording, names, settings, pace="patient", stand_ins=heard.rehearsed)
    assert all(said(records) == said(heard.alone) for records in answers)
    least = min(map(proposed, answers))
    counts["+".join(names)].append((heard.entry["language"], least))
    assert least > 0 or heard.tokens < FEW


@pytest.mark.parametrize("name", ["self", "tiny.en"])
def test_a_drafter_that_runs_beside_changes_no_token(heard: Heard, ask: Ask, said: Said, name: str) -> None:
    assert said(ask(heard.recording, (name,), **heard.setting)) == said(heard.alone)


@pytest.fixture(scope="module")
def sessions(base: WhisperModel, drafters: Mapping[str, Any]) -> Iterator[list[Session]]:
    """One for each number of threads, with the drafters that recordings are prepared for first."""
    models = [drafters["tiny.en"], drafters["self"]]
    with ExitStack() as closing:
        yield [closing.enter_context(Session(base, models, threads=threads)) for threads in THREADS]


def test_several_drafters_that_run_beside_change_no_token(heard: Heard, sessions: Sequence[Session]) -> None:
    """As sessions answer, side by side."""
    requests = [
        session.submit(heard.recording, method="as2d", budget=setting["budget"], any_language=True)
        for session, setting in zip(sessions, heard.turns, strict=True)
    ]
    for request in requests:
        result = request.result()
        assert [(s.start_s, s.end_s, s.tokens) for s in result.segments] == segments(heard.alone)
        assert not heard.alone or result.finish_reason in {r.commits[-1].finish_reason for r in heard.alone}
        assert result.exact
        assert not any("failed" in warning for warning in result.warnings)


def segments(records: Sequence[WindowRecord]) -> list[tuple[float, float, tuple[int, ...]]]:
    """As in a Result; the end of the text is no part of it."""
    return [
        (
            record.start / SAMPLE_RATE,
            record.end / SAMPLE_RATE,
            tuple(token for c in record.commits for token in c.tokens)[: -1 if _stopped(record) else None],
        )
        for record in records
    ]


def _stopped(record: WindowRecord) -> bool:
    return record.commits[-1].finish_reason == "stop"


@pytest.mark.parametrize("names", [("self",), ("self", "tiny.en")], ids="+".join)
def test_drafters_that_are_restarted_change_no_token(
    heard: Heard, ask: Ask, said: Said, counts: Counts, names: Sequence[str]
) -> None:
    records = ask(heard.recording, names, resync=True, **heard.setting)
    assert said(records) == said(heard.alone)
    restarts = [place for record in records for commit in record.commits for place in commit.resync]
    counts["restarts of " + "+".join(names)].append((heard.entry["language"], len(restarts)))


@needs_pocketsphinx
@pytest.mark.parametrize("names", [("pocketsphinx",), ("self", "pocketsphinx")], ids="+".join)
def test_a_recogniser_changes_no_token(
    heard: Heard, ask_all: AskAll, said: Said, counts: Counts, names: Sequence[str]
) -> None:
    if heard.turn % 5 or heard.repeats_others or heard.recording.duration_s > LONGEST_HEARD_S:
        pytest.skip("it takes too long")
    answers = ask_all(heard.recording, names, heard.every_budget, pace="patient", stand_ins=heard.rehearsed)
    assert all(said(records) == said(heard.alone) for records in answers)
    counts["+".join(names)].append((heard.entry["language"], min(map(proposed, answers))))


@pytest.mark.parametrize("name", ["self", "tiny.en"])
def test_no_other_method_changes_a_token(heard: Heard, ask_all: AskAll, said: Said, name: str) -> None:
    """In English either drafter drafts for some of the methods, and for the others ten recordings later."""
    if name == "tiny.en" and not heard.english:
        pytest.skip("not its language")
    settings = [
        SETTINGS[(heard.turn + 3 * place) % len(SETTINGS)] | {"method": method}
        for place, method in enumerate(BASELINES)
        if not heard.repeats_others or place == heard.turn % len(BASELINES)
        if not heard.english or (heard.turn // len(SETTINGS) + place) % 2 == ("self", "tiny.en").index(name)
    ]
    if not settings:
        pytest.skip("the other drafter's turn")
    answers = ask_all(heard.recording, (name,), settings)
    assert all(said(records) == said(heard.alone) for records in answers)


@pytest.mark.parametrize("pace", ["patient", "live"])
def test_a_translation_that_the_target_s_own_decoder_drafts_is_no_different(
    heard: Heard, ask: Ask, ask_all: AskAll, said: Said, counts: Counts, pace: str
) -> None:
    if heard.entry["language"] not in EUROPEAN:
        pytest.skip("not of these languages")
    alone = said(ask(heard.recording, task="translate"))
    answers = ask_all(heard.recording, ("self",), heard.turns, task="translate", pace=pace)
    assert all(said(records) == alone for records in answers)
    counts[f"{pace} translation"].append((heard.entry["language"], min(map(proposed, answers))))


@pytest.mark.parametrize(
    ("test", "english", "other"),
    [
        ("self", 100, 30),
        ("tiny.en", 100, 30),
        ("self+tiny.en", 100, 30),
        ("restarts of self+tiny.en", 0, 1),
        pytest.param("pocketsphinx", 20, 1, marks=needs_pocketsphinx),
        pytest.param("self+pocketsphinx", 20, 1, marks=needs_pocketsphinx),
        ("patient translation", 0, 30),
    ],
)
def test_many_recordings_were_drafted(counts: Counts, test: str, english: int, other: int) -> None:
    """The recordings with candidates (or restarts), in English and in other languages."""
    if len(counts["self"]) < WHOLE:
        pytest.skip("not the whole corpus was heard")
    languages = [language for language, number in counts[test] if number]
    assert languages.count("en") >= english
    assert len(languages) - languages.count("en") >= other
