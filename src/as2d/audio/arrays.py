"""Samples that the caller already holds, as an array and its rate."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from as2d.audio.mono import SCALES, mono
from as2d.audio.resample import Piece
from as2d.errors import AudioError

MAX_RATE = 768_000
"""The highest sample rate in use, in Hz."""

_BLOCK = 1 << 16


def checked_array(array: object, rate: object) -> tuple[NDArray[np.generic], int]:
    """The samples as [channels, n] (a view; the longer axis is time) and the rate. Raises AudioError.

    The array has shape [n], [n, channels] or [channels, n] and a type in `SCALES`.
    """
    if not isinstance(array, np.ndarray) or array.dtype.name not in SCALES:
        kind = array.dtype.name if isinstance(array, np.ndarray) else type(array).__name__
        raise AudioError(f"samples are {kind}; give a numpy array of {', '.join(SCALES)}")
    if array.ndim not in (1, 2):
        raise AudioError(f"the array has shape {array.shape}; give [n], [n, channels] or [channels, n]")
    if array.size == 0:
        raise AudioError("the array holds no audio samples; give at least one")
    channels = np.atleast_2d(array)
    return (channels if channels.shape[0] <= channels.shape[1] else channels.T), checked_rate(rate)


def checked_rate(rate: object) -> int:
    """The rate as an int, if it is a whole number from 1 to 768,000, else AudioError."""
    if isinstance(rate, bool) or not isinstance(rate, int | np.integer) or not 1 <= rate <= MAX_RATE:
        raise AudioError(f"the sample rate is {rate!r}; give a whole number of Hz from 1 to {MAX_RATE}")
    return int(rate)


def array_pieces(channels: NDArray[np.generic], rate: int) -> Iterator[Piece]:
    """Mono pieces of samples [channels, n]; a large array is converted a part at a time."""
    for first in range(0, channels.shape[1], _BLOCK):
        yield Piece(mono(channels[:, first : first + _BLOCK]), rate)
