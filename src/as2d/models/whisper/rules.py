"""Which tokens Whisper may say next: the columns of the output head, and the greedy pick among them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from as2d.models.contract import Rows


@dataclass(frozen=True, slots=True)
class Head:
    """The output columns of a decoder graph and the rules that pick from them.

    `ids` [columns] are vocabulary ids: first the `speakable` ones, that may be said, then the languages', which are
    only compared with each other. Tokens that Whisper always suppresses have no column. `begin_columns` may not be
    said first. `with_probability` is off where nobody reads the probabilities, which cost as much as the pick.
    """

    ids: NDArray[np.int64]
    speakable: int
    begin_columns: NDArray[np.int64]
    with_probability: bool

    def pick(self, logits: NDArray[np.float32], first_row: int) -> Rows:
        """The best speakable token of each row of `logits` [K, columns], ties to the lowest column.

        `first_row` is the row that says the first token; outside 0…K−1 there is none. Writes to `logits`.
        """
        speakable = logits[:, : self.speakable]
        if 0 <= first_row < len(logits):
            speakable[first_row, self.begin_columns] = -np.inf
        columns = speakable.argmax(axis=1)
        greedy = tuple(self.ids[columns].tolist())
        return Rows(greedy, _probabilities(speakable, columns) if self.with_probability else ())

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
) -> Head:
    """A head of the given ids; ids in `begin_suppressed` that are not speakable need no rule."""
    ids = np.array([*speakable, *languages], np.int64)
    begin = np.flatnonzero(np.isin(ids[: len(speakable)], list(begin_suppressed)))
    return Head(ids, len(speakable), begin, with_probability)
