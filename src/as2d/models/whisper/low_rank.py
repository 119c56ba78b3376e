"""A cheap output projection: a low-rank one to find candidates, whose true scores decide.

The hidden states h of a decoder vary in few directions. With their mean μ and covariance C known, the best rank-r
approximation of W(h − μ) under that distribution is A·Pᵀ(h − μ), from the eigenvectors of SᵀWᵀWS where C = SSᵀ. The
tokens that it puts near its best one are then scored with their true rows of W: over the whole vocabulary the greedy
token is the true one in all but a few per thousand (docs/drafters.md).
"""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

RANK = 256
"""Columns of the low-rank projection: two quantisation blocks."""

_CALIBRATIONS = files("as2d.models.whisper") / "calibrations"
# Directions that the calibration set hardly showed are still given a little variance.
_RIDGE = 1e-3


@dataclass(frozen=True, slots=True)
class Calibration:
    """The mean [D] and covariance [D, D] of a decoder's final hidden states."""

    mean: Float32
    covariance: Float32

    @classmethod
    def of(cls, states: Float32) -> "Calibration":
        """That of hidden states [n, D]."""
        mean = states.mean(axis=0)
        centred = states - mean
        return cls(mean, centred.T @ centred / np.float32(len(states)))

    def save(self, path: Path) -> None:
        """Write an .npz file of that very name, in float16; the same calibration gives the same bytes."""
        with path.open("wb") as file:
            np.savez_compressed(
                file, mean=self.mean.astype(np.float16), covariance=self.covariance.astype(np.float16)
            )


@dataclass(frozen=True, slots=True)
class LowRank:
    """logits ≈ (h @ basis) @ weight.T + bias: basis [D, r], weight [n, r], bias [n]."""

    basis: Float32
    weight: Float32
    bias: Float32


def load_calibration(digest: str, d_model: int) -> Calibration:
    """The calibration that is shipped for a model of that digest; for others, all directions alike."""
    path = _shipped(digest)
    if not path.is_file():
        return Calibration(np.zeros(d_model, np.float32), np.eye(d_model, dtype=np.float32))
    with path.open("rb") as file, np.load(file) as arrays:
        return Calibration(arrays["mean"].astype(np.float32), arrays["covariance"].astype(np.float32))


def calibration_digest(digest: str) -> str:
    """SHA-256 (hex) of the calibration that is shipped for a model of that digest; empty where none is."""
    path = _shipped(digest)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _shipped(digest: str) -> Traversable:
    return _CALIBRATIONS / f"{digest[:16]}.npz"


def approximate(weight: Float32, calibration: Calibration) -> LowRank:
    """The best approximation of a projection [n, D] with RANK columns.

    The columns are scaled so that those of `weight` and their inputs have equal size, which loses least when `weight`
    is quantised in blocks with one scale.
    """
    root = _square_root(calibration.covariance)
    gram = root.T @ (weight.T @ weight).astype(np.float64) @ root
    _, vectors = np.linalg.eigh(gram)
    best = vectors[:, ::-1][:, :RANK]
    spread, narrowed = root @ best, np.linalg.inv(root).T @ best
    columns = weight @ spread
    # The inputs narrowed.T @ (h − μ) have variance 1, so the size of a column is that of its contribution.
    scale = np.sqrt(np.sqrt(np.mean(columns**2, axis=0)))
    basis = (narrowed * scale).astype(np.float32)
    reduced = (columns / scale).astype(np.float32)
    mean = calibration.mean
    return LowRank(basis, reduced, weight @ mean - reduced @ (basis.T @ mean))


def _square_root(covariance: Float32) -> NDArray[np.float64]:
    """S with S·Sᵀ = the covariance, a little widened."""
    widened = covariance.astype(np.float64)
    widened += _RIDGE * np.trace(widened) / len(widened) * np.eye(len(widened))
    values, vectors = np.linalg.eigh(widened)
    root: NDArray[np.float64] = vectors * np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    return root
