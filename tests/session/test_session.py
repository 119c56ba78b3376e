"""A session on the real weights: every way to ask gives the same tokens."""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

import as2d
from as2d.audio import open_audio, windows
from as2d.models.whisper.model import WhisperModel
from as2d.records import SAMPLE_RATE, Method
from as2d.session import PreparedRecording, Session

Clips = Mapping[str, Path]
JFK = (
    "And so my fellow Americans, ask not what your country can do for you, "
    "ask what you can do for your country."
)


@pytest.fixture(scope="module")
def session(base: WhisperModel, tiny: WhisperModel) -> Iterator[Session]:
    with Session(base, tiny, threads=2) as session:
        yield session


@pytest.fixture(scope="module")
def prepared(session: Session, clips: Clips) -> PreparedRecording:
    return session.prepare(clips["jfk"])


@pytest.fixture(scope="module")
def long_clip(clips: Clips) -> tuple[NDArray[np.float32], int]:
    """Some 55 s: speech, a long pause, speech, a short one, speech."""
    jfk, read = (np.concatenate(list(open_audio(clips[name]))) for name in ("jfk", "ls-3080-5032-0007"))
    pause = np.zeros(SAMPLE_RATE, np.float32)
    return np.concatenate(
        [pause[:123], jfk, pause, pause, pause, read, pause[:9000], jfk, pause, read]
    ), SAMPLE_RATE


def check(result: as2d.Result, tokens: tuple[int, ...]) -> None:
    assert result.text == JFK
    assert result.tokens == tokens
    assert (result.language, result.duration_s) == ("en", 11.0)
    assert (result.exact, result.finish_reason, result.truncated) == (True, "stop", False)
    assert all("was switched off" in warning for warning in result.warnings)
    assert [segment.text for segment in result.segments] == [JFK]
    assert [(segment.start_s, segment.end_s) for segment in result.segments] == [(0.0, 11.0)]


def test_every_method_gives_the_same_tokens_prepared_or_not(
    session: Session, prepared: PreparedRecording, clips: Clips
) -> None:
    alone = session.transcribe(prepared, method="target-only")
    assert alone.method == "target-only"
    assert alone.stats.proposed == 0
    check(alone, alone.tokens)
    for audio in (prepared, clips["jfk"]):
        for method in get_args(Method):
            check(session.transcribe(audio, method=method), alone.tokens)


@pytest.fixture(scope="module")
def default_session(base: WhisperModel) -> Iterator[Session]:
    with Session(base, threads=2) as session:
        yield session


def drafted(result: as2d.Result) -> set[str]:
    """Who drafted; with no other than them the method is the target alone."""
    names = {source.name for source in result.sources if source.windows}
    assert (result.method == "as2d") is bool(names) or not result.segments
    return names


@pytest.mark.parametrize("clip", ["jfk", "fleurs-de-003"])
@pytest.mark.parametrize("task", ["transcribe", "translate"])
def test_by_default_one_drafter_is_chosen_at_most(
    default_session: Session, clips: Clips, clip: str, task: Any
) -> None:
    assert default_session.drafters == ("self", "whisper-tiny.en")
    for audio in (default_session.prepare(clips[clip]), clips[clip]):
        alone = default_session.transcribe(audio, method="target-only", task=task)
        auto = default_session.transcribe(audio, task=task)
        always = default_session.transcribe(audio, method="as2d", task=task)
        assert alone.tokens == auto.tokens == always.tokens
        assert drafted(alone) == set()
        assert len(drafted(always)) == 1
        # New audio in an unknown language keeps a drafter with an encoder out of auto, but not out of as2d.
        assert drafted(auto) <= drafted(always) | {"self"}
        # On a busy machine a drafter may come too late to be worth its core.
        assert all("was switched off" in warning for warning in auto.warnings)


def test_several_drafters_by_name_draft_together(base: WhisperModel, clips: Clips) -> None:
    with Session(base, ["self", "whisper-tiny.en"], threads=2) as session:
        prepared = session.prepare(clips["jfk"])
        alone = session.transcribe(prepared, method="target-only")
        both = session.transcribe(prepared, method="as2d", resync=True)
        german = session.transcribe(clips["fleurs-de-003"], method="as2d")
    assert both.tokens == alone.tokens
    assert drafted(both) == {"self", "whisper-tiny.en"}
    assert drafted(german) == {"self"}


