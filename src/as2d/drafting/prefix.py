"""A drafter that writes on from a given text of the target."""

from collections.abc import Callable, Sequence

from as2d.drafting.continuation import Continuation
from as2d.drafting.translation import Translation
from as2d.drafting.words import LONGEST_WORD, Word
from as2d.models.contract import Decoder, Vocabulary

NOTHING = Word((), ())
"""An empty draft."""

Enough = Callable[[Word], bool]
"""Whether a draft, which is given in the target's tokens, is to end here."""


class PrefixDrafter:
    """Takes the target's tokens and gives out words in the target's tokens, whatever its own vocabulary is."""

    def __init__(
        self,
        decoder: Decoder,
        vocabulary: Vocabulary,
        target: Vocabulary,
        *,
        end_ids: frozenset[int],
        limit: int,
    ) -> None:
        """`decoder`, `vocabulary`, `end_ids` and `limit` (of a text, in tokens) are the drafter's."""
        self._text = Continuation(decoder, end_ids, limit)
        self._translation = Translation(vocabulary, target)
        self._words = self._translation.words()

    def rewind(self, committed: Sequence[int]) -> None:
        """Go on from the target's text; what the drafter's cache holds of it is not computed again."""
        given = self._translation.given(committed, self._text.first)
        self._text.rewind(given.tokens)
        self._words.restart(given.half)

    def step(self) -> list[Word] | None:
        """Write one token; the words that are complete now, or None where the drafter has no more to say."""
        step = self._text.step()
        return None if step is None else self._words.add(*step)

    def flush(self) -> list[Word]:
        """The word that is begun, as it is."""
        return self._words.flush()

    def draft(self, committed: Sequence[int], limit: int, enough: Enough) -> Word:
        """At most `limit` tokens that go on from the target's text; fewer when the drafter ends or has drafted enough.

        The last word need not be finished, since a target that takes turns with its drafter would have to wait for
        the rest. A drafter whose last 8 tokens brought no text is not heard any longer.
        """
        if limit < 1:
            return NOTHING
        self.rewind(committed)
        drafted, complete, silent = NOTHING, list[Word](), 0
        while silent < LONGEST_WORD and (words := self.step()) is not None:
            complete += words
            before, drafted = drafted, _joined([*complete, *self._words.peek()])
            if len(drafted.tokens) >= limit or enough(drafted):
                break
            silent = 0 if len(drafted.tokens) > len(before.tokens) else silent + 1
        return Word(drafted.tokens[:limit], drafted.probabilities[:limit])


def _joined(words: Sequence[Word]) -> Word:
    return Word(
        tuple(token for word in words for token in word.tokens),
        tuple(probability for word in words for probability in word.probabilities),
    )
