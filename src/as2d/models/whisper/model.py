"""Whisper as an `AudioModel`: load, prepare, detect the language, open a decoder."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from as2d.errors import InputError
from as2d.models.contract import Capabilities
from as2d.models.whisper.build import DecoderPlan, WhisperParts, assemble
from as2d.models.whisper.checkpoint import WhisperConfig
from as2d.models.whisper.decoder import CrossAttention, WhisperDecoder
from as2d.models.whisper.graph import HEAD_DIM
from as2d.models.whisper.mel import log_mel
from as2d.models.whisper.prompt import (
    end_ids,
    normalise_language,
    output_limit,
    prompt_tokens,
    refuse_what_whisper_lacks,
)
from as2d.models.whisper.tokenizer import WhisperVocabulary
from as2d.records import SAMPLE_RATE, Instruction

Float32 = NDArray[np.float32]

TargetPrecision = Literal["int8", "fp32"]
"""Of a target's decoder weights; with fewer bits it would say other words."""


@dataclass(frozen=True, slots=True)
class WhisperPrepared:
    """One window encoded: `states` [A, D] of the encoder and the cross-attention of every decoder layer."""

    samples: int
    states: Float32
    cross: CrossAttention


class WhisperModel:
    """Implements `AudioModel` for a Whisper checkpoint on onnxruntime."""

    def __init__(self, parts: WhisperParts) -> None:
        self.parts = parts
        self.name = parts.files.name
        self.identity = parts.identity
        self.config = parts.config
        self.vocabulary = parts.vocabulary
        self.end_ids = end_ids(parts.vocabulary)
        self.capabilities = _capabilities(parts.config, parts.vocabulary)
        self._encoder = parts.encoder
        self._cross = parts.cross
        self._decoder = parts.decoder

    def prepare(self, samples: Float32, threads: int) -> WhisperPrepared:
        """Encode up to 30 s of mono audio at 16 kHz on that many cores."""
        states = self.encode(samples, threads, self.config.audio_ctx)
        return WhisperPrepared(len(samples), states, self.attend(states, threads))

    def encode(self, samples: Float32, threads: int, positions: int) -> Float32:
        """The encoder's states [positions, D] of mono audio at 16 kHz, padded to 20 ms a position."""
        mel = log_mel(samples, self.config.n_mels, 2 * positions)
        states = np.empty((positions, self.config.d_model), np.float32)
        self._encoder.run(threads, {"mel": mel[None]}, {"states": states[None]})
        return states

    def attend(self, states: Float32, threads: int) -> CrossAttention:
        """Cross-attention keys and values of the encoder's states [A, D]."""
        layers, heads, length = range(self.config.decoder_layers), self.config.heads, len(states)
        keys = tuple(np.empty((heads, length, HEAD_DIM), np.float32) for _ in layers)
        values = tuple(np.empty((heads, HEAD_DIM + 1, length), np.float32) for _ in layers)
        outputs = {f"cross_k{layer}": keys[layer] for layer in layers}
        outputs |= {f"cross_v{layer}": values[layer] for layer in layers}
        self._cross.run(threads, {"states": states[None]}, outputs)
        return CrossAttention(keys, values)

    def pack(self, prepared: WhisperPrepared) -> dict[str, NDArray[np.generic]]:
        """The encoder's states; cross-attention takes little time and much room."""
        return {"states": prepared.states}

    def unpack(
        self, arrays: Mapping[str, NDArray[np.generic]], samples: int, threads: int
    ) -> WhisperPrepared:
        """What `pack` was given. InputError for states of another size."""
        states = arrays.get("states")
        width = self.config.d_model
        if states is None or states.dtype != np.float32 or states.ndim != 2 or states.shape[1] != width:
            raise InputError(f"there are no encoder states of {self.name}; prepare the audio again")
        whole = np.ascontiguousarray(states, np.float32)
        return WhisperPrepared(samples, whole, self.attend(whole, threads))

    def detect_language(self, prepared: WhisperPrepared, threads: int) -> str:
        """The most probable language; an English-only model knows one."""
        if not self.config.multilingual:
            return "en"
        start = self.vocabulary.sot
        decoder = WhisperDecoder(self._decoder, prepared.cross, [start], threads)
        best = self._decoder.head.best_language(decoder.scores([start])[0])
        return next(code for code, token in self.vocabulary.languages.items() if token == best)

    def check(self, instruction: Instruction) -> Instruction:
        """The instruction with Whisper's language code. UnsupportedError for a language or task that it lacks."""
        refuse_what_whisper_lacks(instruction)
        spoken = instruction.language
        language = None if spoken is None else normalise_language(spoken)
        checked = replace(instruction, language=language)
        self._prompt(replace(checked, language=language or self.capabilities.languages[0]))
        return checked

    def open(self, prepared: WhisperPrepared, instruction: Instruction, threads: int) -> WhisperDecoder:
        """A decoder after all but the last prompt token. UnsupportedError for what the model lacks."""
        return WhisperDecoder(self._decoder, prepared.cross, self._prompt(instruction), threads)

    def output_limit(self, prepared: WhisperPrepared, instruction: Instruction) -> int:
        """The most useful tokens, scaled to the window's duration."""
        prompt = self._prompt(instruction)
        return output_limit(prepared.samples / SAMPLE_RATE, len(prompt), self.config.text_ctx)

    def _prompt(self, instruction: Instruction) -> tuple[int, ...]:
        return prompt_tokens(self.vocabulary, multilingual=self.config.multilingual, instruction=instruction)


def _capabilities(config: WhisperConfig, vocabulary: WhisperVocabulary) -> Capabilities:
    if not config.multilingual:
        return Capabilities(languages=("en",), tasks=("transcribe",), detects_language=False)
    return Capabilities(
        tuple(sorted(vocabulary.languages)),
        ("transcribe", "translate"),
        detects_language=True,
        translates_to=("en",),
    )


def load_whisper(name_or_folder: str | PathLike[str], precision: TargetPrecision = "int8") -> WhisperModel:
    """A Whisper target. The encoder computes in float32, the decoder's weights have the given precision.

    Graphs are built at the first load and kept in the cache folder. Raises ModelNotFoundError, ModelDamagedError,
    CacheError or NoMemoryError.
    """
    return WhisperModel(assemble(name_or_folder, DecoderPlan(precision)))
