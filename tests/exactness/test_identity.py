"""AS²D is the target alone, token for token, on every kept clip and on the folder that AS2D_CORPUS names.

And a target that is not exact is caught, by the probe and by the comparison.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.drafting.publication import BatchSize
from as2d.errors import AudioError
from as2d.models.contract import AudioModel
from as2d.models.whisper.build import DecoderPlan, assemble
from as2d.models.whisper.decoder import WhisperDecoder
from as2d.models.whisper.model import WhisperModel
from as2d.records import SAMPLE_RATE, Result
from as2d.runtime.exactness import WIDTHS, probe
from as2d.runtime.window import WindowRecord
from as2d.session import PreparedRecording, Session

CLIPS = Path(__file__).parent.parent / "clips"
ALL: list[dict[str, Any]] = [
    json.loads(line) for line in (CLIPS / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
]
OTHERS = [clip for clip in ALL if clip["language"] != "en"]
CORPUS = os.environ.get("AS2D_CORPUS")
BUDGETS = (1, 3, 7, 15, 24)
THREADS = (1, 2)
OWN_BUDGETS = (24, 7)
"""Of the target's own decoder on one and on two threads."""
FEW = 8
"""Tokens; of fewer, all may be said before a drafter is heard."""
WHOLE = 100
"""Recordings at least of a corpus that says something about languages."""


class Counts(NamedTuple):
    """Candidates of all answers to one recording."""

    proposed: int = 0
    accepted: int = 0


class Comparison:
    """Sessions on one and two threads that share their models, and so prepared audio."""

    def __init__(
        self, target: AudioModel, drafter: AudioModel, patient: AudioModel, closing: ExitStack
    ) -> None:
        """`patient` is the target that begins when its drafter has said everything."""

        def sessions(model: AudioModel) -> list[Session]:
            return [closing.enter_context(Session(model, drafter, threads=threads)) for threads in THREADS]

        self._live = sessions(target)
        self._patient = sessions(patient)

    def prepare(self, path: Path) -> PreparedRecording:
        return self._live[-1].prepare(path, any_language=True)

    def alone(self, recording: PreparedRecording) -> Result:
        """The target's answer, which does not depend on the threads."""
        requests = [session.submit(recording, method="target-only") for session in self._live]
        one, two = (request.result() for request in requests)
        assert same(one) == same(two)
        return one

    def drafted(
        self, recording: PreparedRecording, *, patient: bool, batches: Sequence[BatchSize] = ("word",)
    ) -> Iterator[Result]:
        """The answers with a drafter for every budget, batch size and number of threads.

        The sessions answer side by side, which takes less time and disturbs the drafters more.
        """
        requests = [
            session.submit(recording, method="as2d", budget=budget, batch=batch, any_language=True)
            for budget in BUDGETS
            for batch in batches
            for session in (self._patient if patient else self._live)
        ]
        return (request.result() for request in requests)


Compare = Callable[[AudioModel, AudioModel], Comparison]
Prepare = Callable[[Path], PreparedRecording]
Ask = Callable[..., list[WindowRecord]]


def same(result: Result) -> tuple[Any, ...]:
    """What may not depend on the method."""
    return result.tokens, result.text, result.language, result.segments, result.finish_reason, result.exact


@pytest.fixture(scope="session")
def comparing(patient: Callable[[AudioModel], AudioModel]) -> Iterator[Compare]:
    """Makes a Comparison of a target and a drafter."""
    with ExitStack() as closing:
        yield lambda target, drafter: Comparison(target, drafter, patient(target), closing)


@pytest.fixture(scope="session")
def comparison(comparing: Compare, base: WhisperModel, tiny: WhisperModel) -> Comparison:
    """The default target and drafter."""
    return comparing(base, tiny)


def compare(
    comparison: Comparison,
    recording: PreparedRecording,
    *,
    patient: bool,
    batches: Sequence[BatchSize] = ("word",),
) -> Counts:
    """Assert that every answer is the target's; count what was drafted."""
    expected = comparison.alone(recording)
    return count(expected, comparison.drafted(recording, patient=patient, batches=batches))


def count(expected: Result, results: Iterable[Result]) -> Counts:
    """The candidates of answers that must be the expected one."""
    counts = Counts()
    for result in results:
        assert same(result) == same(expected)
        assert result.exact
        assert not any("failed" in warning for warning in result.warnings)
        stats = result.stats
        counts = Counts(counts.proposed + stats.proposed, counts.accepted + stats.accepted)
    return counts


@pytest.mark.parametrize("clip", ALL, ids=lambda clip: clip["id"])
def test_a_drafter_that_runs_beside_the_target_changes_no_token(
    comparison: Comparison, clip: dict[str, Any]
) -> None:
    counts = compare(comparison, comparison.prepare(CLIPS / clip["path"]), patient=False, batches=("word", 8))
    assert counts.proposed > 0 or clip["language"] != "en"


@pytest.mark.parametrize("clip", ALL, ids=lambda clip: clip["id"])
def test_a_drafter_that_is_far_ahead_changes_no_token(comparison: Comparison, clip: dict[str, Any]) -> None:
    assert compare(comparison, comparison.prepare(CLIPS / clip["path"]), patient=True).proposed > 0


