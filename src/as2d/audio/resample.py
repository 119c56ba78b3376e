"""Any sample rate to the 16 kHz of everything past this package."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np
import soxr

from as2d.audio.blocks import Samples
from as2d.records import SAMPLE_RATE


class Piece(NamedTuple):
    """Mono samples and their rate in Hz."""

    samples: Samples
    rate: int


def resampled(pieces: Iterable[Piece]) -> Iterator[Samples]:
    """Blocks at 16 kHz, n · 16000 / rate samples for n. Where the rate changes, a new resampler starts."""
    for rate, group in groupby(pieces, key=lambda piece: piece.rate):
        blocks = (piece.samples for piece in group)
        yield from blocks if rate == SAMPLE_RATE else _converted(blocks, rate)


def _converted(blocks: Iterable[Samples], rate: int) -> Iterator[Samples]:
    stream = soxr.ResampleStream(rate, SAMPLE_RATE, 1, dtype="float32", quality="HQ")
    for block in blocks:
        yield stream.resample_chunk(np.ascontiguousarray(block))
    yield stream.resample_chunk(np.zeros(0, np.float32), last=True)
