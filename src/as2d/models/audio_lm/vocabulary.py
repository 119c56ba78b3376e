"""The vocabulary of a model of the hub: byte-level pieces, and added tokens that prompts may name."""

import json
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from tokenizers import Tokenizer

from as2d.errors import InputError, ModelDamagedError
from as2d.models.byte_level import ByteLevel, is_byte_level, spelled


class HubVocabulary(ByteLevel):
    """The `Vocabulary` of one model. Two are equal when every id stands for the same, whatever the models' sizes.

    `content` is what its tokenizer.json says, `size` the number of its output rows, which may be padded. Raises
    ModelDamagedError when the content is malformed, not byte-level, or does not fit `size`.
    """

    def __init__(self, content: Mapping[str, Any], size: int) -> None:
        self.size = size
        self._pieces, self.added, self.special = _entries(content)
        if max(*self._pieces, *self.added.values()) >= size:
            raise ModelDamagedError(
                f"the tokenizer has more than the model's {size} tokens; take both from one model"
            )
        self._whole = _tokenizer(content)
        self._plain = _tokenizer({**content, "added_tokens": [], "post_processor": None})

    def encode(self, text: str) -> tuple[int, ...]:
        """Tokens of `text`. The name of a special token in it is text like any other."""
        return tuple(self._plain.encode(text, add_special_tokens=False).ids)

    def encode_prompt(self, text: str) -> tuple[int, ...]:
        """Tokens of `text`, in which the names of added tokens stand for them."""
        return tuple(self._whole.encode(text, add_special_tokens=False).ids)

    def require_plain(self, text: str) -> None:
        """InputError for words of the user that would be taken for a special token, and for what is no text."""
        if any(
            "\ud800" <= character <= "\udfff" for character in text
        ):  # bytes of another encoding, or half a pair
            raise InputError("the text holds what is no character; give it in UTF-8")
        if named := [name for name, token in self.added.items() if token in self.special and name in text]:
            raise InputError(
                f"the text names {named[0]}, which is a special token of the model; leave it out"
            )

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for a special token and for padding. InputError: unknown id."""
        if not 0 <= token < self.size:
            raise InputError(f"there is no token {token}; ids run from 0 to {self.size - 1}")
        if token in self._names:
            return b"" if token in self.special else self._names[token].encode()
        return spelled(self._pieces.get(token, ""))

    @cached_property
    def _names(self) -> Mapping[int, str]:
        return {token: name for name, token in self.added.items()}

    @cached_property
    def content(self) -> tuple[object, ...]:
        """The text tokens and the added ones."""
        return (frozenset(self._pieces.items()), frozenset(self.added.items()), self.special)


def _entries(content: Mapping[str, Any]) -> tuple[dict[int, str], Mapping[str, int], frozenset[int]]:
    """Spelling of text tokens by id, ids of added tokens by name, and those of them that stand for no text."""
    try:
        added = {str(token["content"]): int(token["id"]) for token in content["added_tokens"]}
        special = frozenset(int(token["id"]) for token in content["added_tokens"] if token["special"])
        vocab = content["model"]["vocab"].items()
        pieces = {int(token): str(piece) for piece, token in vocab if piece not in added}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelDamagedError(
            "the tokenizer is none of a byte-level model; install the model again"
        ) from error
    if not is_byte_level(pieces):
        raise ModelDamagedError("the tokenizer is no byte-level vocabulary; install the model again")
    return pieces, MappingProxyType(added), special


def _tokenizer(content: Mapping[str, Any]) -> Tokenizer:
    try:
        return Tokenizer.from_str(json.dumps(content, ensure_ascii=False))
    except Exception as error:  # the library raises plain Exception for every malformed file
        raise ModelDamagedError(f"the tokenizer is refused ({error}); install the model again") from error
