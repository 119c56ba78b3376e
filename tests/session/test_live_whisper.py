"""Live recordings on the real weights: the answers are those of the same audio at once, token by token."""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.errors import InputError
from as2d.models.whisper.model import WhisperModel
from as2d.records import SAMPLE_RATE, Result
from as2d.session import LiveRecording, Session

SOON = 60.0


@pytest.fixture(scope="module")
def audio(clips: Mapping[str, Path]) -> NDArray[np.float32]:
    """43 s: a window that is complete, and one that stays open."""
    jfk, read = (np.concatenate(list(open_audio(clips[name]))) for name in ("jfk", "ls-3080-5032-0007"))
    pause = np.zeros(SAMPLE_RATE, np.float32)
    return np.concatenate([jfk, pause, read, pause, jfk, pause[:8000], jfk[: 4 * SAMPLE_RATE]])


@pytest.fixture(scope="module")
def session(base: WhisperModel, tiny: WhisperModel) -> Iterator[Session]:
    with Session(base, tiny, threads=2) as session:
        yield session


@pytest.fixture(scope="module")
def expected(session: Session, audio: NDArray[np.float32]) -> Result:
    return session.transcribe((audio, SAMPLE_RATE), method="target-only")


@pytest.fixture(scope="module")
def recording(session: Session, audio: NDArray[np.float32]) -> Iterator[LiveRecording]:
    with session.listen() as recording:
        for piece in np.array_split(audio, 20):
            recording.feed(piece)
        assert recording.wait(SOON)
        yield recording


@pytest.mark.parametrize("method", ["as2d", "target-only"])
def test_the_answer_is_that_of_the_same_audio_at_once(
    recording: LiveRecording, expected: Result, method: Any
) -> None:
    result = recording.request(method=method)
    assert (result.tokens, result.segments, result.exact) == (expected.tokens, expected.segments, True)
    assert (result.stats.accepted > 0) == (method == "as2d")
    assert result.view
    assert result.view.reused >= 1
    assert 0 < recording.prepared_bytes <= 1 << 30


def test_a_saved_recording_gives_the_same_tokens(
    session: Session, recording: LiveRecording, expected: Result, tmp_path: Path
) -> None:
    recording.save(tmp_path / "kept")
    with session.open_recording(tmp_path / "kept") as opened:
        result = opened.request(method="as2d")
        assert (result.tokens, result.segments) == (expected.tokens, expected.segments)
        assert result.view
        assert (result.view.reused, result.view.prepared) == (1, 1)


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"states": np.zeros((5, 384), np.float32)},
        {"states": np.zeros((5, 512))},
        {"states": np.zeros(512, np.float32)},
    ],
)
def test_whisper_refuses_what_it_has_not_packed(base: WhisperModel, arrays: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="no encoder states of whisper-base; prepare the audio again"):
        base.unpack(arrays, SAMPLE_RATE, 1)


def test_an_answer_while_audio_arrives_is_that_of_the_audio_so_far(
    session: Session, audio: NDArray[np.float32]
) -> None:
    before = set(threading.enumerate())
    with session.listen() as recording:
        recording.feed(audio[: 12 * SAMPLE_RATE])
        request = recording.submit(method="as2d")
        recording.feed(audio[12 * SAMPLE_RATE : 20 * SAMPLE_RATE])
        once = session.transcribe((audio[: 12 * SAMPLE_RATE], SAMPLE_RATE), method="target-only")
        assert request.result(SOON).tokens == once.tokens
    assert set(threading.enumerate()) == before
