"""How many target tokens become visible together."""

from typing import Literal

from as2d.drafting.buffer import CandidateBuffer
from as2d.errors import InputError

BatchSize = Literal["word"] | int


class Publisher:
    """Groups words to batches: each word one batch, or a fixed number of tokens (the paper's 8)."""

    def __init__(self, buffer: CandidateBuffer, batch: BatchSize) -> None:
        if batch != "word" and batch < 1:
            raise InputError(
                f"a batch of {batch} tokens is never published; use 'word' or a number from 1 up"
            )
        self._buffer = buffer
        self._batch = batch
        self._tokens: list[int] = []
        self._probabilities: list[float] = []

    def add(self, tokens: tuple[int, ...], probabilities: tuple[float, ...]) -> None:
        """Take one completed word and publish the batches that are full."""
        self._tokens += tokens
        self._probabilities += probabilities
        size = len(self._tokens) if self._batch == "word" else self._batch
        while self._tokens and len(self._tokens) >= size:
            self._publish(size)

    def finish(self) -> None:
        """Publish what is left; the buffer stays open for its owner to close."""
        if self._tokens:
            self._publish(len(self._tokens))

    def _publish(self, size: int) -> None:
        self._buffer.publish(self._tokens[:size], self._probabilities[:size])
        del self._tokens[:size], self._probabilities[:size]
