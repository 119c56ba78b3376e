"""Token and position embeddings, looked up outside the graph.

A mapped file would grow into memory with every new word; these are read at once, and shared by all decoders.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from as2d.models.whisper.checkpoint import DecoderWeights


@dataclass(frozen=True, slots=True)
class Embedding:
    """`tokens` [V, D], in float16 where that loses nothing, and `positions` [text_ctx, D] in float32."""

    tokens: NDArray[np.float16] | NDArray[np.float32]
    positions: NDArray[np.float32]

    def rows(self, tokens: Sequence[int], start: int) -> NDArray[np.float32]:
        """Embedded tokens [K, D] that stand at the positions `start` and up."""
        rows: NDArray[np.float32] = self.tokens[list(tokens)] + self.positions[start : start + len(tokens)]
        return rows


def save_embedding(weights: DecoderWeights, folder: Path) -> None:
    """Write the embeddings to `folder`."""
    halves = weights.token_embedding.astype(np.float16)
    lossless = np.array_equal(halves, weights.token_embedding)
    np.save(folder / "tokens.npy", halves if lossless else weights.token_embedding)
    np.save(folder / "positions.npy", weights.position)


def load_embedding(folder: Path) -> Embedding:
    """Read what `save_embedding` wrote."""
    return Embedding(np.load(folder / "tokens.npy"), np.load(folder / "positions.npy"))
