"""Raw samples of a stream without a header, as they come."""

from collections.abc import Iterator
from io import RawIOBase
from select import select
from typing import BinaryIO, Literal

import numpy as np

from as2d.audio.arrays import checked_rate
from as2d.audio.blocks import Samples
from as2d.audio.mono import mono
from as2d.audio.resample import Piece, resampled
from as2d.errors import AudioError
from as2d.records import SAMPLE_RATE

SampleFormat = Literal["s16le", "f32le"]
"""16-bit integers or 32-bit floats, the least significant byte first; channels take turns."""

_TYPES: dict[str, "np.dtype[np.generic]"] = {"s16le": np.dtype("<i2"), "f32le": np.dtype("<f4")}
_READ_BYTES = 1 << 16
_MOST_CHANNELS = 64


def pcm_samples(
    stream: BinaryIO | RawIOBase,
    rate: int = SAMPLE_RATE,
    sample_format: SampleFormat = "s16le",
    channels: int = 1,
) -> Iterator[Samples]:
    """Mono samples at 16 kHz of raw ones at `rate`, each as soon as it can be read.

    Raises AudioError for a rate, format or number of channels that there is not. Iterating raises it for NaN or
    infinity, where the stream cannot be read, and where it ends within a sample, after all whole ones are out.
    """
    if sample_format not in _TYPES:
        raise AudioError(f"there is no sample format {sample_format!r}; use {' or '.join(_TYPES)}")
    if not 1 <= channels <= _MOST_CHANNELS:
        raise AudioError(f"{channels} channels are not possible; use 1 to {_MOST_CHANNELS}")
    return resampled(_pieces(stream, checked_rate(rate), _TYPES[sample_format], channels))


def _pieces(
    stream: BinaryIO | RawIOBase, rate: int, sample: "np.dtype[np.generic]", channels: int
) -> Iterator[Piece]:
    frame = sample.itemsize * channels
    rest = b""
    while data := _read(stream):
        data = rest + data
        whole = len(data) - len(data) % frame
        rest = data[whole:]
        samples = mono(np.frombuffer(data[:whole], sample).reshape(-1, channels).T)
        if not np.isfinite(samples).all():
            raise AudioError(f"the samples hold NaN or infinity; are they {sample.name}?")
        yield Piece(samples, rate)
    if rest:
        raise AudioError(
            f"the samples end with {len(rest)} of the {frame} bytes of one; check the sample format and channels"
        )


def _read(stream: BinaryIO | RawIOBase) -> bytes:
    """What there is, at most 64 KiB, as soon as there is any; empty at the end."""
    try:
        while (data := stream.read(_READ_BYTES)) is None:  # whoever shares the pipe told it not to block
            select([stream], [], [])
    except OSError as error:
        raise AudioError(f"the samples cannot be read ({error}); check where they come from") from error
    return data
