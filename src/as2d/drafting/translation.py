"""Between a drafter's tokens and the target's: the same, or by way of the text."""

from codecs import getincrementaldecoder
from collections.abc import Sequence
from typing import NamedTuple

from as2d.drafting.retokenise import Retokeniser
from as2d.drafting.words import SameVocabulary, Words
from as2d.models.contract import Vocabulary

_utf8_decoder = getincrementaldecoder("utf-8")


class Given(NamedTuple):
    """A text to write on from: in the drafter's tokens, and the target tokens behind it that end inside a character."""

    tokens: tuple[int, ...]
    half: tuple[int, ...] = ()


class Translation:
    """How a drafter's tokens become a target's, and back."""

    def __init__(self, drafter: Vocabulary, target: Vocabulary) -> None:
        self._drafter = drafter
        self._target = target
        self._same = drafter == target

    def given(self, committed: Sequence[int], first: int | None) -> Given:
        """The target's text for the drafter. `first` is what the drafter itself begins with, if that is known.

        Models differ in whether a text begins with a space, and a drafter writes on best from what looks like its own.
        """
        if self._same:
            return Given(tuple(committed))
        pieces = [self._target.token_bytes(token) for token in committed]
        whole = _whole_characters(pieces)
        text = b"".join(pieces[:whole]).decode(errors="replace")
        if text and first is not None:
            begins = " " if self._drafter.token_bytes(first).startswith(b" ") else ""
            text = begins + text.removeprefix(" ")
        return Given(self._drafter.encode(text), tuple(committed[whole:]))

    def words(self) -> Words:
        """What groups the drafter's tokens to words of the target."""
        return SameVocabulary(self._target) if self._same else Retokeniser(self._drafter, self._target)


def _whole_characters(pieces: Sequence[bytes]) -> int:
    """Tokens before the one in which an unfinished last character begins; all of them, if it is finished."""
    decoder = _utf8_decoder("replace")
    decoder.decode(b"".join(pieces))
    unfinished, whole = len(decoder.getstate()[0]), len(pieces)
    while unfinished > 0:
        whole -= 1
        unfinished -= len(pieces[whole])
    return whole
