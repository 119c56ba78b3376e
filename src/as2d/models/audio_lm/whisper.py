"""Whisper on torch: the readable reference of the onnxruntime one, from the hub's format, on the CPU or CUDA."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import torch
from transformers import DynamicCache, EncoderDecoderCache

from as2d.engines.torch import CausalModel, Float32, KeyValues, TextState, empty, use_threads
from as2d.errors import InputError
from as2d.models.audio_lm.decoder import AudioLmDecoder
from as2d.models.audio_lm.instructions import require_length
from as2d.models.contract import Capabilities, Rows
from as2d.models.store import HubFiles
from as2d.models.whisper.formats import suppression_lists
from as2d.models.whisper.prompt import (
    end_ids,
    normalise_language,
    output_limit,
    prompt_tokens,
    refuse_what_whisper_lacks,
    suppression,
)
from as2d.models.whisper.rules import Head, make_head
from as2d.models.whisper.tokenizer import WhisperVocabulary
from as2d.records import SAMPLE_RATE, Instruction

_SMALLEST_MULTILINGUAL = 51_865
"""Tokens of the smallest multilingual vocabulary; English-only models have fewer."""


@dataclass(frozen=True, slots=True)
class WhisperHeard:
    """One window encoded: the encoder's states [1, A, D], and the keys and values of every layer for them.

    `model` is the identity of the one model that can read it.
    """

    model: str
    samples: int
    states: torch.Tensor
    cross: tuple[SimpleNamespace, ...]


class _Reader:
    """Whisper's decoder over one audio, as the engine takes a text model."""

    def __init__(self, decoder: Any, heard: WhisperHeard) -> None:
        self.device, self.dtype = decoder.device, decoder.dtype
        self.config = SimpleNamespace(max_position_embeddings=decoder.max_target_positions)
        self.get_input_embeddings = decoder.get_input_embeddings
        self._decoder = decoder
        self._heard = heard

    def __call__(
        self, *, inputs_embeds: torch.Tensor, position_ids: torch.Tensor, cache: KeyValues, **options: Any
    ) -> Any:
        return self._decoder(
            inputs_embeds=inputs_embeds,
            # Padding may lie behind the last position that there is.
            position_ids=position_ids.clamp(max=self._decoder.max_target_positions - 1),
            encoder_hidden_states=self._heard.states,
            cache=self._both(cache),
            **options,
        )

    def _both(self, own: KeyValues) -> Any:
        """The cache of text with that of audio, which is never written to."""
        both = EncoderDecoderCache(DynamicCache(), DynamicCache())
        both.self_attention_cache = own
        both.cross_attention_cache = SimpleNamespace(layers=self._heard.cross)
        both.is_updated = dict.fromkeys(range(len(self._heard.cross)), True)
        return both


class WhisperTextDecoder(AudioLmDecoder):
    """Implements `Decoder` with Whisper's rules of what may be said."""

    def __init__(self, state: TextState, prompt: Sequence[int], head: Head) -> None:
        super().__init__(state, prompt[-1])
        self._head = head
        self._begin = len(prompt) - 1

    def forward(self, tokens: Sequence[int]) -> Rows:
        """Append K positions; the greedy token and its probability at each. InputError when they do not fit."""
        first_row = self._begin - self.length
        return self._head.pick(self.scores(tokens), first_row)

    def scores(self, tokens: Sequence[int]) -> Float32:
        """Append K positions and return their logits [K, columns of the head] before any rule."""
        return self._state.logits(tokens)[:, self._head.ids]


