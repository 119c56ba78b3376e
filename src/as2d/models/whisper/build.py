"""The parts of a Whisper model: files checked, graphs built once and cached."""

import hashlib
import json
from collections.abc import Container
from dataclasses import asdict, dataclass
from inspect import getsource
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from as2d.engines import graph_builder
from as2d.engines.graph_builder import Precision
from as2d.engines.onnxruntime import Graph
from as2d.models.cache import cache_key, cached
from as2d.models.memory import FLOAT32, ON_ONNXRUNTIME, require_memory
from as2d.models.store import Files, read_json, resolve, verify
from as2d.models.whisper import embedding, graph, low_rank
from as2d.models.whisper.checkpoint import WhisperConfig
from as2d.models.whisper.decoder import DecoderGraph
from as2d.models.whisper.embedding import Embedding, load_embedding, save_embedding
from as2d.models.whisper.formats import read_weights, require_whisper, suppression_lists
from as2d.models.whisper.graph import build_cross, build_decoder, build_encoder
from as2d.models.whisper.low_rank import approximate, calibration_digest, load_calibration
from as2d.models.whisper.prompt import end_ids, suppression
from as2d.models.whisper.rules import Head, make_head
from as2d.models.whisper.tokenizer import WhisperVocabulary


@dataclass(frozen=True, slots=True)
class DecoderPlan:
    """What a decoder is built for. A drafter's rows need not be invariant and its probabilities are read; its head
    may be cut to `head_ids` (which the end ids join by themselves), or be a low-rank one."""

    precision: Precision
    drafts: bool = False
    head_ids: Container[int] | None = None
    low_rank: bool = False


@dataclass(frozen=True, slots=True)
class WhisperParts:
    """What a Whisper model is made of. `identity` tells apart decoders that compute differently."""

    files: Files
    identity: str
    config: WhisperConfig
    vocabulary: WhisperVocabulary
    encoder: Graph
    cross: Graph
    decoder: DecoderGraph


class _Common(NamedTuple):
    """What all decoders of a model share."""

    files: Files
    config: WhisperConfig
    vocabulary: WhisperVocabulary
    encoder: Graph
    cross: Graph
    embedding: Embedding


def assemble(name_or_folder: str | PathLike[str], plan: DecoderPlan) -> WhisperParts:
    """The parts of a Whisper model with a decoder to plan.

    Graphs are built at the first call and kept in the cache folder. Raises ModelNotFoundError, ModelDamagedError,
    CacheError, NoMemoryError, or UnsupportedError when the model is no Whisper.
    """
    files = resolve(name_or_folder)
    require_whisper(files)
    require_memory(files, FLOAT32 if plan.precision == "fp32" else ON_ONNXRUNTIME)
    folder = cached(
        cache_key("whisper-common", files.digest, _recipe()), lambda new: _build_common(files, new)
    )
    config = WhisperConfig(**read_json(folder / "sizes.json"))
    common = _Common(
        files,
        config,
        WhisperVocabulary(files.tokenizer, config.vocab),
        Graph(folder / "encoder.onnx"),
        Graph(folder / "cross.onnx"),
        load_embedding(folder),
    )
    return _with_decoder(common, plan)


def derive(parts: WhisperParts, plan: DecoderPlan) -> WhisperParts:
    """The same model with another decoder; everything else is shared."""
    common = _Common(
        parts.files, parts.config, parts.vocabulary, parts.encoder, parts.cross, parts.decoder.embedding
    )
    return _with_decoder(common, plan)


def _with_decoder(common: _Common, plan: DecoderPlan) -> WhisperParts:
    files, config = common.files, common.config
    head = _head(common, plan)
    head_digest = hashlib.sha256(head.ids.tobytes()).hexdigest()
    kind = f"low-rank {calibration_digest(files.digest)}" if plan.low_rank else "whole"
    key = cache_key("whisper-decoder", files.digest, plan.precision, kind, head_digest, _recipe())
    folder = cached(key, lambda new: _build_decoder(files, head, plan, new))
    decoder = DecoderGraph(
        graph=Graph(folder / "decoder.onnx"),
        embedding=common.embedding,
        layers=config.decoder_layers,
        heads=config.heads,
        text_ctx=config.text_ctx,
        head=head,
        even_rows=not plan.drafts,
    )
    return WhisperParts(files, folder.name, config, common.vocabulary, common.encoder, common.cross, decoder)


def _recipe() -> str:
    """Digest of the code that builds graphs: a changed recipe never reads what an older one built."""
    source = "".join(map(getsource, (graph, graph_builder, embedding, low_rank)))
    return hashlib.sha256(source.encode()).hexdigest()


def _build_common(files: Files, folder: Path) -> None:
    verify(files)
    weights = read_weights(files)
    build_encoder(weights.encoder, folder / "encoder.onnx")
    build_cross(weights.decoder, folder / "cross.onnx")
    save_embedding(weights.decoder, folder)
    (folder / "sizes.json").write_text(json.dumps(asdict(weights.config)), encoding="utf-8")


def _build_decoder(files: Files, head: Head, plan: DecoderPlan, folder: Path) -> None:
    verify(files)
    weights = read_weights(files).decoder
    projection = weights.token_embedding[head.ids]
    if plan.low_rank:
        calibration = load_calibration(files.digest, projection.shape[1])
        build_decoder(weights, approximate(projection, calibration), plan.precision, folder / "decoder.onnx")
    else:
        build_decoder(weights, projection, plan.precision, folder / "decoder.onnx")


def _head(common: _Common, plan: DecoderPlan) -> Head:
    vocabulary = common.vocabulary
    suppressed = suppression(suppression_lists(common.files), vocabulary)
    ends = end_ids(vocabulary)
    kept = range(vocabulary.size) if plan.head_ids is None else plan.head_ids
    speakable = [i for i in range(vocabulary.size) if i not in suppressed.always and (i in kept or i in ends)]
    return make_head(
        speakable,
        suppressed.begin,
        sorted(vocabulary.languages.values()),
        with_probability=plan.drafts,
        projection=common.embedding.tokens if plan.low_rank else None,
    )
