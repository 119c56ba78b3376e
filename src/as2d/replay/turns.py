"""A drafter that takes turns with the target, as far as the traces know what it would have drafted."""

from collections.abc import Callable, Sequence

from as2d.drafting.prefix import Enough
from as2d.drafting.words import Word
from as2d.replay.trace import Continuation

Drafted = Callable[[int, int], None]
"""Told of each draft: the calls of the drafter, and the tokens that are committed before."""


class KnownDrafter:
    """Implements `SerialDrafter` by what was recorded.

    Behind the tokens that the target would say as well it drafts a wrong one, over and over: what it really drafts
    there is not known, and is rejected whatever it is.
    """

    def __init__(
        self,
        answer: tuple[int, ...],
        continuations: Sequence[Continuation],
        end_ids: frozenset[int],
        drafted: Drafted,
    ) -> None:
        self._answer = answer
        self._continuations = continuations
        self._end_ids = end_ids
        self._drafted = drafted

    def draft(self, committed: Sequence[int], limit: int, enough: Enough) -> Word:  # noqa: ARG002 (never enough)
        """At most `limit` tokens; fewer where it ends."""
        place = len(committed)
        if limit < 1:
            return Word((), ())
        agreed, ends = self._continuations[place]
        right = self._answer[place : place + min(agreed, limit)]
        if ends and agreed < limit:
            self._drafted(agreed + 1, place)  # the call that says the end
            return _word(right)
        self._drafted(limit, place)
        return _word(right + (self._wrong(place + agreed),) * (limit - len(right)))

    def _wrong(self, place: int) -> int:
        """A token that the target does not say there, and that may be proposed."""
        said = self._answer[place] if place < len(self._answer) else None
        return next(
            token for token in range(len(self._end_ids) + 2) if token not in self._end_ids and token != said
        )


def _word(tokens: tuple[int, ...]) -> Word:
    return Word(tokens, (1.0,) * len(tokens))
