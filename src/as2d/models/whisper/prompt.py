"""Whisper's prompt and the rules around it: languages, suppressed tokens and the output limit. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from as2d.errors import InputError, ModelDamagedError, UnsupportedError
from as2d.models.whisper.tokenizer import WhisperVocabulary
from as2d.records import Instruction

LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        "en": "english",
        "zh": "chinese",
        "de": "german",
        "es": "spanish",
        "ru": "russian",
        "ko": "korean",
        "fr": "french",
        "ja": "japanese",
        "pt": "portuguese",
        "tr": "turkish",
        "pl": "polish",
        "ca": "catalan",
        "nl": "dutch",
        "ar": "arabic",
        "sv": "swedish",
        "it": "italian",
        "id": "indonesian",
        "hi": "hindi",
        "fi": "finnish",
        "vi": "vietnamese",
        "he": "hebrew",
        "uk": "ukrainian",
        "el": "greek",
        "ms": "malay",
        "cs": "czech",
        "ro": "romanian",
        "da": "danish",
        "hu": "hungarian",
        "ta": "tamil",
        "no": "norwegian",
        "th": "thai",
        "ur": "urdu",
        "hr": "croatian",
        "bg": "bulgarian",
        "lt": "lithuanian",
        "la": "latin",
        "mi": "maori",
        "ml": "malayalam",
        "cy": "welsh",
        "sk": "slovak",
        "te": "telugu",
        "fa": "persian",
        "lv": "latvian",
        "bn": "bengali",
        "sr": "serbian",
        "az": "azerbaijani",
        "sl": "slovenian",
        "kn": "kannada",
        "et": "estonian",
        "mk": "macedonian",
        "br": "breton",
        "eu": "basque",
        "is": "icelandic",
        "hy": "armenian",
        "ne": "nepali",
        "mn": "mongolian",
        "bs": "bosnian",
        "kk": "kazakh",
        "sq": "albanian",
        "sw": "swahili",
        "gl": "galician",
        "mr": "marathi",
        "pa": "punjabi",
        "si": "sinhala",
        "km": "khmer",
        "sn": "shona",
        "yo": "yoruba",
        "so": "somali",
        "af": "afrikaans",
        "oc": "occitan",
        "ka": "georgian",
        "be": "belarusian",
        "tg": "tajik",
        "sd": "sindhi",
        "gu": "gujarati",
        "am": "amharic",
        "yi": "yiddish",
        "lo": "lao",
        "uz": "uzbek",
        "fo": "faroese",
        "ht": "haitian creole",
        "ps": "pashto",
        "tk": "turkmen",
        "nn": "nynorsk",
        "mt": "maltese",
        "sa": "sanskrit",
        "lb": "luxembourgish",
        "my": "myanmar",
        "bo": "tibetan",
        "tl": "tagalog",
        "mg": "malagasy",
        "as": "assamese",
        "tt": "tatar",
        "haw": "hawaiian",
        "ln": "lingala",
        "ha": "hausa",
        "ba": "bashkir",
        "jw": "javanese",
        "su": "sundanese",
        "yue": "cantonese",
    }
)
"""English names by the code that Whisper gives a language; `yue` is in the large-v3 models only."""

_OTHER_NAMES = {
    "burmese": "my",
    "castilian": "es",
    "flemish": "nl",
    "haitian": "ht",
    "jv": "jw",
    "letzeburgesch": "lb",
    "mandarin": "zh",
    "moldavian": "ro",
    "moldovan": "ro",
    "panjabi": "pa",
    "pushto": "ps",
    "sinhalese": "si",
    "valencian": "ca",
}
_CODES = {name: code for code, name in LANGUAGES.items()} | _OTHER_NAMES | {code: code for code in LANGUAGES}


@dataclass(frozen=True, slots=True)
class Suppression:
    """Tokens that the model may never choose (`always`), and those it may not choose first (`begin`)."""

    always: frozenset[int]
    begin: frozenset[int]


def normalise_language(language: str) -> str:
    """Whisper's code for an ISO 639-1 code or an English language name, in any case.

    Raises UnsupportedError for anything else.
    """
    code = _CODES.get(language.strip().lower())
    if code is None:
        raise UnsupportedError(
            f"Whisper has no language {language!r}; use a code or name such as en, de, french or japanese"
        )
    return code


def refuse_what_whisper_lacks(instruction: Instruction) -> None:
    """UnsupportedError for a task, a language to translate to, or a context that no Whisper model can be asked for."""
    if instruction.task not in ("transcribe", "translate"):
        raise UnsupportedError(
            f"Whisper cannot {instruction.task}, only transcribe and translate; to ask about audio, name an audio "
            "language model such as Qwen/Qwen2.5-Omni-3B"
        )
    if instruction.to is not None and normalise_language(instruction.to) != "en":
        raise UnsupportedError(
            f"Whisper translates to English only, not to {instruction.to!r}; leave that out, or name an audio language "
            "model such as Qwen/Qwen2.5-Omni-3B"
        )
    if instruction.context:
        raise UnsupportedError(
            "Whisper takes no context here; leave it out, or name a model such as Qwen/Qwen3-ASR-0.6B"
        )


def prompt_tokens(
    vocabulary: WhisperVocabulary, *, multilingual: bool, instruction: Instruction
) -> tuple[int, ...]:
    """The tokens before the text: start, language and task (multilingual models only), no timestamps.

    Raises UnsupportedError for a language or task that the model lacks, InputError when a multilingual model
    is given no language: detect it first.
    """
    if not multilingual:
        _require_english(instruction)
        return (vocabulary.sot, vocabulary.notimestamps)
    task = vocabulary.translate if instruction.task == "translate" else vocabulary.transcribe
    return (vocabulary.sot, _language_token(vocabulary, instruction.language), task, vocabulary.notimestamps)


def suppression(config: Mapping[str, Any], vocabulary: WhisperVocabulary) -> Suppression:
    """The suppressed tokens of a model whose parsed config.json is `config`.

    Always: its `suppress_ids`, and every special token and timestamp except end-of-text. First: its
    `suppress_ids_begin`. Raises ModelDamagedError when a list is missing or holds other than token ids.
    """
    specials = vocabulary.special_tokens - end_ids(vocabulary)
    return Suppression(
        always=_ids(config, "suppress_ids", vocabulary.size) | specials,
        begin=_ids(config, "suppress_ids_begin", vocabulary.size),
    )


def output_limit(seconds: float, prompt_length: int, text_ctx: int) -> int:
    """The most tokens to decode for a window of that many seconds: 32 + 15 a second, rounded up, and what
    fits.

    Speech stays far below 15 tokens a second, so the limit only cuts a model that repeats itself. Raises
    InputError when the prompt leaves no room.
    """
    if prompt_length >= text_ctx:
        raise InputError(f"a prompt of {prompt_length} tokens fills the context of {text_ctx}; shorten it")
    return min(text_ctx - prompt_length, 32 + math.ceil(15 * seconds))


def end_ids(vocabulary: WhisperVocabulary) -> frozenset[int]:
    """The tokens that end the text."""
    return frozenset({vocabulary.eot})


def _require_english(instruction: Instruction) -> None:
    remedy = "use a multilingual model such as whisper-base"
    if instruction.task == "translate":
        raise UnsupportedError(f"an English-only model cannot translate; {remedy}")
    if instruction.language is not None and normalise_language(instruction.language) != "en":
        raise UnsupportedError(f"an English-only model has no language {instruction.language!r}; {remedy}")


def _language_token(vocabulary: WhisperVocabulary, language: str | None) -> int:
    if language is None:
        raise InputError("the language is not known yet; detect it first or name one")
    code = normalise_language(language)
    if code not in vocabulary.languages:
        raise UnsupportedError(
            f"this model has no language {language!r}; it has {', '.join(sorted(vocabulary.languages))}"
        )
    return vocabulary.languages[code]


def _ids(config: Mapping[str, Any], name: str, size: int) -> frozenset[int]:
    ids = config.get(name)
    if not isinstance(ids, list) or not all(type(token) is int and 0 <= token < size for token in ids):
        raise ModelDamagedError(f"config.json has no list of token ids {name}; install the model again")
    return frozenset(ids)