@pytest.mark.parametrize("kind", ["path", "text path", "bytes", "file", "array"])
def test_audio_of_any_kind(session: Session, prepared: PreparedRecording, clips: Clips, kind: str) -> None:
    path = clips["jfk"]
    tokens = session.transcribe(prepared).tokens
    if kind == "file":
        with path.open("rb") as file:
            check(session.transcribe(file), tokens)
        return
    samples = np.concatenate(list(open_audio(path)))
    audio: Any = {
        "path": path,
        "text path": str(path),
        "bytes": path.read_bytes(),
        "array": (samples, SAMPLE_RATE),
    }
    check(session.transcribe(audio[kind]), tokens)


@pytest.mark.parametrize("batch", ["word", 1, 8])
@pytest.mark.parametrize("budget", [0, 1, 24, None])
def test_budget_and_batch_change_no_token(
    session: Session, prepared: PreparedRecording, batch: Any, budget: int | None
) -> None:
    expected = session.transcribe(prepared, method="target-only")
    result = session.transcribe(prepared, method="as2d", batch=batch, budget=budget)
    assert result.tokens == expected.tokens
    assert result.exact
    assert (result.stats.proposed > 0) == (budget != 0)


def test_acceptance_does_not_decay_and_no_state_crosses_requests(
    session: Session, prepared: PreparedRecording, clips: Clips
) -> None:
    tokens = session.transcribe(prepared, method="target-only").tokens
    for _ in range(5):
        result = session.transcribe(prepared, method="as2d")
        assert result.tokens == tokens
        assert result.stats.proposed > 0
        assert result.stats.accepted > len(tokens) // 4
        session.transcribe(clips["ls-3080-5032-0007"], method="as2d")


def test_the_statistics_add_up(session: Session, prepared: PreparedRecording) -> None:
    events = list(session.stream(prepared, method="as2d"))
    result = session.transcribe(prepared, method="as2d")
    stats = result.stats
    assert stats.rounds == len(result.tokens) + 1 - stats.accepted
    assert 0 <= stats.k1_rounds <= stats.rounds
    assert stats.coverage == pytest.approx(stats.accepted / len(result.tokens))
    assert stats.decode_tok_s == pytest.approx(1000 * len(result.tokens) / stats.decode_ms)
    assert stats.wall_ms > stats.producer_done_ms >= stats.decode_ms > 0
    assert sum(event.accepted for event in events) + len(events) == sum(len(event.tokens) for event in events)


@pytest.mark.parametrize("method", ["as2d", "target-only"])
def test_the_events_are_the_result(
    session: Session, base: WhisperModel, long_clip: tuple[NDArray[np.float32], int], method: Any
) -> None:
    request = session.submit(long_clip, method=method)
    events = list(request.events())
    result = request.result()
    tokens = [token for event in events for token in event.tokens]
    assert "".join(event.text for event in events).strip() == result.text
    assert tuple(token for token in tokens if token not in base.end_ids) == result.tokens
    assert sum(token in base.end_ids for token in tokens) == len(result.segments)
    assert [event.finish_reason for event in events if event.finish_reason] == ["stop"] * len(result.segments)
    assert [event.at_ms for event in events] == sorted(event.at_ms for event in events)
    ends = {event.window: event.end_s for event in events}
    assert ends == {index: segment.end_s for index, segment in enumerate(result.segments)}


def test_a_long_recording_has_windows_at_exact_samples(
    session: Session, long_clip: tuple[NDArray[np.float32], int]
) -> None:
    prepared = session.prepare(long_clip)
    result = session.transcribe(prepared, method="as2d")
    expected = [(window.start, window.end) for window in windows(open_audio(long_clip)) if window.speech]
    assert len(expected) > 1
    assert [(s.start_s * SAMPLE_RATE, s.end_s * SAMPLE_RATE) for s in result.segments] == expected
    assert [(window.start, window.end) for window in prepared.windows] == expected
    assert result.duration_s * SAMPLE_RATE == len(long_clip[0]) == prepared.samples
    assert result.tokens == sum((segment.tokens for segment in result.segments), ())
    assert result.text.count("ask not what your country") == 2
    assert result.tokens == session.transcribe(long_clip, method="target-only").tokens


