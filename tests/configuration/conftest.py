"""Scores, traces, costs and entries made by hand."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from as2d.configuration.tuned import Choice, Entry, Grounds
from as2d.decoding.align import Marks
from as2d.drafting.words import Word
from as2d.profiling.profile import Machine, Profile
from as2d.replay.score import Score
from as2d.replay.trace import Step, Stream, WindowTrace

HERE = Machine("host", 2, "cpu 1", "engine 1", "0.1")
END, SIZE = 0, 100


@pytest.fixture(autouse=True)
def own_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of configurations that only this test uses; it does not exist yet."""
    monkeypatch.setenv("AS2D_CONFIG", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.fixture
def make_score() -> Callable[..., Score]:
    """A window of ten useful tokens, that so many milliseconds are needed for, and twice that until the answer."""

    def make(ms: float, useful: int = 10, latency_ms: float | None = None) -> Score:
        latency = 2 * ms if latency_ms is None else latency_ms
        return Score("w#0", useful, ms, ms, latency, rounds=10, k1_rounds=4, proposed=20, accepted=15)

    return make


@pytest.fixture
def entry() -> Entry:
    """English is to be transcribed with "one" and budget 5."""
    grounds = Grounds(40, 150.0, 140.0, 100.0, 155.0, 200.0, 400.0)
    return Entry(
        machine=HERE,
        threads=2,
        target=("big", "big-1"),
        drafters={"one": "one-1", "two": "two-1"},
        task="transcribe",
        objective="throughput",
        group="english",
        choice=Choice("one", 5, 1, "word"),
        grounds=grounds,
        test=replace(grounds, windows=30),
        corpus="c",
        half="A",
        date="2026-01-01 00:00 UTC",
    )


@pytest.fixture(scope="session")
def make_window() -> Callable[..., WindowTrace]:
    """A window that says ten tokens; the drafters say the same, a word a step. "two" has no encoder."""

    def make(clip: str, language: str = "en", drafters: Sequence[str] = ("one", "two")) -> WindowTrace:
        said = tuple(range(30, 40))
        steps = tuple(Step(2.0, (Word((token,), (0.9,)),)) for token in said)
        steps += (Step(2.0, ()),)
        return WindowTrace(
            window=f"{clip}#0",
            language=language,
            audio_s=10.0,
            limit=60,
            tokens=(*said, END),
            finish_reason="stop",
            token_ms=(4.0,) * 11,
            open_ms=1.0,
            encode_ms=10.0,
            marks=Marks(frozenset({1}), frozenset(range(20, SIZE))),
            streams={
                name: Stream(steps, chunks=False, waits=name == "two", open_ms=1.0, encode_ms=10.0)
                for name in drafters
            },
        )

    return make


@pytest.fixture(scope="session")
def make_profile(profile_of: Callable[..., Profile]) -> Callable[..., Profile]:
    """A profile in which a call of each model takes so many milliseconds whatever its width."""
    return lambda threads=2, **ms: profile_of(lambda point: ms.get(point.model, 1.0), threads)