@pytest.fixture(scope="session")
def fluent(comparing: Compare, base: WhisperModel) -> Comparison:
    """A drafter that speaks every language, nearly as the target does: the same weights in 4 bits."""
    plan = DecoderPlan("int4", drafts=True)
    return comparing(base, WhisperModel(assemble("whisper-base", plan)))


@pytest.mark.parametrize("clip", OTHERS, ids=lambda clip: clip["id"])
def test_a_drafter_that_speaks_the_language_changes_no_token(
    fluent: Comparison, clip: dict[str, Any]
) -> None:
    counts = compare(fluent, fluent.prepare(CLIPS / clip["path"]), patient=True)
    assert counts.proposed > counts.accepted > 100


@pytest.fixture
def noisy(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    """Rows of a call that is wider than one token are a little off, as with kernels that depend on the width."""
    exact, random = WhisperDecoder._call, np.random.default_rng(0)  # what both `forward` and `scores` rest on

    def call(self: WhisperDecoder, tokens: Sequence[int]) -> NDArray[np.float32]:
        rows = exact(self, tokens)
        noise = random.normal(0, 4, rows.shape).astype(np.float32)
        return rows + noise if len(tokens) > 1 else rows

    monkeypatch.setattr(WhisperDecoder, "_call", call)


@pytest.mark.usefixtures("noisy")
def test_the_probe_catches_a_target_that_is_not_exact(base: WhisperModel) -> None:
    assert probe(base, (1,)) == [(1, width) for width in WIDTHS[1:]]


@pytest.mark.usefixtures("noisy")
def test_the_comparison_catches_a_target_that_is_not_exact(
    comparing: Compare, base: WhisperModel, tiny: WhisperModel
) -> None:
    bad = comparing(base, tiny)
    recording = bad.prepare(CLIPS / "jfk.flac")
    expected = bad.alone(recording)
    results = list(bad.drafted(recording, patient=True))
    assert not any(result.exact for result in results)
    assert any(result.tokens != expected.tokens for result in results)
    with pytest.raises(AssertionError):
        compare(bad, recording, patient=True)


def recordings() -> Iterator[Any]:
    """Every different recording of the manifest once; without a corpus one test that is skipped."""
    if not CORPUS:
        yield pytest.param({}, id="none", marks=pytest.mark.skip(reason="AS2D_CORPUS names no folder"))
        return
    seen = set()
    for line in (Path(CORPUS) / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        digest = sha256((Path(CORPUS) / entry["path"]).read_bytes()).hexdigest()
        if digest not in seen:
            seen.add(digest)
            yield pytest.param(entry, id=entry["id"])


class Heard(NamedTuple):
    """A recording of the corpus that is prepared for every drafter, and the target's answer."""

    entry: dict[str, Any]
    recording: PreparedRecording
    alone: Result

    @property
    def english(self) -> bool:
        return bool(self.entry["language"] == "en")


@pytest.fixture(scope="module", params=list(recordings()))
def heard(request: pytest.FixtureRequest, prepare: Prepare, comparison: Comparison) -> Heard:
    """All tests of one recording follow each other, so that it is prepared once."""
    entry: dict[str, Any] = request.param
    try:
        recording = prepare(Path(CORPUS or "") / entry["path"])
    except AudioError as error:
        if entry["kind"] != "format":
            raise
        pytest.skip(f"not audio: {error}")
    return Heard(entry, recording, comparison.alone(recording))


@pytest.fixture(scope="module")
def proposals() -> dict[str, int]:
    """For each recording of the corpus that was decoded, the candidates of the target's own decoder."""
    return {}


def test_a_drafter_changes_no_token(comparison: Comparison, heard: Heard) -> None:
    """Other languages are drafted by force, by a drafter that is far ahead; English by one that runs beside."""
    results = comparison.drafted(heard.recording, patient=not heard.english)
    counts = count(heard.alone, results)
    assert counts.proposed > 0 or heard.english or not heard.recording.windows


@pytest.mark.parametrize("names", [("self",), ("self", "tiny.en")], ids="+".join)
def test_the_target_s_own_decoder_changes_no_token(
    ask: Ask, heard: Heard, names: Sequence[str], proposals: dict[str, int]
) -> None:
    """The answers on one and on two threads are given side by side."""
    pace = "live" if heard.english else "patient"

    def answer(budget: int, threads: int) -> list[WindowRecord]:
        return ask(heard.recording, names, budget=budget, threads=threads, pace=pace)

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(answer, OWN_BUDGETS, THREADS))
    for records in answers:
        assert segments(records) == [(s.start_s, s.end_s, s.tokens) for s in heard.alone.segments]
        assert not records or heard.alone.finish_reason in {r.commits[-1].finish_reason for r in records}
    if names == ("self",):
        proposed = [sum(c.proposed for r in records for c in r.commits) for records in answers]
        proposals[heard.entry["id"]] = 0 if heard.english else min(proposed)
        assert heard.english or len(heard.alone.tokens) < FEW or all(proposed)


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


def test_the_target_s_own_decoder_drafted_many_recordings_in_other_languages(
    proposals: dict[str, int],
) -> None:
    if len(proposals) < WHOLE:
        pytest.skip("not the whole corpus was decoded")
    assert sum(count > 0 for count in proposals.values()) >= 30