@pytest.mark.parametrize("method", ["auto", "as2d", "target-only"])
@pytest.mark.parametrize("level", [0.0, 1e-4])
def test_silence_has_no_text(session: Session, method: Any, level: float) -> None:
    samples = np.random.default_rng(0).normal(0, 1, 60 * SAMPLE_RATE).astype(np.float32) * np.float32(level)
    began = perf_counter()
    result = session.transcribe((samples, SAMPLE_RATE), method=method)
    assert perf_counter() - began < 5
    assert (result.text, result.tokens, result.segments, result.language) == ("", (), (), None)
    assert (result.finish_reason, result.truncated, result.duration_s) == ("no_speech", False, 60.0)
    assert result.stats.rounds == 0
    assert session.prepare((samples, SAMPLE_RATE)).windows == ()


def test_a_short_clip_of_noise_ends(session: Session) -> None:
    samples = np.random.default_rng(0).normal(0, 0.1, SAMPLE_RATE // 100).astype(np.float32)
    assert session.transcribe((samples, SAMPLE_RATE)).duration_s == 0.01


@pytest.mark.parametrize(("clip", "language"), [("fleurs-de-003", "de"), ("fleurs-ja-1837", "ja")])
def test_what_the_drafter_does_not_speak_is_decoded_alone_or_by_force(
    session: Session, clips: Clips, clip: str, language: str
) -> None:
    alone = session.transcribe(clips[clip], method="target-only")
    plain = session.transcribe(clips[clip], method="as2d")
    forced = session.transcribe(clips[clip], method="as2d", any_language=True)
    assert alone.language == plain.language == forced.language == language
    assert alone.tokens == plain.tokens == forced.tokens
    assert plain.stats.proposed == 0
    assert plain.warnings == (f"no drafter for {language}: the target decoded windows alone (1)",)
    assert all("was switched off" in warning for warning in forced.warnings)


def test_the_language_is_detected_for_each_window(session: Session, clips: Clips) -> None:
    parts = [np.concatenate(list(open_audio(clips[name]))) for name in ("fleurs-de-003", "ls-3080-5032-0007")]
    pause = np.zeros(3 * SAMPLE_RATE, np.float32)
    both = np.concatenate([parts[0], pause, parts[0], pause, parts[1]])
    prepared = session.prepare((both, SAMPLE_RATE), any_language=True)
    assert {window.language for window in prepared.windows} == {"de", "en"}


def test_a_translation(session: Session, clips: Clips) -> None:
    english = session.transcribe(clips["fleurs-de-003"], task="translate", method="as2d", any_language=True)
    assert " men and women " in english.text
    assert english.tokens == session.transcribe(clips["fleurs-de-003"], task="translate").tokens


def test_a_language_that_is_named_is_used(session: Session, prepared: PreparedRecording) -> None:
    assert session.transcribe(prepared, language="German").language == "de"
    named = session.prepare((np.zeros(100, np.float32), SAMPLE_RATE), language="german")
    assert named.duration_s == 100 / SAMPLE_RATE


def test_two_threads_may_use_one_session(session: Session, clips: Clips) -> None:
    names = ["jfk", "ls-3080-5032-0007"] * 2
    expected = {name: session.transcribe(clips[name]).tokens for name in set(names)}
    found: list[bool] = []

    def ask(name: str) -> None:
        found.append(session.transcribe(clips[name], method="as2d").tokens == expected[name])

    threads = [threading.Thread(target=ask, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_two_sessions_may_share_models(base: WhisperModel, tiny: WhisperModel, clips: Clips) -> None:
    results = []
    with Session(base, tiny, threads=1) as first, Session(base, tiny, threads=2) as second:
        recording = second.prepare(clips["jfk"])
        requests = [one.submit(recording, method="as2d") for one in (first, second) * 3]
        results = [request.result(60) for request in requests]
    assert {result.text for result in results} == {JFK}


def test_requests_leave_no_thread_behind(session: Session, prepared: PreparedRecording) -> None:
    session.transcribe(prepared, method="as2d")
    before = set(threading.enumerate())
    for _ in range(20):
        session.transcribe(prepared, method="as2d")
        session.stream(prepared, method="as2d").close()  # type: ignore[attr-defined]
        next(session.stream(prepared, method="as2d"))
    session.transcribe(prepared)
    assert set(threading.enumerate()) == before


def test_the_function_loads_what_it_needs(clips: Clips) -> None:
    result = as2d.transcribe(clips["jfk"], method="as2d")
    assert (result.text, result.method) == (JFK, "as2d")
    assert as2d.transcribe(clips["jfk"], drafter=None).tokens == result.tokens
    assert as2d.transcribe(clips["jfk"], "whisper-tiny.en", None, language="en").text.startswith("And so my")
