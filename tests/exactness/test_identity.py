"""AS²D with one drafter is the target alone, token for token, on every kept clip, as a session answers.

And a target that is not exact is caught, by the probe and by the comparison.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.drafting.publication import BatchSize
from as2d.models.contract import AudioModel
from as2d.models.whisper.build import DecoderPlan, assemble
from as2d.models.whisper.decoder import WhisperDecoder
from as2d.models.whisper.model import WhisperModel
from as2d.records import Result
from as2d.runtime.exactness import WIDTHS, probe
from as2d.session import PreparedRecording, Session

CLIPS = Path(__file__).parent.parent / "clips"
ALL: list[dict[str, Any]] = [
    json.loads(line) for line in (CLIPS / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
]
OTHERS = [clip for clip in ALL if clip["language"] != "en"]
BUDGETS = (1, 3, 7, 15, 24)
THREADS = (1, 2)
BATCHES: tuple[BatchSize, ...] = ("word", 8)


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

    def drafted(self, recording: PreparedRecording, *, patient: bool) -> Iterator[Result]:
        """The answers with a drafter for every budget and number of threads; the batch sizes take turns over both.

        The sessions answer side by side, which takes less time and disturbs the drafters more.
        """
        requests = [
            session.submit(
                recording, method="as2d", budget=budget, batch=BATCHES[(turn + place) % 2], any_language=True
            )
            for turn, budget in enumerate(BUDGETS)
            for place, session in enumerate(self._patient if patient else self._live)
        ]
        return (request.result() for request in requests)


Compare = Callable[[AudioModel, AudioModel], Comparison]


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


class Spoken(NamedTuple):
    """A clip that is prepared, and the target's answer to it."""

    clip: Mapping[str, Any]
    recording: PreparedRecording
    alone: Result


@pytest.fixture(scope="module", params=ALL, ids=lambda clip: clip["id"])
def spoken(request: pytest.FixtureRequest, comparison: Comparison) -> Spoken:
    recording = comparison.prepare(CLIPS / request.param["path"])
    return Spoken(request.param, recording, comparison.alone(recording))


def test_a_drafter_that_runs_beside_the_target_changes_no_token(
    comparison: Comparison, spoken: Spoken
) -> None:
    counts = count(spoken.alone, comparison.drafted(spoken.recording, patient=False))
    assert counts.proposed > 0 or spoken.clip["language"] != "en"


def test_a_drafter_that_is_far_ahead_changes_no_token(comparison: Comparison, spoken: Spoken) -> None:
    assert count(spoken.alone, comparison.drafted(spoken.recording, patient=True)).proposed > 0


@pytest.fixture(scope="session")
def fluent(comparing: Compare, base: WhisperModel) -> Comparison:
    """A drafter that speaks every language, nearly as the target does: the same weights in 4 bits."""
    plan = DecoderPlan("int4", drafts=True)
    return comparing(base, WhisperModel(assemble("whisper-base", plan)))


@pytest.mark.parametrize("clip", OTHERS, ids=lambda clip: clip["id"])
def test_a_drafter_that_speaks_the_language_changes_no_token(
    fluent: Comparison, clip: dict[str, Any]
) -> None:
    recording = fluent.prepare(CLIPS / clip["path"])
    counts = count(fluent.alone(recording), fluent.drafted(recording, patient=True))
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
        count(expected, results)
