"""Whisper as three ONNX graphs: the encoder, the cross-attention keys and values, and a K-token decoder.

Shapes: F mel frames, A audio positions (F / 2), K new tokens, T cached tokens, S = T + K, H heads of 64, D = 64·H.

The decoder computes every row as if it were alone, so that verifying K candidates gives bitwise what K single steps
give (docs/exactness.md says what each choice avoids):

* softmax is Exp over a MatMul sum, since onnxruntime's Softmax adds in an order that depends on the length;
* cross-attention keys are centred over the audio, which changes no softmax and makes its sum at least 1, so no row
  maximum is needed; values carry a row of ones that yields that sum;
* keys [H, A, 64] times queries, and values [H, 65, A] times scores, read the large side as it lies.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from as2d.engines.graph_builder import MICROSOFT, GraphBuilder, Precision
from as2d.models.whisper.checkpoint import (
    Conv,
    DecoderLayer,
    DecoderWeights,
    EncoderLayer,
    EncoderWeights,
    LayerNorm,
    Linear,
)
from as2d.models.whisper.low_rank import LowRank

Float32 = NDArray[np.float32]

HEAD_DIM = 64
# exp(80) is finite in float32; centred scores stay far below.
_MAX_SCORE = 80.0

MAX_ROWS = 16
"""Most rows of one decoder call. From 17 on, onnxruntime adds up cross-attention in another order."""


def build_encoder(weights: EncoderWeights, path: Path) -> None:
    """mel [1, n_mels, F] → states [1, A, D]; any even F up to twice the positions. Computed in float32."""
    g = GraphBuilder("encoder", path)
    d = weights.conv1.weight.shape[0]
    x = g.input("mel", [1, weights.conv1.weight.shape[1], "F"])
    x = _convolution(g, x, "conv1", weights.conv1, stride=1)
    x = _convolution(g, x, "conv2", weights.conv2, stride=2)
    x = g.op("Transpose", x, perm=[0, 2, 1])
    length = g.op("Shape", x, start=1, end=2)
    position = g.constant("position", weights.position)
    x = g.op("Add", x, g.op("Slice", position, g.integers(0), length, g.integers(0)))
    for index, layer in enumerate(weights.layers):
        x = _encoder_layer(g, x, f"layer{index}", layer)
    g.op("Identity", _norm(g, x, "norm", weights.norm), name="states")
    g.output("states", [1, "A", d])
    g.save()


def _convolution(g: GraphBuilder, x: str, name: str, conv: Conv, stride: int) -> str:
    weight, bias = g.constant(f"{name}.weight", conv.weight), g.constant(f"{name}.bias", conv.bias)
    y = g.op("Conv", x, weight, bias, kernel_shape=[3], pads=[1, 1], strides=[stride])
    return g.op("Gelu", y, domain=MICROSOFT)


def _encoder_layer(g: GraphBuilder, x: str, name: str, layer: EncoderLayer) -> str:
    d = layer.self_norm.gamma.size
    y = _norm(g, x, f"{name}.self_norm", layer.self_norm)
    parts = [f"{name}.{part}" for part in ("q", "k", "v")]
    g.ops(
        "Split", _linear(g, y, f"{name}.qkv", layer.qkv, "fp32"), g.integers(d, d, d), outputs=parts, axis=2
    )
    y = g.op("MultiHeadAttention", *parts, domain=MICROSOFT, num_heads=d // HEAD_DIM)
    x = g.op("Add", x, _linear(g, y, f"{name}.self_out", layer.self_out, "fp32"))
    y = _norm(g, x, f"{name}.ffn_norm", layer.ffn_norm)
    return g.op("Add", x, _feed_forward(g, y, name, layer.fc1, layer.fc2, "fp32"))


def build_cross(weights: DecoderWeights, path: Path) -> None:
    """states [1, A, D] → for each decoder layer centred keys [H, A, 64] and values with ones [H, 65, A]."""
    g = GraphBuilder("cross", path)
    d = weights.position.shape[1]
    heads = d // HEAD_DIM
    g.input("states", [1, "A", d])
    states = g.op("Reshape", "states", g.integers(-1, d))
    length = g.op("Shape", states, start=0, end=1)
    ones_shape = g.op("Concat", g.integers(heads, 1), length, axis=0)
    ones = g.op("Expand", g.constant("one", np.ones((1, 1, 1), np.float32)), ones_shape)
    for index, layer in enumerate(weights.layers):
        key, value = _split_rows(layer.cross_kv, 2)
        k = _heads_first(g, _linear(g, states, f"key{index}", key, "fp32"), heads, [1, 0, 2])
        v = _heads_first(g, _linear(g, states, f"value{index}", value, "fp32"), heads, [1, 2, 0])
        mean = g.op("ReduceMean", k, g.integers(1), keepdims=1)
        g.op("Sub", k, mean, name=f"cross_k{index}")
        g.op("Concat", v, ones, name=f"cross_v{index}", axis=1)
        g.output(f"cross_k{index}", [heads, "A", HEAD_DIM])
        g.output(f"cross_v{index}", [heads, HEAD_DIM + 1, "A"])
    g.save()


def _heads_first(g: GraphBuilder, x: str, heads: int, order: Sequence[int]) -> str:
    return g.op("Transpose", g.op("Reshape", x, g.integers(0, heads, HEAD_DIM)), perm=list(order))


def build_decoder(weights: DecoderWeights, head: Float32 | LowRank, precision: Precision, path: Path) -> None:
    """embedded [K, D], mask [K, S], caches → logits [K, n] and the K new keys and values.

    `embedded` is the sum of token and position embeddings. `mask` is added to the scores: 0 where row i may look, −inf
    past its own position. For each layer there are the inputs `past_k`, `past_v` [T, H, 64] and the arrays of
    `build_cross`, and the outputs `new_k`, `new_v` [K, H, 64]. `head` is the output projection [n, D]; a low-rank one
    gives approximate logits, and the final states `hidden` [K, D] to score the best of them truly.
    """
    g = GraphBuilder("decoder", path)
    d = weights.position.shape[1]
    x = g.input("embedded", ["K", d])
    mask = g.input("mask", ["K", "S"])
    ones = _column_of_ones(g, mask)
    update: str | None = None
    for index, layer in enumerate(weights.layers):
        x, update = _decoder_layer(g, x, update, index, layer, ones, precision)
    _, y = _add_and_norm(g, x, update, "norm", weights.norm)
    _output_head(g, y, head, precision)
    _declare_caches(g, len(weights.layers), d // HEAD_DIM)
    g.save()


def _output_head(g: GraphBuilder, y: str, head: Float32 | LowRank, precision: Precision) -> None:
    if isinstance(head, LowRank):
        g.op("Identity", y, name="hidden")
        g.output("hidden", ["K", len(head.basis)])
        y = g.op("MatMul", y, g.constant("head.basis", head.basis))
        logits, count = g.linear(y, "head", head.weight, head.bias, "int4"), len(head.weight)
    else:
        logits, count = g.linear(y, "head", head, None, precision), len(head)
    g.op("Identity", logits, name="logits")
    g.output("logits", ["K", count])


def _declare_caches(g: GraphBuilder, layers: int, heads: int) -> None:
    for index in range(layers):
        for kind in ("k", "v"):
            g.input(f"past_{kind}{index}", ["T", heads, HEAD_DIM])
            g.output(f"new_{kind}{index}", ["K", heads, HEAD_DIM])
        g.input(f"cross_k{index}", [heads, "A", HEAD_DIM])
        g.input(f"cross_v{index}", [heads, HEAD_DIM + 1, "A"])


def _column_of_ones(g: GraphBuilder, mask: str) -> str:
    """Ones [S, 1]: scores times it are row sums, added up in the same order at every S."""
    shape = g.op("Concat", g.op("Shape", mask, start=1, end=2), g.integers(1), axis=0)
    return g.op("Expand", g.constant("one", np.ones((1, 1), np.float32)), shape)


def _decoder_layer(
    g: GraphBuilder,
    x: str,
    update: str | None,
    index: int,
    layer: DecoderLayer,
    ones: str,
    precision: Precision,
) -> tuple[str, str]:
    """One block; the last residual update is left to be added by the norm that follows."""
    name = f"layer{index}"
    x, y = _add_and_norm(g, x, update, f"{name}.self_norm", layer.self_norm)
    y = _self_attention(g, y, index, layer, ones, precision)
    x, y = _add_and_norm(g, x, y, f"{name}.cross_norm", layer.cross_norm)
    y = _cross_attention(g, y, index, layer, precision)
    x, y = _add_and_norm(g, x, y, f"{name}.ffn_norm", layer.ffn_norm)
    return x, _feed_forward(g, y, name, layer.fc1, layer.fc2, precision)


def _self_attention(
    g: GraphBuilder, y: str, index: int, layer: DecoderLayer, ones: str, precision: Precision
) -> str:
    d = layer.self_norm.gamma.size
    heads = d // HEAD_DIM
    name = f"layer{index}"
    qkv = _linear(g, y, f"{name}.qkv", _with_scaled_queries(layer.qkv, d), precision)
    qkv = g.op("Reshape", qkv, g.integers(0, 3 * heads, HEAD_DIM))
    parts = [f"{name}.q", f"new_k{index}", f"new_v{index}"]
    g.ops("Split", qkv, g.integers(heads, heads, heads), outputs=parts, axis=1)
    k = g.op("Concat", f"past_k{index}", f"new_k{index}", axis=0)
    v = g.op("Concat", f"past_v{index}", f"new_v{index}", axis=0)
    scores = g.op("FusedMatMul", parts[0], k, domain=MICROSOFT, transBatchA=1, transBatchB=1, transB=1)
    scores = g.op("Add", scores, "mask")
    scores = g.op("Exp", g.op("Sub", scores, g.op("ReduceMax", scores, g.integers(-1), keepdims=1)))
    mixed = g.op("FusedMatMul", scores, v, domain=MICROSOFT, transBatchB=1)
    mixed = g.op("Div", mixed, g.op("MatMul", scores, ones))
    mixed = g.op("Reshape", g.op("Transpose", mixed, perm=[1, 0, 2]), g.integers(0, d))
    return _linear(g, mixed, f"{name}.self_out", layer.self_out, precision)


def _cross_attention(g: GraphBuilder, y: str, index: int, layer: DecoderLayer, precision: Precision) -> str:
    d = layer.cross_norm.gamma.size
    name = f"layer{index}"
    q = _linear(g, y, f"{name}.cross_q", _with_scaled_queries(layer.cross_q, d), precision)
    q = g.op("Reshape", q, g.integers(0, d // HEAD_DIM, HEAD_DIM))
    scores = g.op("FusedMatMul", f"cross_k{index}", q, domain=MICROSOFT, transBatchB=1, transB=1)
    scores = g.op("Exp", g.op("Clip", scores, "", g.constant("max_score", np.array(_MAX_SCORE, np.float32))))
    both = g.op("MatMul", f"cross_v{index}", scores)
    mixed, total = f"{name}.mixed", f"{name}.total"
    g.ops("Split", both, g.integers(HEAD_DIM, 1), outputs=[mixed, total], axis=1)
    y = g.op("Transpose", g.op("Div", mixed, total), perm=[2, 0, 1])
    return _linear(g, g.op("Reshape", y, g.integers(0, d)), f"{name}.cross_out", layer.cross_out, precision)


def _feed_forward(g: GraphBuilder, y: str, name: str, fc1: Linear, fc2: Linear, precision: Precision) -> str:
    y = g.op("Gelu", _linear(g, y, f"{name}.fc1", fc1, precision), domain=MICROSOFT)
    return _linear(g, y, f"{name}.fc2", fc2, precision)


def _linear(g: GraphBuilder, x: str, name: str, linear: Linear, precision: Precision) -> str:
    return g.linear(x, name, linear.weight, linear.bias, precision)


def _norm(g: GraphBuilder, x: str, name: str, norm: LayerNorm) -> str:
    return g.layer_norm(x, name, norm.gamma, norm.beta)


def _add_and_norm(g: GraphBuilder, x: str, update: str | None, name: str, norm: LayerNorm) -> tuple[str, str]:
    if update is None:
        return x, _norm(g, x, name, norm)
    return g.add_and_norm(x, update, name, norm.gamma, norm.beta)


def _with_scaled_queries(linear: Linear, queries: int) -> Linear:
    """The first `queries` output rows divided by sqrt(HEAD_DIM), a power of two and thus exact."""
    scale = np.ones((len(linear.bias), 1), np.float32)
    scale[:queries] = HEAD_DIM**-0.5
    return Linear(linear.weight * scale, linear.bias * scale[:, 0])


def _split_rows(linear: Linear, parts: int) -> list[Linear]:
    """A fused projection taken apart along its output."""
    weights, biases = np.split(linear.weight, parts), np.split(linear.bias, parts)
    return [Linear(weight, bias) for weight, bias in zip(weights, biases, strict=True)]
