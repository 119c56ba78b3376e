"""Audio from anywhere as a stream of mono samples at 16 kHz that never holds the whole of it."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from as2d.audio.arrays import array_pieces, checked_array
from as2d.audio.blocks import Samples, regrouped
from as2d.audio.decode import FileDecoder
from as2d.audio.resample import Piece, resampled
from as2d.audio.sources import open_source, source_name
from as2d.errors import AudioError, ClosedError
from as2d.records import SAMPLE_RATE

AudioInput = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | tuple[NDArray[Any], int]
"""A path ("-" is standard input), the bytes of a file, an open binary file, or samples and their rate."""

BLOCK_SAMPLES = SAMPLE_RATE
"""Samples of a block of an `AudioStream`; the last block may be shorter."""


def open_audio(source: AudioInput) -> "AudioStream":
    """Open audio of any container, codec, sample rate and channel count.

    Samples have shape [n], [n, channels] or [channels, n] and type uint8, int16, int32, float32 or float64.
    One block is held at a time, and a copy of a source that cannot seek. Raises AudioError where the source
    cannot be read or holds no audio track.
    """
    if isinstance(source, tuple):
        return _open_array(source)
    with ExitStack() as closing:
        name = source_name(source)
        decoder = FileDecoder(name, open_source(source, closing), closing)
        return AudioStream(name, decoder.pieces(), decoder.shortfall, closing.pop_all())


def _open_array(source: tuple[object, ...]) -> "AudioStream":
    if len(source) != 2:
        raise AudioError(f"the tuple has {len(source)} items; give (array, rate)")
    pieces = array_pieces(*checked_array(*source))
    return AudioStream("the array", pieces, lambda: None, ExitStack())


class AudioStream:
    """Mono float32 blocks at 16 kHz, once; a context manager, closed by itself at the end or on an error.

    `samples` counts what was yielded so far; `warnings` is complete once the iteration has ended.
    """

    def __init__(
        self, name: str, pieces: Iterator[Piece], shortfall: Callable[[], str | None], closing: ExitStack
    ) -> None:
        """`pieces` are at any rate; `shortfall` may warn after the last; `closing` frees what they need."""
        self.samples = 0
        self.warnings: list[str] = []
        self._name = name
        self._closed = False
        self._pieces = pieces
        self._shortfall = shortfall
        self._closing = closing
        self._blocks = self._read()

    def __iter__(self) -> Iterator[Samples]:
        """Blocks of `BLOCK_SAMPLES`. Raises AudioError on NaN or infinity and where there are no samples,
        ClosedError after `close`.
        """
        if self._closed:
            raise ClosedError("the audio stream was closed; open the source again")
        return self._blocks

    def _read(self) -> Iterator[Samples]:
        with self._closing:
            for block in regrouped(resampled(_finite(self._pieces, self._name)), BLOCK_SAMPLES):
                self.samples += len(block)
                yield block
            self._finish()

    def _finish(self) -> None:
        if self.samples == 0:
            raise AudioError(f"{self._name} holds no audio samples; give a file or array with sound in it")
        warning = self._shortfall()
        if warning is not None:
            self.warnings.append(warning)

    def close(self) -> None:
        """Free the file; may be called at any time, and again."""
        self._closed = True
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _finite(pieces: Iterable[Piece], name: str) -> Iterator[Piece]:
    seconds = 0.0
    for piece in pieces:
        if not np.isfinite(piece.samples).all():
            raise AudioError(
                f"{name} holds NaN or infinite samples near {seconds:.2f} s; replace them by numbers"
            )
        seconds += len(piece.samples) / piece.rate
        yield piece
