"""The log-mel front end against golden values of transformers' WhisperFeatureExtractor."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from as2d.errors import AudioError, InputError
from as2d.models.whisper.mel import log_mel

HERE = Path(__file__).parent


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_golden_mel", HERE / "make_golden_mel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load_script()
SIGNALS = SCRIPT.signals()
with np.load(HERE / "golden_mel.npz") as archive:
    GOLDEN = {key: archive[key] for key in archive.files}


def test_golden_values_cover_every_signal() -> None:
    assert {key.split("_")[0] for key in GOLDEN} == set(SIGNALS)


@pytest.mark.parametrize("key", sorted(GOLDEN))
def test_agrees_with_the_reference(key: str) -> None:
    name, n_mels = key.split("_")
    samples = SIGNALS[name]
    features = log_mel(samples, int(n_mels))
    assert features.shape == (int(n_mels), 3000)
    assert features.dtype == np.float32
    kept = features[:, SCRIPT.kept_frames(len(samples))]
    assert np.abs(kept - GOLDEN[key]).max() < 1e-5


def test_fewer_frames_are_the_first_ones_of_a_longer_silence() -> None:
    samples = SIGNALS["voice"][:20_000]
    np.testing.assert_array_equal(log_mel(samples, frames=400), log_mel(samples)[:, :400])


def test_more_audio_than_frames_is_cut() -> None:
    np.testing.assert_array_equal(
        log_mel(SIGNALS["noise"], frames=100), log_mel(SIGNALS["noise"][:16_000], frames=100)
    )


@pytest.mark.parametrize("length", [0, 1, 159, 160, 199, 200, 201, 320, 479])
def test_skipped_frames_hold_what_a_transform_of_silence_gives(length: int) -> None:
    samples = np.full(length, 0.3, np.float32)
    # Zeros that are part of the audio are transformed, padding is not.
    whole = np.concatenate([samples, np.zeros(8 * 160 - length, np.float32)])
    np.testing.assert_array_equal(log_mel(samples, frames=8), log_mel(whole, frames=8))


def test_no_audio_is_silence() -> None:
    np.testing.assert_allclose(log_mel(np.zeros(0, np.float32)), -1.5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_refuses_samples_that_are_no_audio(bad: float) -> None:
    samples = np.zeros(1000, np.float32)
    samples[500] = bad
    with pytest.raises(AudioError, match="NaN"):
        log_mel(samples)


def test_refuses_two_channels_and_too_few_frames() -> None:
    with pytest.raises(AudioError, match="one channel"):
        log_mel(np.zeros((2, 100), np.float32))
    with pytest.raises(InputError, match="at least 2"):
        log_mel(np.zeros(100, np.float32), frames=1)
