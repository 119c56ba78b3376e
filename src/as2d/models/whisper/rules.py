"""Which tokens Whisper may say next: the columns of the output head, and the greedy pick among them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from as2d.models.contract import Rows

_RERANKED = 64
"""Most columns of a low-rank head that are scored truly."""
_NEAR = 4.0
"""How far below the best an approximate logit may be; holds 99% of the true winners (docs/drafters.md)."""


@dataclass(frozen=True, slots=True)
class Head:
    """The output columns of a decoder graph and the rules that pick from them.

    `ids` [columns] are vocabulary ids: first the `speakable` ones, that may be said, then the languages', which are
    only compared with each other. Tokens that Whisper always suppresses have no column. `begin_columns` may not be
    said first. `with_probability` is off where nobody reads the probabilities, which cost as much as the pick. A
    low-rank head has approximate logits: `projection` [V, D] then scores the best of them.
    """

    ids: NDArray[np.int64]
    speakable: int
    begin_columns: NDArray[np.int64]
    with_probability: bool
    projection: NDArray[np.floating] | None = None

    def pick(
        self, logits: NDArray[np.float32], first_row: int, hidden: NDArray[np.float32] | None = None
    ) -> Rows:
        """The best speakable token of each row of `logits` [K, columns], ties to the lowest column.

        `hidden` [K, D] are the final states, which a low-rank head needs. `first_row` is the row that says the first
        token; outside 0…K−1 there is none. Writes to `logits`.
        """
        speakable = logits[:, : self.speakable]
        if 0 <= first_row < len(logits):
            speakable[first_row, self.begin_columns] = -np.inf
        columns = speakable.argmax(axis=1)
        if hidden is not None:
            columns = np.array(
                [self._truly_best(*row) for row in zip(speakable, hidden, columns, strict=True)]
            )
        greedy = tuple(self.ids[columns].tolist())
        return Rows(greedy, _probabilities(speakable, columns) if self.with_probability else ())

    def _truly_best(self, logits: NDArray[np.float32], state: NDArray[np.float32], best: np.intp) -> np.intp:
        """The column with the best true score among those that look nearly as good as `best`."""
        assert self.projection is not None
        near = np.flatnonzero(logits > logits[best] - _NEAR)
        if len(near) > _RERANKED:
            near = near[np.argpartition(-logits[near], _RERANKED)[:_RERANKED]]
        scores = self.projection[self.ids[near]].astype(np.float32) @ state
        column: np.intp = near[scores.argmax()]
        return column

    def best_language(self, logits: NDArray[np.float32]) -> int:
        """The vocabulary id of the most probable language in one row of logits [columns]."""
        return int(self.ids[self.speakable + logits[self.speakable :].argmax()])


def _probabilities(logits: NDArray[np.float32], columns: NDArray[np.intp]) -> tuple[float, ...]:
    best = logits[np.arange(len(logits)), columns]
    return tuple((1 / np.exp(logits - best[:, None]).sum(axis=1)).tolist())


def make_head(
    speakable: Sequence[int],
    begin_suppressed: frozenset[int],
    languages: Sequence[int],
    *,
    with_probability: bool,
    projection: NDArray[np.floating] | None = None,
) -> Head:
    """A head of the given ids; ids in `begin_suppressed` that are not speakable need no rule."""
    ids = np.array([*speakable, *languages], np.int64)
    begin = np.flatnonzero(np.isin(ids[: len(speakable)], list(begin_suppressed)))
    return Head(ids, len(speakable), begin, with_probability, projection)
