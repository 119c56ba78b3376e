"""A drafter's text in its own tokens, written on from any beginning; what the cache holds of it is kept."""

from collections.abc import Sequence
from typing import NamedTuple

from as2d.drafting.repetition import LONGEST_LOOP, repeats
from as2d.models.contract import Decoder


class Step(NamedTuple):
    """One token that a drafter wrote, and how sure it is of it."""

    token: int
    probability: float


class Continuation:
    """Writes greedily, one token a step. The decoder is its own from here on.

    A text ends at an end id, which is never given out, after `limit` tokens, in a loop, or when the cache is full;
    then only `rewind` makes it go on.
    """

    def __init__(self, decoder: Decoder, end_ids: frozenset[int], limit: int) -> None:
        self._decoder = decoder
        self._end_ids = end_ids
        self._limit = limit
        self._opening = decoder.length
        self._cached: list[int] = []  # the root and what follows it
        self._waiting: tuple[int, ...] = (decoder.root,)  # to be forwarded next; none when the text has ended
        self.first: int | None = None
        """What it writes first when nothing is given; None as long as it has not been asked."""

    def rewind(self, tokens: Sequence[int]) -> None:
        """Go on from this text in place of what is written.

        The cache keeps the common beginning; what it lacks is forwarded in one call, with the next step.
        """
        wanted = (self._decoder.root, *tokens)
        kept = min(_common(self._cached, wanted), len(wanted) - 1)  # the last position's row is needed again
        self._decoder.truncate(self._opening + kept)
        del self._cached[kept:]
        self._waiting = wanted[kept:]

    def step(self) -> Step | None:
        """Write the next token; None where the text ends."""
        if not self._may_go_on():
            return None
        rows = self._decoder.forward(self._waiting)
        self._cached += self._waiting
        token, probability = rows.greedy[-1], rows.probability[-1]
        if len(self._cached) == 1:
            self.first = token
        if token in self._end_ids:
            self._waiting = ()
            return None
        self._waiting = (token,)
        return Step(token, probability)

    def _may_go_on(self) -> bool:
        written = len(self._cached) + len(self._waiting) - 1
        return (
            bool(self._waiting)
            and written < self._limit
            and self._decoder.length + len(self._waiting) <= self._decoder.capacity
            and not repeats((*self._cached, *self._waiting)[-LONGEST_LOOP:])
        )


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the longest common beginning."""
    for length, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return length
    return min(len(one), len(other))
