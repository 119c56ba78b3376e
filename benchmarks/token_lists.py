"""Output heads cut to the tokens of one language, as a drafter's ingredient. Not in the product: see docs/drafters.md.

A list needs nothing but the vocabulary: all tokens without a letter (digits, punctuation, single bytes, parts of
characters), and those whose letters all belong to the language's script, in the order of the merges, up to a number.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from as2d.models.whisper.build import DecoderPlan, derive
from as2d.models.whisper.decoder import WhisperDecoder
from as2d.models.whisper.drafter import WhisperSelfDrafter
from as2d.models.whisper.model import WhisperModel, WhisperPrepared
from as2d.models.whisper.tokenizer import WhisperVocabulary
from as2d.records import Instruction

Scripts = tuple[str, ...]
"""First words of the Unicode names of a writing's letters."""

_LATIN: Scripts = ("LATIN",)
_SCRIPTS: Mapping[str, Scripts] = MappingProxyType(
    {
        "ar": ("ARABIC",),
        "el": ("GREEK",),
        "he": ("HEBREW",),
        "hi": ("DEVANAGARI",),
        "ja": ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"),
        "ko": ("HANGUL",),
        "ru": ("CYRILLIC",),
        "th": ("THAI",),
        "uk": ("CYRILLIC",),
        "zh": ("CJK",),
    }
)
_LATIN_LETTERED = 16_000
_OTHER_LETTERED = 8_000
# The Latin tokens of all languages lie mixed in the merges, so that a short list would be an English one.


def scripts_of(language: str) -> Scripts:
    """The writing of a language; Latin where it is not listed."""
    return _SCRIPTS.get(language, _LATIN)


def own_tokens(vocabulary: WhisperVocabulary, scripts: Scripts) -> frozenset[int]:
    """The ids that a language in these scripts needs."""
    limit = _LATIN_LETTERED if scripts == _LATIN else _OTHER_LETTERED
    own: set[int] = set()
    lettered = 0
    for token in range(vocabulary.eot):
        found = set(_letters(vocabulary, token))
        if not found or (found <= set(scripts) and lettered < limit):
            own.add(token)
            lettered += bool(found)
    return frozenset(own)


def _letters(vocabulary: WhisperVocabulary, token: int) -> Iterator[str]:
    """The script of each letter."""
    text = vocabulary.token_bytes(token).decode(errors="ignore")
    return (_script(character) for character in text if character.isalpha())


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


class OwnLanguageDrafter(WhisperSelfDrafter):
    """A self-drafter with a decoder for each writing, made when a window in it first comes."""

    def __init__(self, target: WhisperModel, plan: DecoderPlan, thinned: int) -> None:
        super().__init__(target.parts, thinned)
        self._plan = plan
        self._decoders: dict[Scripts, WhisperModel] = {}

    def for_language(self, language: str) -> WhisperModel:
        """The model whose head has that language's tokens alone."""
        scripts = scripts_of(language)
        if scripts not in self._decoders:
            own = own_tokens(self.vocabulary, scripts)
            plan = DecoderPlan(self._plan.precision, drafts=True, head_ids=own)
            self._decoders[scripts] = WhisperModel(derive(self.parts, plan))
        return self._decoders[scripts]

    def open(self, prepared: WhisperPrepared, instruction: Instruction, threads: int) -> WhisperDecoder:
        """A decoder that says the instruction's language."""
        return self.for_language(instruction.language or "en").open(prepared, instruction, threads)
