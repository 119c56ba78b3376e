"""The drafters of docs/drafters.md, each with its ingredients."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from as2d.errors import MissingExtraError
from as2d.models.recognisers.contract import Recogniser
from as2d.models.recognisers.load import load_recogniser
from as2d.models.whisper.build import DecoderPlan, WhisperParts, assemble, derive
from as2d.models.whisper.drafter import HEAD_SIZE, THINNED, WhisperDrafter, WhisperSelfDrafter
from as2d.models.whisper.graph import HEAD_DIM, MAX_ROWS
from as2d.models.whisper.model import WhisperModel, WhisperPrepared
from benchmarks.token_lists import OwnLanguageDrafter

SMALL = "whisper-tiny.en"


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the table: the models that draft together, and whether they catch up."""

    name: str
    models: tuple[WhisperModel | Recogniser, ...]
    resync: bool = False


def load_variants(target: WhisperModel) -> list[Variant]:
    """All rows, from a plain drafter to the chosen one, and what it is combined with."""
    tiny = WhisperDrafter(assemble(SMALL, DecoderPlan("int8", drafts=True, head_ids=range(HEAD_SIZE))))
    tiny_low_rank = WhisperDrafter(assemble(SMALL, DecoderPlan("int8", drafts=True, low_rank=True)))
    chosen = _thinned(target, DecoderPlan("int4", drafts=True, low_rank=True), THINNED)
    return [
        Variant("tiny.en: 8-bit, head of 16,000 ids (default)", (tiny,)),
        Variant("tiny.en: 8-bit, low-rank head", (tiny_low_rank,)),
        *_own_decoders(target),
        Variant("self: 4-bit, low-rank head, 1 of 2 positions", (_with_plan(chosen, 2),)),
        Variant(f"self: 4-bit, low-rank head, 1 of {THINNED} positions (default)", (chosen,)),
        Variant("self (default) with resync", (chosen,), resync=True),
        Variant("tiny.en (default) with resync", (tiny,), resync=True),
        Variant("self and tiny.en together", (chosen, tiny)),
        *_recognisers(),
    ]


def _own_decoders(target: WhisperModel) -> list[Variant]:
    """The way from the target's own 8-bit decoder to the chosen drafter, one ingredient at a time."""
    whole, low_rank = DecoderPlan("int8", drafts=True), DecoderPlan("int8", drafts=True, low_rank=True)
    plain4, low_rank4 = DecoderPlan("int4", drafts=True), DecoderPlan("int4", drafts=True, low_rank=True)
    return [
        Variant("self: 8-bit, whole head, all positions", (_thinned(target, whole, 1),)),
        Variant("self: 8-bit, own-language head, all positions", (OwnLanguageDrafter(target, whole, 1),)),
        Variant("self: 8-bit, low-rank head, all positions", (_thinned(target, low_rank, 1),)),
        Variant("self: 8-bit, low-rank head, 1 of 2 positions", (_thinned(target, low_rank, 2),)),
        Variant("self: 4-bit, own-language head, 1 of 2 positions", (OwnLanguageDrafter(target, plain4, 2),)),
        Variant("self: 4-bit, low-rank head, all positions", (_thinned(target, low_rank4, 1),)),
    ]


def _thinned(target: WhisperModel, plan: DecoderPlan, thinned: int) -> WhisperSelfDrafter:
    return WhisperSelfDrafter(derive(target.parts, plan), thinned)


def _with_plan(drafter: WhisperSelfDrafter, thinned: int) -> WhisperSelfDrafter:
    """The same decoder on fewer positions."""
    return WhisperSelfDrafter(drafter.parts, thinned)


def _recognisers() -> list[Variant]:
    """What is installed of them."""
    with suppress(MissingExtraError):
        return [Variant("pocketsphinx", (load_recogniser("pocketsphinx"),))]
    return []


def extra_bytes(
    model: WhisperModel | Recogniser, prepared: object, language: str, target: WhisperModel
) -> int | None:
    """Files and arrays of a drafter beyond what the target has for a window; None where nobody can tell."""
    if not isinstance(model, WhisperModel) or not isinstance(prepared, WhisperPrepared):
        return None
    if isinstance(model, OwnLanguageDrafter):
        model = model.for_language(language)
    return own_bytes(model.parts, target.parts) + window_bytes(model.parts, prepared)


def own_bytes(parts: WhisperParts, shared: WhisperParts | None) -> int:
    """Sizes of the graphs' files and the embedding, but of those that are `shared`."""
    graphs = [parts.encoder, parts.cross, parts.decoder.graph]
    known = [shared.encoder, shared.cross, shared.decoder.graph] if shared else []
    files = [
        file
        for graph in graphs
        if graph not in known
        for file in graph.path.parent.glob(f"{graph.path.name}*")
    ]
    embedding = parts.decoder.embedding
    own = shared is None or embedding is not shared.decoder.embedding
    tables: Sequence[int] = [embedding.tokens.nbytes, embedding.positions.nbytes] if own else []
    return sum(file.stat().st_size for file in files) + sum(tables)


def window_bytes(parts: WhisperParts, prepared: WhisperPrepared) -> int:
    """The arrays of one window: cross-attention, the decoder's caches and its logits."""
    spec, cross = parts.decoder, prepared.cross
    caches = 2 * spec.layers * (spec.text_ctx + MAX_ROWS) * spec.heads * HEAD_DIM * 4
    logits = MAX_ROWS * len(spec.head.ids) * 4
    return sum(array.nbytes for array in (*cross.keys, *cross.values)) + caches + logits
