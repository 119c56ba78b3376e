"""Whisper as an `AudioModel`: load, prepare, detect the language, open a decoder."""

import hashlib
import json
from dataclasses import asdict, dataclass
from inspect import getsource
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from as2d.engines import graph_builder
from as2d.engines.graph_builder import Precision
from as2d.engines.onnxruntime import Graph
from as2d.models.cache import cache_key, cached
from as2d.models.contract import Capabilities
from as2d.models.store import ModelFiles, read_json, resolve, verify
from as2d.models.whisper import graph
from as2d.models.whisper.checkpoint import WhisperConfig, load_weights, read_checkpoint
from as2d.models.whisper.decoder import CrossAttention, DecoderGraph, WhisperDecoder
from as2d.models.whisper.graph import build_cross, build_decoder, build_encoder
from as2d.models.whisper.mel import log_mel
from as2d.models.whisper.prompt import end_ids, normalise_language, output_limit, prompt_tokens, suppression
from as2d.models.whisper.rules import Head, make_head
from as2d.models.whisper.tokenizer import WhisperVocabulary
from as2d.records import SAMPLE_RATE, Instruction

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class WhisperPrepared:
    """One window encoded: `states` [A, D] of the encoder and the cross-attention of every decoder layer."""

    samples: int
    states: Float32
    cross: CrossAttention


class WhisperModel:
    """Implements `AudioModel` for a Whisper checkpoint on onnxruntime."""

    def __init__(
        self,
        files: ModelFiles,
        config: WhisperConfig,
        vocabulary: WhisperVocabulary,
        encoder_folder: Path,
        decoder: DecoderGraph,
    ) -> None:
        self.name = files.name
        self.identity = decoder.graph.path.parent.name
        self.config = config
        self.vocabulary = vocabulary
        self.end_ids = end_ids(vocabulary)
        self.capabilities = _capabilities(config, vocabulary)
        self._encoder = Graph(encoder_folder / "encoder.onnx")
        self._cross = Graph(encoder_folder / "cross.onnx")
        self._decoder = decoder

    def prepare(self, samples: Float32, threads: int) -> WhisperPrepared:
        """Encode up to 30 s of mono audio at 16 kHz on that many cores."""
        states = self.encode(samples, threads)
        return WhisperPrepared(len(samples), states, self.attend(states, threads))

    def encode(self, samples: Float32, threads: int) -> Float32:
        """The encoder's states [A, D] for mono audio at 16 kHz."""
        mel = log_mel(samples, self.config.n_mels, 2 * self.config.audio_ctx)
        (states,) = self._encoder.run(threads, {"mel": mel[None]})
        return states.reshape(states.shape[1:])

    def attend(self, states: Float32, threads: int) -> CrossAttention:
        """Cross-attention keys and values of the encoder's states [A, D]."""
        arrays = self._cross.run(threads, {"states": states[None]})
        return CrossAttention(tuple(arrays[0::2]), tuple(arrays[1::2]))

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
        language = normalise_language(instruction.language) if instruction.language else None
        checked = Instruction(instruction.task, language)
        self._prompt(Instruction(instruction.task, language or self.capabilities.languages[0]))
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


def load_whisper(name_or_folder: str | PathLike[str], precision: Precision = "int8") -> WhisperModel:
    """A Whisper target. The encoder computes in float32, the decoder's weights have the given precision.

    Graphs are built at the first load and kept in the cache folder. Raises ModelNotFoundError, ModelDamagedError or
    CacheError.
    """
    return load(name_or_folder, DecoderPlan(precision))


@dataclass(frozen=True, slots=True)
class DecoderPlan:
    """What a decoder is built for. A drafter's rows need not be invariant and its probabilities are read; its head
    may be cut to the first `head_size` ids of the vocabulary."""

    precision: Precision
    drafts: bool = False
    head_size: int | None = None


def load(name_or_folder: str | PathLike[str], plan: DecoderPlan) -> WhisperModel:
    """A Whisper model with a decoder built to plan; see `load_whisper`."""
    files = resolve(name_or_folder)
    encoder_key = cache_key("whisper-encoder", files.digest, _recipe())
    encoder_folder = cached(encoder_key, lambda folder: _build_encoder(files, folder))
    config = WhisperConfig(**read_json(encoder_folder / "sizes.json"))
    vocabulary = WhisperVocabulary(files.tokenizer, config.vocab)
    head = _head(files, vocabulary, plan)
    head_digest = hashlib.sha256(head.ids.tobytes()).hexdigest()
    key = cache_key("whisper-decoder", files.digest, plan.precision, head_digest, _recipe())
    folder = cached(key, lambda folder: _build_decoder(files, head, plan.precision, folder))
    decoder = DecoderGraph(
        graph=Graph(folder / "decoder.onnx"),
        layers=config.decoder_layers,
        heads=config.heads,
        text_ctx=config.text_ctx,
        head=head,
        even_rows=not plan.drafts,
    )
    return WhisperModel(files, config, vocabulary, encoder_folder, decoder)


def _recipe() -> str:
    """Digest of the code that builds graphs: a changed recipe never reads what an older one built."""
    source = "".join(map(getsource, (graph, graph_builder)))
    return hashlib.sha256(source.encode()).hexdigest()


def _build_encoder(files: ModelFiles, folder: Path) -> None:
    verify(files)
    weights = load_weights(read_checkpoint(files.model_bin))
    build_encoder(weights.encoder, folder / "encoder.onnx")
    build_cross(weights.decoder, folder / "cross.onnx")
    (folder / "sizes.json").write_text(json.dumps(asdict(weights.config)), encoding="utf-8")


def _build_decoder(files: ModelFiles, head: Head, precision: Precision, folder: Path) -> None:
    verify(files)
    weights = load_weights(read_checkpoint(files.model_bin))
    build_decoder(weights.decoder, head.ids, precision, folder / "decoder.onnx")


def _head(files: ModelFiles, vocabulary: WhisperVocabulary, plan: DecoderPlan) -> Head:
    suppressed = suppression(read_json(files.config), vocabulary)
    ends = end_ids(vocabulary)
    size = plan.head_size or vocabulary.size
    speakable = [i for i in range(vocabulary.size) if i not in suppressed.always and (i < size or i in ends)]
    languages = sorted(vocabulary.languages.values())
    return make_head(speakable, suppressed.begin, languages, with_probability=plan.drafts)


def _capabilities(config: WhisperConfig, vocabulary: WhisperVocabulary) -> Capabilities:
    if not config.multilingual:
        return Capabilities(languages=("en",), tasks=("transcribe",), detects_language=False)
    return Capabilities(
        tuple(sorted(vocabulary.languages)), ("transcribe", "translate"), detects_language=True
    )
