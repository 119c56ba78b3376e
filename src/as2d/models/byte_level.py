"""What byte-level vocabularies share: GPT-2's spelling of bytes, and what follows from the bytes of each token."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType


def _byte_of_character() -> Mapping[str, int]:
    """Printable Latin-1 stands for itself, the rest for U+0100 and up in order."""
    printable = [byte for byte in range(256) if chr(byte).isprintable() and not chr(byte).isspace()]
    others = sorted(set(range(256)) - set(printable))
    spelled = {chr(byte): byte for byte in printable}
    return MappingProxyType(spelled | {chr(256 + index): byte for index, byte in enumerate(others)})


BYTE_OF_CHARACTER = _byte_of_character()
"""The byte that each character of a piece stands for."""


def spelled(piece: str) -> bytes:
    """The bytes of a piece. KeyError for a character that stands for none."""
    return bytes(BYTE_OF_CHARACTER[character] for character in piece)


def is_byte_level(pieces: Mapping[int, str]) -> bool:
    """Whether there are pieces, with ids from 0 up, and all of them are spelled bytes."""
    return bool(pieces) and min(pieces) >= 0 and set("".join(pieces.values())) <= BYTE_OF_CHARACTER.keys()


class ByteLevel(ABC):
    """The part of a `Vocabulary` that follows from its tokens' bytes.

    Two are equal when every id stands for the same, whatever the models' sizes.
    """

    size: int

    @abstractmethod
    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for a special token. InputError: unknown id."""

    @property
    @abstractmethod
    def content(self) -> tuple[object, ...]:
        """What every id stands for, to be compared."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByteLevel) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)

    @cached_property
    def weak_tokens(self) -> frozenset[int]:
        """Ids whose text has no letter or digit: punctuation, parts of a character, special tokens."""
        return frozenset(token for token in range(self.size) if not _has_word(self.token_bytes(token)))

    @cached_property
    def word_starts(self) -> frozenset[int]:
        """Ids whose text begins with a space."""
        return frozenset(token for token in range(self.size) if self.token_bytes(token).startswith(b" "))

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of `tokens`: none for special tokens, U+FFFD for incomplete UTF-8. InputError: unknown id."""
        return b"".join(map(self.token_bytes, tokens)).decode(errors="replace")


def _has_word(content: bytes) -> bool:
    return any(character.isalnum() for character in content.decode(errors="replace"))
