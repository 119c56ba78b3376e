"""What a producer gives out at once: completed words, in the tokens of the target."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from as2d.models.contract import Vocabulary

LONGEST_WORD = 8
"""Drafter tokens after which a word is given out though no space has come, as in languages without spaces."""


class Word(NamedTuple):
    """A completed word as the target's tokens, with a probability for each."""

    tokens: tuple[int, ...]
    probabilities: tuple[float, ...]


class Words(Protocol):
    """Groups a drafter's tokens to words. A word is complete when the next token begins with a space."""

    def add(self, token: int, probability: float) -> list[Word]:
        """Take the drafter's next token; give the words that are complete now."""

    def peek(self) -> list[Word]:
        """The word that is begun, if there is one, which stays begun."""

    def flush(self) -> list[Word]:
        """Give the word that is begun, as at the drafter's end-of-text."""

    def restart(self, half: Sequence[int] = ()) -> None:
        """Forget the word that is begun. The next one begins with the target tokens `half`, which are not given out."""


class SameVocabulary:
    """Words of a drafter that shares the target's tokens: they pass through unchanged."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._tokens: list[int] = []
        self._probabilities: list[float] = []

    def add(self, token: int, probability: float) -> list[Word]:
        """Take the next token; give the words that are complete now."""
        complete = self.flush() if self._vocabulary.token_bytes(token).startswith(b" ") else []
        self._tokens.append(token)
        self._probabilities.append(probability)
        return complete + (self.flush() if len(self._tokens) >= LONGEST_WORD else [])

    def peek(self) -> list[Word]:
        """The tokens since the last complete word."""
        return [Word(tuple(self._tokens), tuple(self._probabilities))] if self._tokens else []

    def flush(self) -> list[Word]:
        """Give the tokens that are left."""
        left = self.peek()
        self.restart()
        return left

    def restart(self, half: Sequence[int] = ()) -> None:  # noqa: ARG002 (the drafter can go on from a half itself)
        """Forget the tokens that are left."""
        self._tokens.clear()
        self._probabilities.clear()
