"""The low-rank projection: exact where the states span few directions, and the full head's choice on real speech."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.models.whisper import low_rank
from as2d.models.whisper.build import DecoderPlan, derive
from as2d.models.whisper.low_rank import RANK, Calibration, LowRank, approximate, load_calibration
from as2d.models.whisper.model import WhisperModel, WhisperPrepared
from as2d.records import Instruction

Float32 = NDArray[np.float32]
WIDTH, COLUMNS, STATES = 320, 500, 2000


@pytest.fixture(scope="module")
def weight() -> Float32:
    return np.random.default_rng(0).standard_normal((COLUMNS, WIDTH)).astype(np.float32)


def states(directions: int) -> Float32:
    """States [STATES, WIDTH] around a mean far from zero that vary in so many directions, unequally."""
    random = np.random.default_rng(directions)
    strength = np.geomspace(3, 0.3, directions)
    varying = (random.standard_normal((STATES, directions)) * strength) @ random.standard_normal(
        (directions, WIDTH)
    )
    mean = 20 * random.standard_normal(WIDTH)
    found: Float32 = (mean + varying / np.sqrt(directions)).astype(np.float32)
    return found


def logits(head: LowRank, hidden: Float32) -> Float32:
    return np.asarray(hidden @ head.basis @ head.weight.T + head.bias, np.float32)


def error(head: LowRank, hidden: Float32, weight: Float32) -> float:
    """Of the logits, relative to how much the true ones vary."""
    true = hidden @ weight.T
    return float(np.abs(logits(head, hidden) - true).max() / true.std(axis=0).mean())


@pytest.mark.parametrize("directions", [3, 100, RANK])
def test_states_of_few_directions_are_projected_exactly(weight: Float32, directions: int) -> None:
    hidden = states(directions)
    assert error(approximate(weight, Calibration.of(hidden)), hidden, weight) < 0.01


def test_states_of_more_directions_are_not(weight: Float32) -> None:
    hidden = states(WIDTH)
    assert error(approximate(weight, Calibration.of(hidden)), hidden, weight) > 0.05


def test_no_other_directions_of_that_number_lose_less(weight: Float32) -> None:
    hidden = states(WIDTH)
    calibration = Calibration.of(hidden)
    true = hidden @ weight.T
    found = logits(approximate(weight, calibration), hidden)
    centred = true - true.mean(axis=0)
    least = np.sqrt(np.sum(np.linalg.svd(centred, compute_uv=False)[RANK:] ** 2))  # Eckart and Young
    assert least <= np.linalg.norm(found - true) < 1.02 * least


def test_the_mean_is_left_to_the_bias(weight: Float32) -> None:
    hidden = states(WIDTH)
    calibration = Calibration.of(hidden)
    head = approximate(weight, calibration)
    np.testing.assert_allclose(logits(head, calibration.mean), weight @ calibration.mean, atol=0.02)
    without = Calibration(np.zeros(WIDTH, np.float32), calibration.covariance)
    assert not np.any(approximate(weight, without).bias)


def test_columns_and_their_inputs_are_of_equal_size(weight: Float32) -> None:
    hidden = states(WIDTH)
    head = approximate(weight, Calibration.of(hidden))
    inputs = ((hidden - hidden.mean(axis=0)) @ head.basis).std(axis=0)
    columns = np.sqrt(np.mean(head.weight**2, axis=0))
    np.testing.assert_allclose(inputs, columns, rtol=0.05)
    assert head.basis.shape == (WIDTH, RANK)
    assert head.weight.shape == (COLUMNS, RANK)
    assert {part.dtype for part in (head.basis, head.weight, head.bias)} == {np.dtype(np.float32)}


def test_a_calibration_is_the_mean_and_covariance() -> None:
    hidden = states(10)
    calibration = Calibration.of(hidden)
    np.testing.assert_allclose(calibration.mean, hidden.mean(axis=0, dtype=np.float64), atol=1e-3)
    np.testing.assert_allclose(
        calibration.covariance, np.cov(hidden.astype(np.float64), rowvar=False, ddof=0), atol=0.02
    )


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(low_rank, "_CALIBRATIONS", tmp_path)
    written = Calibration.of(states(10))
    written.save(tmp_path / f"{'a' * 16}.npz")
    read = load_calibration("a" * 64, WIDTH)
    for name in ("mean", "covariance"):
        np.testing.assert_allclose(getattr(read, name), getattr(written, name), rtol=1e-3, atol=1e-6)
        assert getattr(read, name).dtype == np.float32


def test_a_model_that_was_not_calibrated_has_all_directions_alike(weight: Float32) -> None:
    calibration = load_calibration("f" * 64, WIDTH)
    assert not np.any(calibration.mean)
    np.testing.assert_array_equal(calibration.covariance, np.eye(WIDTH))
    approximate(weight, calibration)


def test_the_default_target_is_calibrated(base: WhisperModel) -> None:
    calibration = load_calibration(base.parts.files.digest, base.config.d_model)
    assert np.any(calibration.mean)
    assert np.all(np.isfinite(calibration.covariance))
    np.testing.assert_allclose(calibration.covariance, calibration.covariance.T)
    assert np.linalg.eigvalsh(calibration.covariance.astype(np.float64)).min() > -1e-3 * np.trace(
        calibration.covariance
    ) / len(calibration.covariance)


@pytest.fixture(scope="module")
def full(base: WhisperModel) -> WhisperModel:
    """4-bit layers with the whole head, in 4 bits."""
    return WhisperModel(derive(base.parts, DecoderPlan("int4", drafts=True)))


@pytest.fixture(scope="module")
def cheap(base: WhisperModel) -> WhisperModel:
    """The same layers with the low-rank head."""
    return WhisperModel(derive(base.parts, DecoderPlan("int4", drafts=True, low_rank=True)))


class Choices(NamedTuple):
    """What the heads choose for the same final states."""

    true: list[int]
    full: list[int]
    cheap: list[int]


def choices(base: WhisperModel, full: WhisperModel, cheap: WhisperModel, path: Path) -> Choices:
    """Teacher-forced over what the target says of a clip. The true head has the weights that it was trained with."""
    prepared = base.prepare(np.concatenate(list(open_audio(path))), 2)
    instruction = Instruction("transcribe", base.detect_language(prepared, 2))
    said = transcript(base, prepared, instruction)
    head = base.parts.decoder.head
    projection = base.parts.decoder.embedding.tokens[head.ids].astype(np.float32)
    states = cheap.open(prepared, instruction, 2).hidden(said)
    return Choices(
        list(head.pick(states @ projection.T, 0).greedy),
        *(list(model.open(prepared, instruction, 2).forward(said).greedy) for model in (full, cheap)),
    )


def transcript(model: WhisperModel, prepared: WhisperPrepared, instruction: Instruction) -> list[int]:
    decoder = model.open(prepared, instruction, 2)
    said = [decoder.root]
    while said[-1] not in model.end_ids:
        said += decoder.forward(said[-1:]).greedy
    return said[:-1]


def agreed(left: Sequence[int], right: Sequence[int]) -> float:
    return float(np.mean(np.array(left) == np.array(right)))


def test_the_reranked_choice_is_that_of_the_true_head(
    base: WhisperModel, full: WhisperModel, cheap: WhisperModel, clips: Mapping[str, Path]
) -> None:
    found = Choices([], [], [])
    for path in clips.values():
        for rows, new in zip(found, choices(base, full, cheap, path), strict=True):
            rows.extend(new)
    assert len(found.true) > 200
    assert agreed(found.cheap, found.true) >= 0.98
    assert agreed(found.cheap, found.true) > agreed(found.full, found.true)  # which only 4 bits make wrong