class WhisperOnTorch:
    """Implements `AudioModel` for transformers' Whisper."""

    def __init__(self, files: HubFiles, model: Any, extractor: Any, identity: str) -> None:
        self.name = files.name
        self.identity = identity
        self.vocabulary = WhisperVocabulary(files.tokenizer, model.config.vocab_size)
        self.end_ids = end_ids(self.vocabulary)
        self._multilingual = model.config.vocab_size >= _SMALLEST_MULTILINGUAL
        self.capabilities = _capabilities(self.vocabulary, multilingual=self._multilingual)
        self._model = model
        self._extractor = extractor
        self._head = _head(files, self.vocabulary)

    @torch.inference_mode()
    def prepare(self, samples: Float32, threads: int) -> WhisperHeard:
        """Encode up to 30 s of mono audio at 16 kHz. InputError for more."""
        require_length(len(samples), self.capabilities, self.name)
        use_threads(threads)
        inner = self._model.model
        features = self._extractor(samples, sampling_rate=SAMPLE_RATE, return_tensors="pt")["input_features"]
        states = inner.encoder(features.to(inner.device, inner.dtype)).last_hidden_state
        cross = tuple(_attended(layer.encoder_attn, states) for layer in inner.decoder.layers)
        return WhisperHeard(self.identity, len(samples), states, cross)

    def detect_language(self, prepared: WhisperHeard, threads: int) -> str:
        """The most probable language; an English-only model knows one."""
        if not self._multilingual:
            return "en"
        start = self.vocabulary.sot
        decoder = self._opened(prepared, [start], threads)
        best = self._head.best_language(decoder.scores([start])[0])
        return next(code for code, token in self.vocabulary.languages.items() if token == best)

    def check(self, instruction: Instruction) -> Instruction:
        """The instruction with Whisper's language code. UnsupportedError for a language or task that it lacks."""
        refuse_what_whisper_lacks(instruction)
        spoken = instruction.language
        language = None if spoken is None else normalise_language(spoken)
        checked = replace(instruction, language=language)
        self._prompt(replace(checked, language=language or self.capabilities.languages[0]))
        return checked

    def open(self, prepared: WhisperHeard, instruction: Instruction, threads: int) -> WhisperTextDecoder:
        """A decoder after all but the last prompt token. UnsupportedError for what the model lacks."""
        return self._opened(prepared, self._prompt(instruction), threads)

    def output_limit(self, prepared: WhisperHeard, instruction: Instruction) -> int:
        """The most useful tokens, scaled to the window's duration."""
        context: int = self._model.config.max_target_positions
        return output_limit(prepared.samples / SAMPLE_RATE, len(self._prompt(instruction)), context)

    def _prompt(self, instruction: Instruction) -> tuple[int, ...]:
        return prompt_tokens(self.vocabulary, multilingual=self._multilingual, instruction=instruction)

    def _opened(self, prepared: WhisperHeard, prompt: Sequence[int], threads: int) -> WhisperTextDecoder:
        if not isinstance(prepared, WhisperHeard) or prepared.model != self.identity:
            raise InputError("the audio was prepared by another model; prepare it again with this one")
        text = CausalModel(_Reader(self._model.model.decoder, prepared), self._model.proj_out)
        state = empty(text, text.longest, threads)
        if len(prompt) > 1:
            state.prefill(text.embed(prompt[:-1]))
        return WhisperTextDecoder(state, prompt, self._head)


def _attended(attention: Any, states: torch.Tensor) -> SimpleNamespace:
    """The keys and values [1, heads, A, dim] of one layer's cross-attention."""
    shape = (1, -1, attention.num_heads, attention.head_dim)
    keys, values = attention.k_proj(states), attention.v_proj(states)
    return SimpleNamespace(
        keys=keys.view(shape).transpose(1, 2).contiguous(),
        values=values.view(shape).transpose(1, 2).contiguous(),
    )


def _capabilities(vocabulary: WhisperVocabulary, *, multilingual: bool) -> Capabilities:
    if not multilingual:
        return Capabilities(("en",), ("transcribe",), detects_language=False)
    languages = tuple(sorted(vocabulary.languages))
    return Capabilities(languages, ("transcribe", "translate"), detects_language=True, translates_to=("en",))


def _head(files: HubFiles, vocabulary: WhisperVocabulary) -> Head:
    suppressed = suppression(suppression_lists(files), vocabulary)
    speakable = [token for token in range(vocabulary.size) if token not in suppressed.always]
    languages = sorted(vocabulary.languages.values())
    return make_head(speakable, suppressed.begin, languages, with_probability=True)
