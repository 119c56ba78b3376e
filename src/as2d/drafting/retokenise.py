"""Drafter tokens to target tokens by way of the text, word by word, for pairs with different tokenizers."""

from codecs import getincrementaldecoder
from collections.abc import Sequence
from functools import lru_cache

from as2d.drafting.words import LONGEST_WORD, Word
from as2d.models.contract import Vocabulary

CACHED_WORDS = 4096
"""Words whose tokens are remembered."""

_utf8_decoder = getincrementaldecoder("utf-8")


class Retokeniser:
    """Collects a drafter's bytes and gives out completed words in the target's tokens.

    A word keeps its leading space, also the first of a text if the drafter said one, since tokenizers encode
    " word" and "word" differently. It is complete when the next token begins with a space, or after 8 drafter
    tokens as soon as no character is cut in two. Bytes that are not UTF-8 are dropped.

    Each token of a word has the *minimum* of the word's drafter probabilities: tokens do not correspond one
    to one, and a word is no surer than its least sure part.
    """

    def __init__(self, drafter: Vocabulary, target: Vocabulary) -> None:
        self._drafter = drafter
        self._encode = lru_cache(CACHED_WORDS)(target.encode)
        self._decoder = _utf8_decoder("ignore")
        self._half: tuple[int, ...] = ()
        self._text = ""
        self._count = 0
        self._probability = 1.0

    def add(self, token: int, probability: float) -> list[Word]:
        """Take the drafter's next token; give the words that are complete now."""
        data = self._drafter.token_bytes(token)
        complete = self.flush() if data.startswith(b" ") else []
        self._text += self._decoder.decode(data)
        self._count += 1
        self._probability = min(self._probability, probability)
        return complete + (self.flush() if self._is_long() else [])

    def peek(self) -> list[Word]:
        """What is left, less the bytes of an unfinished character."""
        tokens = self._encode(self._text) if self._text else ()
        if self._half and tokens[: len(self._half)] == self._half:
            tokens = tokens[len(self._half) :]
        return [Word(tokens, (self._probability,) * len(tokens))] if tokens else []

    def flush(self) -> list[Word]:
        """Give what is left, less the bytes of an unfinished character."""
        left = self.peek()
        self.restart(() if self._text else self._half)
        return left

    def restart(self, half: Sequence[int] = ()) -> None:
        """Forget what is begun. `half` are tokens of a character that the next word begins with."""
        self._decoder.reset()
        self._text, self._count, self._probability = "", 0, 1.0
        self._half = tuple(half)

    def _is_long(self) -> bool:
        inside_character = self._decoder.getstate()[0]
        return self._count >= LONGEST_WORD and not inside_character
