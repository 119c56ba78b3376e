"""Calibrations made from the kept clips."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio, windows
from as2d.errors import InputError
from as2d.models.whisper import low_rank
from as2d.models.whisper.build import DecoderPlan, derive
from as2d.models.whisper.calibrate import SpokenWindow, calibrate, is_for_calibration
from as2d.models.whisper.low_rank import Calibration, approximate
from as2d.models.whisper.model import WhisperModel
from as2d.records import Instruction


def spoken(path: Path, language: str | None) -> Iterator[SpokenWindow]:
    with open_audio(path) as stream:
        for window in windows(stream):
            if window.speech:
                yield SpokenWindow(window.samples, language)


@pytest.fixture(scope="module")
def two_clips(clips: Mapping[str, Path]) -> list[SpokenWindow]:
    return [*spoken(clips["jfk"], "en"), *spoken(clips["fleurs-de-003"], None)]


@pytest.fixture(scope="module")
def calibration(base: WhisperModel, two_clips: list[SpokenWindow]) -> Calibration:
    return calibrate(base, two_clips)


def test_a_calibration_is_a_mean_and_a_covariance(base: WhisperModel, calibration: Calibration) -> None:
    d = base.config.d_model
    assert calibration.mean.shape == (d,)
    assert calibration.covariance.shape == (d, d)
    np.testing.assert_allclose(calibration.covariance, calibration.covariance.T, atol=1e-4)
    assert np.linalg.eigvalsh(calibration.covariance).min() > -1e-3


def test_the_same_windows_give_the_same_file(
    base: WhisperModel, two_clips: list[SpokenWindow], calibration: Calibration, tmp_path: Path
) -> None:
    calibration.save(tmp_path / "once.npz")
    calibrate(base, two_clips).save(tmp_path / "again")
    assert (tmp_path / "once.npz").read_bytes() == (tmp_path / "again").read_bytes()


def test_the_approximation_is_best_where_the_model_was_heard(
    base: WhisperModel, calibration: Calibration
) -> None:
    """Under another distribution of states the same rank loses more of this one's logits."""
    weight = base.parts.decoder.embedding.tokens[:2000].astype(np.float32)
    d = weight.shape[1]
    nothing_known = Calibration(np.zeros(d, np.float32), np.eye(d, dtype=np.float32))
    assert _lost(weight, calibration, calibration) < 0.5 * _lost(weight, nothing_known, calibration)


def _lost(weight: NDArray[np.float32], used: Calibration, true: Calibration) -> float:
    """Expected squared error of the logits under the true distribution."""
    low_rank = approximate(weight, used)
    error = weight - low_rank.weight @ low_rank.basis.T
    at_mean = error @ true.mean - low_rank.bias
    return float(np.sum(at_mean**2) + np.einsum("nd,de,ne->", error, true.covariance, error, optimize=True))


def test_without_windows_there_is_nothing_to_calibrate(base: WhisperModel) -> None:
    with pytest.raises(InputError, match="recordings of speech"):
        calibrate(base, [])


def test_a_transcript_that_does_not_end_is_left_out(
    base: WhisperModel, two_clips: list[SpokenWindow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "output_limit", lambda *_: 3)
    with pytest.raises(InputError, match="ends by itself"):
        calibrate(base, two_clips[:1])


def test_about_half_of_all_clips_are_for_calibration() -> None:
    chosen = [is_for_calibration(f"clip-{number}") for number in range(1000)]
    assert 450 < sum(chosen) < 550
    assert is_for_calibration("ls-3080-5032-0007")
    assert not is_for_calibration("jfk")


def test_another_calibration_is_another_decoder(
    tiny: WhisperModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that none that was built before is taken from the cache."""
    plan = DecoderPlan("int8", drafts=True, low_rank=True)
    shipped = derive(tiny.parts, plan).identity
    states = np.random.default_rng(0).standard_normal((500, tiny.config.d_model)).astype(np.float32)
    Calibration.of(states).save(tmp_path / f"{tiny.parts.files.digest[:16]}.npz")
    monkeypatch.setattr(low_rank, "_CALIBRATIONS", tmp_path)
    assert derive(tiny.parts, plan).identity != shipped


def test_hidden_states_do_not_depend_on_the_calls(base: WhisperModel, two_clips: list[SpokenWindow]) -> None:
    """Past the most rows of a call, too."""
    watched = WhisperModel(derive(base.parts, DecoderPlan("int8", drafts=True, low_rank=True)))
    prepared = watched.prepare(two_clips[0].samples, 1)
    tokens = [*base.vocabulary.encode(" one two three four five six seven")] * 3
    together = watched.open(prepared, Instruction(language="en"), 1).hidden(tokens)
    decoder = watched.open(prepared, Instruction(language="en"), 1)
    apart = np.concatenate([decoder.hidden([token]) for token in tokens])
    assert together.shape == (len(tokens), base.config.d_model)
    # One row is computed with other kernels, and rounded activations magnify the difference.
    assert np.abs(together - apart).max() < 0.05 * np.abs(apart).max()
