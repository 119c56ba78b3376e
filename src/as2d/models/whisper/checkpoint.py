"""Whisper weights as float32 arrays by role, from whatever format holds them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError

Float32 = NDArray[np.float32]
T = TypeVar("T")

_HEAD_DIM = 64
_FIRST_MULTILINGUAL_VOCAB = 51_865


class Tensors(Protocol):
    """The tensors of a Whisper checkpoint, whatever its format, under the names that CTranslate2 gives them."""

    def float32(self, name: str) -> Float32:
        """A tensor in float32; ModelDamagedError when it is missing or holds values that are not finite."""

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor; ModelDamagedError when it is missing."""

    def layer_count(self, side: str) -> int:
        """How many layers the "encoder" or "decoder" has."""

    def require_whisper(self) -> None:
        """ModelDamagedError where the checkpoint asks for another computation than Whisper's."""

    def damaged(self, what: str) -> ModelDamagedError:
        """The error that says what is wrong with the checkpoint."""


@dataclass(frozen=True, slots=True)
class WhisperConfig:
    """The sizes of a Whisper model. Contexts count positions; `ffn` is the width inside the feed-forward."""

    encoder_layers: int
    decoder_layers: int
    d_model: int
    heads: int
    ffn: int
    vocab: int
    n_mels: int
    audio_ctx: int
    text_ctx: int

    @property
    def multilingual(self) -> bool:
        """Whether the prompt names a language and a task; the English-only models have one token less."""
        return self.vocab >= _FIRST_MULTILINGUAL_VOCAB


@dataclass(frozen=True, slots=True)
class Linear:
    """y = x @ weight.T + bias; weight [out, in], bias [out]."""

    weight: Float32
    bias: Float32


@dataclass(frozen=True, slots=True)
class Conv:
    """A convolution over time; weight [out, in, 3], bias [out]."""

    weight: Float32
    bias: Float32


@dataclass(frozen=True, slots=True)
class LayerNorm:
    """Scale `gamma` [d] and offset `beta` [d] after normalisation (epsilon 1e-5)."""

    gamma: Float32
    beta: Float32


@dataclass(frozen=True, slots=True)
class EncoderLayer:
    """One encoder block. `qkv` is [3d, d]: query, key and value rows, unscaled; the key bias is zero."""

    self_norm: LayerNorm
    qkv: Linear
    self_out: Linear
    ffn_norm: LayerNorm
    fc1: Linear
    fc2: Linear


@dataclass(frozen=True, slots=True)
class DecoderLayer:
    """One decoder block. `qkv` [3d, d] and `cross_kv` [2d, d] are unscaled; the key biases are zero."""

    self_norm: LayerNorm
    qkv: Linear
    self_out: Linear
    cross_norm: LayerNorm
    cross_q: Linear
    cross_kv: Linear
    cross_out: Linear
    ffn_norm: LayerNorm
    fc1: Linear
    fc2: Linear


class Layers(Sequence[T]):
    """Layers that are read and converted to float32 each time one is asked for, and not kept."""

    def __init__(self, count: int, layer: Callable[[int], T]) -> None:
        self._indices = range(count)
        self._layer = layer

    def __len__(self) -> int:
        """How many layers there are."""
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> "Layers[T]": ...
    def __getitem__(self, index: int | slice) -> "T | Layers[T]":
        """One layer, or a lazy view of some; IndexError past the end."""
        if isinstance(index, slice):
            chosen = self._indices[index]
            return Layers(len(chosen), lambda i: self._layer(chosen[i]))
        return self._layer(self._indices[index])


@dataclass(frozen=True, slots=True)
class EncoderWeights:
    """The encoder: two convolutions with exact GELU, `position` [audio_ctx, d] added, blocks, a last norm."""

    conv1: Conv
    conv2: Conv
    position: Float32
    layers: Layers[EncoderLayer]
    norm: LayerNorm


@dataclass(frozen=True, slots=True)
class DecoderWeights:
    """The decoder: `token_embedding` [vocab, d] is the output projection too; `position` [text_ctx, d]."""

    token_embedding: Float32
    position: Float32
    layers: Layers[DecoderLayer]
    norm: LayerNorm


@dataclass(frozen=True, slots=True)
class WhisperWeights:
    """All weights of a Whisper model in float32. Queries and keys are unscaled: divide scores by sqrt(64)."""

    config: WhisperConfig
    encoder: EncoderWeights
    decoder: DecoderWeights


def whisper_config(tensors: Tensors) -> WhisperConfig:
    """The sizes of a Whisper checkpoint, from its tensors' shapes.

    Raises ModelDamagedError when a tensor is missing or has another shape than the sizes ask for, and when
    the checkpoint needs a computation that as2d does not do.
    """
    tensors.require_whisper()
    config = _sizes(tensors)
    for name, shape in _expected_shapes(config).items():
        if tensors.shape(name) != shape:
            raise tensors.damaged(f"{name} has shape {tensors.shape(name)} instead of {shape}")
    return config


def load_weights(tensors: Tensors) -> WhisperWeights:
    """The checked weights by role; layers are converted one by one as they are asked for.

    Raises ModelDamagedError as `whisper_config` and `Tensors.float32` do.
    """
    config = whisper_config(tensors)
    return WhisperWeights(config, _encoder(tensors, config), _decoder(tensors, config))


