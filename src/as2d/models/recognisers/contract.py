"""What every recogniser offers that may draft: audio chunks in, text out."""

from threading import Event
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

THREADS = 1
"""Cores that a recogniser computes on; the target has the others."""


class RecogniserStream(Protocol):
    """One window being heard."""

    def accept(self, chunk: NDArray[np.float32], *, last: bool) -> str:
        """Hear the next samples (float32 [n], mono, 16 kHz); give the text of *everything* heard so far.

        The whole text and not what is new, since only that can say both that a recogniser of single chunks has
        more to append and that a streaming one thinks otherwise about what it said before.
        """

    def close(self) -> None:
        """Free what the stream holds. Called once, after the last chunk or after a failure."""


class Recogniser(Protocol):
    """Turns speech into text in its own way. Streams are independent of each other."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that it transcribes, ISO 639-1."""

    def open(self, language: str, stop: Event) -> RecogniserStream:
        """Begin to hear a window. Where a chunk takes long, `accept` may return early once `stop` is set."""
