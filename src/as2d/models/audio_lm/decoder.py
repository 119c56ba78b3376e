"""A text state as a `Decoder`: the greedy choice among all rows of the output head."""

from collections.abc import Sequence

import numpy as np

from as2d.engines.torch import Float32, TextState
from as2d.models.contract import Rows


class AudioLmDecoder:
    """Implements `Decoder`; it belongs to one thread."""

    def __init__(self, state: TextState, root: int) -> None:
        self._state = state
        self.root = root

    @property
    def length(self) -> int:
        """Positions held in the cache."""
        return self._state.length

    @property
    def capacity(self) -> int:
        """The most positions that the cache can hold."""
        return self._state.capacity

    def forward(self, tokens: Sequence[int]) -> Rows:
        """Append K positions; the greedy token and its probability at each. InputError when they do not fit."""
        logits = self.scores(tokens)
        best = logits.argmax(axis=1)
        probability = 1 / np.exp(logits - logits[np.arange(len(best)), best][:, None]).sum(axis=1)
        return Rows(tuple(best.tolist()), tuple(probability.tolist()))

    def scores(self, tokens: Sequence[int]) -> Float32:
        """Append K positions and return their logits [K, n]."""
        return self._state.logits(tokens)

    def truncate(self, length: int) -> None:
        """Forget every position from `length` on. InputError when the cache is shorter."""
        self._state.truncate(length)

    def use_threads(self, threads: int) -> None:
        """Compute the next rows on that many cores."""
        self._state.use_threads(threads)