def _sizes(tensors: Tensors) -> WhisperConfig:
    vocab, d_model = _shape(tensors, "decoder/embeddings/weight", 2)
    ffn, _ = _shape(tensors, "decoder/layer_0/ffn/linear_0/weight", 2)
    _, n_mels, _ = _shape(tensors, "encoder/conv1/weight", 3)
    audio_ctx, _ = _shape(tensors, "encoder/position_encodings/encodings", 2)
    text_ctx, _ = _shape(tensors, "decoder/position_encodings/encodings", 2)
    if d_model % _HEAD_DIM:
        raise tensors.damaged(f"its width {d_model} is no multiple of {_HEAD_DIM}")
    return WhisperConfig(
        encoder_layers=tensors.layer_count("encoder"),
        decoder_layers=tensors.layer_count("decoder"),
        d_model=d_model,
        heads=d_model // _HEAD_DIM,
        ffn=ffn,
        vocab=vocab,
        n_mels=n_mels,
        audio_ctx=audio_ctx,
        text_ctx=text_ctx,
    )


def _shape(tensors: Tensors, name: str, rank: int) -> tuple[int, ...]:
    shape = tensors.shape(name)
    if len(shape) != rank:
        raise tensors.damaged(f"{name} has rank {len(shape)} instead of {rank}")
    return shape


def _expected_shapes(config: WhisperConfig) -> dict[str, tuple[int, ...]]:
    d = config.d_model
    shapes: dict[str, tuple[int, ...]] = {
        "encoder/conv1/weight": (d, config.n_mels, 3),
        "encoder/conv1/bias": (d,),
        "encoder/conv2/weight": (d, d, 3),
        "encoder/conv2/bias": (d,),
        "encoder/position_encodings/encodings": (config.audio_ctx, d),
        "decoder/position_encodings/encodings": (config.text_ctx, d),
    }
    for side, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        shapes |= _norm_shapes(f"{side}/layer_norm", d)
        for index in range(count):
            shapes |= _layer_shapes(f"{side}/layer_{index}", config, crossed=side == "decoder")
    return shapes


def _layer_shapes(prefix: str, config: WhisperConfig, *, crossed: bool) -> dict[str, tuple[int, ...]]:
    d, ffn = config.d_model, config.ffn
    linears = {
        "self_attention/linear_0": (3 * d, d),
        "self_attention/linear_1": (d, d),
        "ffn/linear_0": (ffn, d),
        "ffn/linear_1": (d, ffn),
    }
    if crossed:
        linears |= {
            "attention/linear_0": (d, d),
            "attention/linear_1": (2 * d, d),
            "attention/linear_2": (d, d),
        }
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (rows, columns) in linears.items():
        shapes[f"{prefix}/{name}/weight"] = (rows, columns)
        shapes[f"{prefix}/{name}/bias"] = (rows,)
        shapes |= _norm_shapes(f"{prefix}/{name.split('/')[0]}/layer_norm", d)
    return shapes


def _norm_shapes(prefix: str, d: int) -> dict[str, tuple[int, ...]]:
    return {f"{prefix}/gamma": (d,), f"{prefix}/beta": (d,)}


def _encoder(tensors: Tensors, config: WhisperConfig) -> EncoderWeights:
    return EncoderWeights(
        conv1=_conv(tensors, "encoder/conv1"),
        conv2=_conv(tensors, "encoder/conv2"),
        position=tensors.float32("encoder/position_encodings/encodings"),
        layers=Layers(config.encoder_layers, lambda index: _encoder_layer(tensors, f"encoder/layer_{index}")),
        norm=_norm(tensors, "encoder/layer_norm"),
    )


def _decoder(tensors: Tensors, config: WhisperConfig) -> DecoderWeights:
    return DecoderWeights(
        token_embedding=tensors.float32("decoder/embeddings/weight"),
        position=tensors.float32("decoder/position_encodings/encodings"),
        layers=Layers(config.decoder_layers, lambda index: _decoder_layer(tensors, f"decoder/layer_{index}")),
        norm=_norm(tensors, "decoder/layer_norm"),
    )


def _encoder_layer(tensors: Tensors, prefix: str) -> EncoderLayer:
    return EncoderLayer(
        self_norm=_norm(tensors, f"{prefix}/self_attention/layer_norm"),
        qkv=_linear(tensors, f"{prefix}/self_attention/linear_0"),
        self_out=_linear(tensors, f"{prefix}/self_attention/linear_1"),
        ffn_norm=_norm(tensors, f"{prefix}/ffn/layer_norm"),
        fc1=_linear(tensors, f"{prefix}/ffn/linear_0"),
        fc2=_linear(tensors, f"{prefix}/ffn/linear_1"),
    )


def _decoder_layer(tensors: Tensors, prefix: str) -> DecoderLayer:
    return DecoderLayer(
        self_norm=_norm(tensors, f"{prefix}/self_attention/layer_norm"),
        qkv=_linear(tensors, f"{prefix}/self_attention/linear_0"),
        self_out=_linear(tensors, f"{prefix}/self_attention/linear_1"),
        cross_norm=_norm(tensors, f"{prefix}/attention/layer_norm"),
        cross_q=_linear(tensors, f"{prefix}/attention/linear_0"),
        cross_kv=_linear(tensors, f"{prefix}/attention/linear_1"),
        cross_out=_linear(tensors, f"{prefix}/attention/linear_2"),
        ffn_norm=_norm(tensors, f"{prefix}/ffn/layer_norm"),
        fc1=_linear(tensors, f"{prefix}/ffn/linear_0"),
        fc2=_linear(tensors, f"{prefix}/ffn/linear_1"),
    )


def _linear(tensors: Tensors, prefix: str) -> Linear:
    return Linear(tensors.float32(f"{prefix}/weight"), tensors.float32(f"{prefix}/bias"))


def _conv(tensors: Tensors, prefix: str) -> Conv:
    return Conv(tensors.float32(f"{prefix}/weight"), tensors.float32(f"{prefix}/bias"))


def _norm(tensors: Tensors, prefix: str) -> LayerNorm:
    return LayerNorm(tensors.float32(f"{prefix}/gamma"), tensors.float32(f"{prefix}/beta"))
