"""Whisper's log-mel front end, as openai/whisper and transformers compute it."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from as2d.errors import AudioError, InputError
from as2d.records import SAMPLE_RATE

HOP = 160
"""Samples between two frames: 10 ms."""

_N_FFT = 400
_HALF = _N_FFT // 2
_MIN_FRAMES = 2
_FLOOR = np.float32(-10.0)
"""log10 of the smallest mel energy, 1e-10: what a frame of silence holds."""
_DYNAMIC_RANGE = np.float32(8.0)
_LOUDEST = 2.0**31
# Frames transformed at once: their spectra stay in the processor's cache.
_BLOCK = 128


def log_mel(samples: NDArray[np.float32], n_mels: int = 80, frames: int = 3000) -> NDArray[np.float32]:
    """Log-mel spectrogram [n_mels, frames] of mono audio [n] at 16 kHz, padded with silence or cut to the
    frames.

    Agrees with the reference within 1e-5. Raises AudioError for samples that are not finite numbers or not
    one channel, InputError for fewer than 2 frames.
    """
    _require_audio(samples)
    if frames < _MIN_FRAMES:
        raise InputError(f"a spectrogram of {frames} frames is too short; ask for at least {_MIN_FRAMES}")
    padded = _padded(samples[: frames * HOP], frames)
    # Frames that see no sample are silence: they hold the floor and need no transform.
    heard = min(frames, -(-(min(len(samples), frames * HOP) + _HALF) // HOP))
    logs = np.full((n_mels, frames), _FLOOR, np.float32)
    for start in range(0, heard, _BLOCK):
        stop = min(start + _BLOCK, heard)
        logs[:, start:stop] = _log_energies(padded[start * HOP : (stop - 1) * HOP + _N_FFT], n_mels)
    return _scaled(logs)


def _require_audio(samples: NDArray[np.float32]) -> None:
    if samples.ndim != 1:
        raise AudioError(f"the audio has {samples.ndim} dimensions; pass one channel of samples")
    # The comparison is false for NaN as well.
    if samples.size and not np.abs(samples).max() <= _LOUDEST:
        raise AudioError("the audio holds samples that are NaN, infinite or above 2**31; scale it to -1 … 1")


def _padded(samples: NDArray[np.float32], frames: int) -> NDArray[np.float32]:
    """The samples, silence up to the last frame, and half a window reflected at both ends."""
    padded = np.zeros(frames * HOP + _N_FFT, np.float32)
    padded[_HALF : _HALF + len(samples)] = samples
    padded[:_HALF] = padded[_N_FFT:_HALF:-1]
    padded[-_HALF:] = padded[-_HALF - 2 : -_N_FFT - 2 : -1]
    return padded


def _log_energies(samples: NDArray[np.float32], n_mels: int) -> NDArray[np.float32]:
    """log10 of the mel energies [n_mels, frames] of all whole frames in `samples`, at least the floor."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, _N_FFT)[::HOP]
    # In float32 the transform would drown bins that are 80 dB below the frame's loudest in rounding noise.
    spectra = np.fft.rfft(frames * _window())
    # All terms of a mel energy are positive, so from here on float32 loses nothing.
    power = (spectra.real**2 + spectra.imag**2).astype(np.float32)
    # Not a BLAS product: that would wake a thread pool beside onnxruntime's, and round by the block's size.
    energies: NDArray[np.float32] = np.einsum("mk,fk->mf", _mel_filters(n_mels), power)
    return np.maximum(np.log10(np.maximum(energies, np.float32(1e-10))), _FLOOR)


def _scaled(logs: NDArray[np.float32]) -> NDArray[np.float32]:
    np.maximum(logs, logs.max() - _DYNAMIC_RANGE, out=logs)
    logs += np.float32(4.0)
    logs *= np.float32(0.25)
    return logs


@cache
def _window() -> NDArray[np.float64]:
    """The periodic Hann window [400]."""
    return 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(_N_FFT) / _N_FFT)


@cache
def _mel_filters(n_mels: int) -> NDArray[np.float32]:
    """Slaney's triangular filters [n_mels, 201] of unit area, from 0 to 8000 Hz."""
    edges = _mel_to_hertz(np.linspace(0.0, _hertz_to_mel(SAMPLE_RATE / 2), n_mels + 2))
    bins = np.linspace(0.0, SAMPLE_RATE / 2, _N_FFT // 2 + 1)
    slopes = edges[:, None] - bins
    widths = np.diff(edges)[:, None]
    rising, falling = -slopes[:-2] / widths[:-1], slopes[2:] / widths[1:]
    areas = 2.0 / (edges[2:] - edges[:-2])
    return (np.maximum(0.0, np.minimum(rising, falling)) * areas[:, None]).astype(np.float32)


def _hertz_to_mel(hertz: float) -> float:
    """Slaney's scale from 1000 Hz up: 15 mels there, and 27 more at each 6.4-fold frequency."""
    return 15.0 + float(np.log(hertz / 1000.0)) * 27.0 / float(np.log(6.4))


def _mel_to_hertz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of Slaney's scale: 200/3 Hz a mel below 1000 Hz, logarithmic above."""
    return np.where(mels < 15.0, mels * 200.0 / 3.0, 1000.0 * np.exp((mels - 15.0) * np.log(6.4) / 27.0))
