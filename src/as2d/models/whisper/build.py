"""The parts of a Whisper model: files checked, graphs built once and cached."""

import hashlib
import json
from dataclasses import asdict, dataclass
from inspect import getsource
from os import PathLike
from pathlib import Path

from as2d.engines import graph_builder
from as2d.engines.graph_builder import Precision
from as2d.engines.onnxruntime import Graph
from as2d.models.cache import cache_key, cached
from as2d.models.store import ModelFiles, read_json, resolve, verify
from as2d.models.whisper import embedding, graph
from as2d.models.whisper.checkpoint import WhisperConfig, load_weights, read_checkpoint
from as2d.models.whisper.decoder import DecoderGraph
from as2d.models.whisper.embedding import load_embedding, save_embedding
from as2d.models.whisper.graph import build_cross, build_decoder, build_encoder
from as2d.models.whisper.prompt import end_ids, suppression
from as2d.models.whisper.rules import Head, make_head
from as2d.models.whisper.tokenizer import WhisperVocabulary


@dataclass(frozen=True, slots=True)
class DecoderPlan:
    """What a decoder is built for. A drafter's rows need not be invariant and its probabilities are read; its head
    may be cut to the first `head_size` ids of the vocabulary."""

    precision: Precision
    drafts: bool = False
    head_size: int | None = None


@dataclass(frozen=True, slots=True)
class WhisperParts:
    """What a Whisper model is made of. `identity` tells apart decoders that compute differently."""

    name: str
    identity: str
    config: WhisperConfig
    vocabulary: WhisperVocabulary
    encoder: Graph
    cross: Graph
    decoder: DecoderGraph


def assemble(name_or_folder: str | PathLike[str], plan: DecoderPlan) -> WhisperParts:
    """The parts of a Whisper model with a decoder to plan.

    Graphs are built at the first call and kept in the cache folder. Raises ModelNotFoundError, ModelDamagedError or
    CacheError.
    """
    files = resolve(name_or_folder)
    common_key = cache_key("whisper-common", files.digest, _recipe())
    common_folder = cached(common_key, lambda folder: _build_common(files, folder))
    config = WhisperConfig(**read_json(common_folder / "sizes.json"))
    vocabulary = WhisperVocabulary(files.tokenizer, config.vocab)
    head = _head(files, vocabulary, plan)
    head_digest = hashlib.sha256(head.ids.tobytes()).hexdigest()
    key = cache_key("whisper-decoder", files.digest, plan.precision, head_digest, _recipe())
    folder = cached(key, lambda folder: _build_decoder(files, head, plan.precision, folder))
    decoder = DecoderGraph(
        graph=Graph(folder / "decoder.onnx"),
        embedding=load_embedding(common_folder),
        layers=config.decoder_layers,
        heads=config.heads,
        text_ctx=config.text_ctx,
        head=head,
        even_rows=not plan.drafts,
    )
    encoder, cross = Graph(common_folder / "encoder.onnx"), Graph(common_folder / "cross.onnx")
    return WhisperParts(files.name, folder.name, config, vocabulary, encoder, cross, decoder)


def _recipe() -> str:
    """Digest of the code that builds graphs: a changed recipe never reads what an older one built."""
    source = "".join(map(getsource, (graph, graph_builder, embedding)))
    return hashlib.sha256(source.encode()).hexdigest()


def _build_common(files: ModelFiles, folder: Path) -> None:
    verify(files)
    weights = load_weights(read_checkpoint(files.model_bin))
    build_encoder(weights.encoder, folder / "encoder.onnx")
    build_cross(weights.decoder, folder / "cross.onnx")
    save_embedding(weights.decoder, folder)
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
