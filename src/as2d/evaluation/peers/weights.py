"""Whisper's weights under the names that other libraries give them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from as2d.models.whisper.checkpoint import (
    DecoderLayer,
    EncoderLayer,
    LayerNorm,
    Linear,
    WhisperWeights,
)

Float32 = NDArray[np.float32]
Named = Iterator[tuple[str, Float32]]


class AttentionNames(NamedTuple):
    """The parts of one attention."""

    query: str
    key: str
    value: str
    out: str


@dataclass(frozen=True, slots=True)
class Names:
    """What a library calls the parts of Whisper. `root` precedes everything; layers are numbered from 0."""

    root: str
    layers: str
    self_attention: str
    self_norm: str
    cross_attention: str
    cross_norm: str
    ffn_norm: str
    fc1: str
    fc2: str
    encoder_norm: str
    decoder_norm: str
    token_embedding: str
    position: str
    attention: AttentionNames


TRANSFORMERS = Names(
    root="model.",
    layers="layers",
    self_attention="self_attn",
    self_norm="self_attn_layer_norm",
    cross_attention="encoder_attn",
    cross_norm="encoder_attn_layer_norm",
    ffn_norm="final_layer_norm",
    fc1="fc1",
    fc2="fc2",
    encoder_norm="layer_norm",
    decoder_norm="layer_norm",
    token_embedding="embed_tokens.weight",
    position="embed_positions.weight",
    attention=AttentionNames("q_proj", "k_proj", "v_proj", "out_proj"),
)
OPENAI = Names(
    root="",
    layers="blocks",
    self_attention="attn",
    self_norm="attn_ln",
    cross_attention="cross_attn",
    cross_norm="cross_attn_ln",
    ffn_norm="mlp_ln",
    fc1="mlp.0",
    fc2="mlp.2",
    encoder_norm="ln_post",
    decoder_norm="ln",
    token_embedding="token_embedding.weight",
    position="positional_embedding",
    attention=AttentionNames("query", "key", "value", "out"),
)


def named_weights(weights: WhisperWeights, names: Names) -> dict[str, Float32]:
    """All weights by a library's names. Keys have no bias there: theirs is zero."""
    return dict(_encoder(weights, names)) | dict(_decoder(weights, names))


def named_tensors(torch: Any, weights: WhisperWeights, names: Names) -> dict[str, Any]:
    """The same as tensors of the given PyTorch."""
    return {name: torch.from_numpy(array) for name, array in named_weights(weights, names).items()}


def _encoder(weights: WhisperWeights, names: Names) -> Named:
    encoder, prefix = weights.encoder, f"{names.root}encoder"
    yield from _affine(f"{prefix}.conv1", encoder.conv1.weight, encoder.conv1.bias)
    yield from _affine(f"{prefix}.conv2", encoder.conv2.weight, encoder.conv2.bias)
    yield f"{prefix}.{names.position}", encoder.position
    for index, layer in enumerate(encoder.layers):
        yield from _layer(f"{prefix}.{names.layers}.{index}", layer, names)
    yield from _norm(f"{prefix}.{names.encoder_norm}", encoder.norm)


def _decoder(weights: WhisperWeights, names: Names) -> Named:
    decoder, prefix = weights.decoder, f"{names.root}decoder"
    yield f"{prefix}.{names.token_embedding}", decoder.token_embedding
    yield f"{prefix}.{names.position}", decoder.position
    for index, layer in enumerate(decoder.layers):
        yield from _layer(f"{prefix}.{names.layers}.{index}", layer, names)
        yield from _cross(f"{prefix}.{names.layers}.{index}", layer, names)
    yield from _norm(f"{prefix}.{names.decoder_norm}", decoder.norm)


def _layer(prefix: str, layer: EncoderLayer | DecoderLayer, names: Names) -> Named:
    """What encoder and decoder layers have in common."""
    yield from _norm(f"{prefix}.{names.self_norm}", layer.self_norm)
    query, key, value = _split(layer.qkv, 3)
    yield from _attention(
        f"{prefix}.{names.self_attention}", query, (key, value), layer.self_out, names.attention
    )
    yield from _norm(f"{prefix}.{names.ffn_norm}", layer.ffn_norm)
    yield from _affine(f"{prefix}.{names.fc1}", layer.fc1.weight, layer.fc1.bias)
    yield from _affine(f"{prefix}.{names.fc2}", layer.fc2.weight, layer.fc2.bias)


def _cross(prefix: str, layer: DecoderLayer, names: Names) -> Named:
    yield from _norm(f"{prefix}.{names.cross_norm}", layer.cross_norm)
    key, value = _split(layer.cross_kv, 2)
    yield from _attention(
        f"{prefix}.{names.cross_attention}", layer.cross_q, (key, value), layer.cross_out, names.attention
    )


def _attention(
    prefix: str, query: Linear, key_value: tuple[Linear, Linear], out: Linear, names: AttentionNames
) -> Named:
    key, value = key_value
    yield from _affine(f"{prefix}.{names.query}", query.weight, query.bias)
    yield f"{prefix}.{names.key}.weight", key.weight
    yield from _affine(f"{prefix}.{names.value}", value.weight, value.bias)
    yield from _affine(f"{prefix}.{names.out}", out.weight, out.bias)


def _split(linear: Linear, parts: int) -> list[Linear]:
    """The parts of a joint projection, [parts * d, d] to parts times [d, d]."""
    pairs = zip(np.split(linear.weight, parts), np.split(linear.bias, parts), strict=True)
    return [Linear(weight, bias) for weight, bias in pairs]


def _norm(prefix: str, norm: LayerNorm) -> Named:
    return _affine(prefix, norm.gamma, norm.beta)


def _affine(prefix: str, weight: Float32, bias: Float32) -> Named:
    yield f"{prefix}.weight", weight
    yield f"{prefix}.bias", bias
