"""A stream over a recogniser that hears each chunk for itself."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

SHORTEST_CHUNK = 1600
"""Samples (0.1 s) below which a chunk is not recognised: it holds no word, and feature extractors fail on it."""


class ChunkwiseStream:
    """Joins the texts of the chunks with spaces. A word that a boundary cuts in two stays in two."""

    def __init__(self, recognise: Callable[[NDArray[np.float32]], str]) -> None:
        self._recognise = recognise
        self._texts: list[str] = []

    def accept(self, chunk: NDArray[np.float32], *, last: bool) -> str:  # noqa: ARG002 (each chunk is complete)
        """Recognise the chunk; give the text of all chunks."""
        if len(chunk) >= SHORTEST_CHUNK:
            self._texts.append(self._recognise(chunk))
        return " ".join(self._texts)

    def close(self) -> None:
        """Nothing is held."""
