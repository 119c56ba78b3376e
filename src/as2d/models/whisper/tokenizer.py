"""Whisper's vocabulary: text to tokens and back, byte for byte, and the special tokens by their content."""

import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tokenizers import Tokenizer

from as2d.errors import InputError, ModelDamagedError
from as2d.models.byte_level import ByteLevel, is_byte_level, spelled
from as2d.models.store import read_json

_LANGUAGE = re.compile(r"<\|([a-z]{2,3})\|>")
_BYTES = 256
"""Ids below stand for one byte each; merges have the ids from here on, in their order."""
_NEEDED = ("<|startoftranscript|>", "<|endoftext|>", "<|translate|>", "<|transcribe|>", "<|notimestamps|>")


class WhisperVocabulary(ByteLevel):
    """The `Vocabulary` of one Whisper model.

    `path` is its tokenizer.json and `size` its number of output rows. Ids past `<|notimestamps|>` are
    timestamps, in the file or not. Raises ModelNotFoundError or ModelDamagedError when the file is missing,
    malformed or does not fit `size`.
    """

    def __init__(self, path: Path, size: int) -> None:
        content = read_json(path)
        self._specials, self._pieces = _entries(content, path)
        if missing := [name for name in _NEEDED if name not in self._specials]:
            raise ModelDamagedError(f"{path} lacks {', '.join(missing)}; install the model again")
        if max(*self._specials.values(), *self._pieces) >= size:
            raise ModelDamagedError(
                f"{path} has more than the model's {size} tokens; take both from one model"
            )
        self._tokenizer = _text_tokenizer(content, path)
        self.size = size

    @property
    def sot(self) -> int:
        """Id of `<|startoftranscript|>`."""
        return self._specials["<|startoftranscript|>"]

    @property
    def eot(self) -> int:
        """Id of `<|endoftext|>`."""
        return self._specials["<|endoftext|>"]

    @property
    def translate(self) -> int:
        """Id of `<|translate|>`."""
        return self._specials["<|translate|>"]

    @property
    def transcribe(self) -> int:
        """Id of `<|transcribe|>`."""
        return self._specials["<|transcribe|>"]

    @property
    def notimestamps(self) -> int:
        """Id of `<|notimestamps|>`, the last token before the timestamps."""
        return self._specials["<|notimestamps|>"]

    @cached_property
    def languages(self) -> Mapping[str, int]:
        """Language tokens by Whisper's language code; English-only models have and never use them."""
        matches = ((_LANGUAGE.fullmatch(name), token) for name, token in self._specials.items())
        return MappingProxyType({match[1]: token for match, token in matches if match})

    @cached_property
    def special_tokens(self) -> frozenset[int]:
        """Ids that stand for no text: special tokens and timestamps."""
        return frozenset(self._specials.values()) | frozenset(range(self.notimestamps + 1, self.size))

    def encode(self, text: str) -> tuple[int, ...]:
        """Tokens of `text`. The name of a special token in it is text like any other."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for a special token. InputError: unknown id."""
        if not 0 <= token < self.size:
            raise InputError(f"there is no token {token}; ids run from 0 to {self.size - 1}")
        return spelled(self._pieces.get(token, ""))

    @cached_property
    def content(self) -> tuple[object, ...]:
        """The text tokens and the special ones."""
        return frozenset(self._pieces.items()), frozenset(self._specials.items())


def _entries(content: Mapping[str, Any], path: Path) -> tuple[dict[str, int], dict[int, str]]:
    """Special tokens by content, and the spelling of text tokens by id."""
    try:
        specials = {str(token["content"]): int(token["id"]) for token in content["added_tokens"]}
        # Some files list <|endoftext|> in the vocabulary as well.
        pieces = {
            int(token): str(piece)
            for piece, token in content["model"]["vocab"].items()
            if piece not in specials
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelDamagedError(f"{path} is no tokenizer.json of Whisper; install the model again") from error
    if not is_byte_level(pieces):
        raise ModelDamagedError(f"{path} is no byte-level vocabulary; install the model again")
    return specials, pieces


def _text_tokenizer(content: Mapping[str, Any], path: Path) -> Tokenizer:
    """The tokenizer without its special tokens, so that no text can spell one."""
    plain = {**content, "added_tokens": [], "post_processor": None}
    try:
        plain["model"] = _with_first_merge(content["model"])
        return Tokenizer.from_str(json.dumps(plain, ensure_ascii=False))
    except Exception as error:  # the library raises plain Exception for every malformed file
        raise ModelDamagedError(
            f"{path} is refused by tokenizers ({error}); install the model again"
        ) from error


def _with_first_merge(model: Mapping[str, Any]) -> Mapping[str, Any]:
    """The byte-pair model with its first merge, which some converters take for a comment and lose.

    Without it no word is encoded as the model says it that begins with the first merged pair, " t" in Whisper.
    """
    pair = next(piece for piece, token in model["vocab"].items() if token == _BYTES)
    if len(pair) != 2 or any("".join(merge).replace(" ", "") == pair for merge in model["merges"]):
        return model
    textual = isinstance(next(iter(model["merges"]), ""), str)
    return {**model, "merges": [" ".join(pair) if textual else list(pair), *model["merges"]]}
