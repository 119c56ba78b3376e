"""Qwen3-ASR: the context precedes the audio, the language follows it, and the model says it before the text."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

import torch

from as2d.engines.torch import Float32
from as2d.models.audio_lm.decoder import AudioLmDecoder
from as2d.models.audio_lm.family import Parts, Prompt
from as2d.models.audio_lm.languages import NAMES, code_of
from as2d.models.audio_lm.model import AudioLm, AudioLmPrepared
from as2d.models.audio_lm.vocabulary import HubVocabulary
from as2d.models.contract import Capabilities, Decoder
from as2d.records import SAMPLE_RATE, Instruction

LANGUAGES = (
    *("en", "zh", "yue", "ar", "de", "fr", "es", "pt", "id", "it", "ko", "ru", "th", "vi", "ja", "tr", "hi"),
    *("ms", "nl", "sv", "da", "fi", "pl", "cs", "fil", "fa", "el", "hu", "mk", "ro"),
)
"""Those of the model card."""
_MARK = "<asr_text>"
_LONGEST_HEADER = 16
"""Tokens after which a model that has not said the mark is taken to say none."""
_WINDOWS_AT_ONCE = 8
"""Windows of the encoder in one call, since it needs 12 MB for each second; they do not see each other."""
_LONGEST_S = 1200.0
"""The model card's limit of one request."""


class Header(NamedTuple):
    """What the model says before the text, its tokens and the language in it; none where it says none."""

    tokens: tuple[int, ...]
    language: str | None


@dataclass(frozen=True, slots=True)
class Qwen3AsrPrepared(AudioLmPrepared):
    """`headers` holds the header once it has been heard."""

    headers: list[Header] = field(default_factory=list)


class Qwen3AsrFamily:
    """Qwen3-ASR's prompts and ears."""

    def __init__(self, parts: Parts) -> None:
        self.capabilities = Capabilities(
            LANGUAGES, ("transcribe",), detects_language=True, context=True, longest_s=_LONGEST_S
        )
        self._parts = parts

    def prompt(self, instruction: Instruction) -> Prompt:
        """The context as the system's words, and a known language as the beginning of the answer."""
        rendered = self._parts.render(
            [
                {"role": "system", "content": [{"type": "text", "text": instruction.context}]},
                {"role": "user", "content": [{"type": "audio", "audio": ""}]},
            ]
        )
        prompt = Prompt.around(rendered, "<|audio_pad|>", "<|audio_end|>")
        if instruction.language is None:
            return prompt
        return prompt._replace(after=f"{prompt.after}language {NAMES[instruction.language]}{_MARK}")

    def listen(self, samples: Float32) -> torch.Tensor:
        """13 states a second of audio, computed in windows of 8 s."""
        parts = self._parts
        features = parts.extractor(
            [samples],
            sampling_rate=SAMPLE_RATE,
            padding=True,
            return_attention_mask=True,
            return_tensors="pt",
        )
        frames = features["input_features"].to(parts.text.device, parts.text.dtype)
        mask = features["attention_mask"].to(parts.text.device)
        length = _WINDOWS_AT_ONCE * parts.model.config.audio_config.n_window_infer
        pieces = zip(frames.split(length, dim=-1), mask.split(length, dim=-1), strict=True)
        return torch.cat([parts.model.get_audio_features(*piece).pooler_output for piece in pieces])


class Qwen3Asr(AudioLm):
    """Implements `AudioModel` and `ReadsContext`.

    A window whose language nobody knows has it detected, when it is opened at the latest: the header that the model
    says then is part of the prompt, so that what follows is text only.
    """

    def prefix(self, instruction: Instruction) -> str:
        """The context."""
        return instruction.context

    def prepare(self, samples: Float32, threads: int) -> Qwen3AsrPrepared:
        """Encode one window of mono audio at 16 kHz, for instructions without context."""
        return self.prepare_after("", samples, threads)

    def prepare_after(self, prefix: str, samples: Float32, threads: int) -> Qwen3AsrPrepared:
        """Encode one window of mono audio at 16 kHz, for instructions with that context."""
        self.vocabulary.require_plain(prefix)
        prepared = self._prepare(Instruction(context=prefix), samples, threads)
        return Qwen3AsrPrepared(prepared.model, prepared.samples, prepared.before, prepared.held)

    def detect_language(self, prepared: AudioLmPrepared, threads: int) -> str | None:
        """The language that the model says; None where it says none, or one that is not on its card."""
        language = self._header(prepared, threads).language
        return language if language in LANGUAGES else None

    def open(self, prepared: AudioLmPrepared, instruction: Instruction, threads: int) -> AudioLmDecoder:
        """As `AudioLm.open`; without a language the prompt holds the header that the model says by itself."""
        if instruction.language is None:
            self._header(prepared, threads)
        return super().open(prepared, instruction, threads)

    def _behind(self, prepared: AudioLmPrepared, instruction: Instruction) -> tuple[int, ...]:
        heard = next(iter(self._headers(prepared)), None)
        if heard is None or instruction.language not in (None, heard.language):
            return super()._behind(prepared, instruction)
        return (*super()._behind(prepared, replace(instruction, language=None)), *heard.tokens)

    def _header(self, prepared: AudioLmPrepared, threads: int) -> Header:
        headers = self._headers(prepared)
        if not headers:
            behind = self.vocabulary.encode_prompt(self._family.prompt(Instruction()).after)
            decoder = self._open(prepared, behind, _LONGEST_HEADER, threads)
            headers.append(hear_header(decoder, self.vocabulary, self.end_ids))
        return headers[0]

    def _headers(self, prepared: AudioLmPrepared) -> list[Header]:
        """Where the header is kept once it has been heard. InputError for what another model prepared."""
        self._require_own(prepared)
        return cast(Qwen3AsrPrepared, prepared).headers


def hear_header(decoder: Decoder, vocabulary: HubVocabulary, end_ids: frozenset[int]) -> Header:
    """Decode greedily up to the mark; no header where the text ends before it, or does not come to it."""
    mark = vocabulary.encode_prompt(_MARK)
    said: list[int] = []
    while len(said) < _LONGEST_HEADER:
        token = decoder.forward([said[-1] if said else decoder.root]).greedy[0]
        if token in end_ids:
            break
        said.append(token)
        if tuple(said[-len(mark) :]) == mark:
            name = vocabulary.decode(said[: -len(mark)]).strip().removeprefix("language ")
            return Header(tuple(said), code_of(name))
    return Header((), None)
