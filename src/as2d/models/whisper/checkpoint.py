"""Whisper weights from a CTranslate2 model.bin, as float32 arrays by role.

The file is little-endian: u32 version, string spec, u32 revision, u32 count, then `count` tensors of (string
name, u8 rank, u32 dims[rank], u8 dtype, u32 bytes, data), then a u32 count of aliases (string alias, string
target). A string is a u16 length that includes the closing NUL, then the bytes.
"""

import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError, ModelNotFoundError

Float32 = NDArray[np.float32]
T = TypeVar("T")

_BINARY_VERSION = 6
_MAX_RANK = 4
# uint16 holds the bits of bfloat16, which numpy lacks; CTranslate2 has no unsigned type.
_DTYPES = {0: "<f4", 1: "i1", 2: "<i2", 3: "<i4", 4: "<f2", 5: "<u2"}
_HEAD_DIM = 64
_FIRST_MULTILINGUAL_VOCAB = 51_865
_GELU = 3
_LAYER = re.compile(r"layer_\d+")


class _Reader:
    """A cursor over the file's bytes that never reads past their end."""

    def __init__(self, buffer: NDArray[np.uint8]) -> None:
        self._buffer = buffer.data
        self._position = 0

    @property
    def at_end(self) -> bool:
        return self._position == len(self._buffer)

    def take(self, count: int) -> memoryview:
        end = self._position + count
        if end > len(self._buffer):
            raise _damaged(f"it is cut short at byte {len(self._buffer)}")
        taken = self._buffer[self._position : end]
        self._position = end
        return taken

    def number(self, code: str) -> int:
        layout = f"<{code}"
        value: int = struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        return value

    def string(self) -> str:
        raw = bytes(self.take(self.number("H")))
        if not raw.endswith(b"\0"):
            raise _damaged("a name has no end")
        try:
            return raw[:-1].decode()
        except UnicodeDecodeError as error:
            raise _damaged("a name is not UTF-8") from error


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The tensors of a model.bin, as they are stored and without copies.

    Aliases are entries of `tensors` too, the same object as their target. A tensor of dtype uint16 holds
    bfloat16 bits.
    """

    spec: str
    revision: int
    tensors: Mapping[str, NDArray[Any]]

    def float32(self, name: str) -> Float32:
        """A contiguous float32 copy of the tensor `name`; integers are divided by their `<name>_scale`.

        Raises ModelDamagedError when it is missing, has no fitting scale or holds values that are not finite.
        """
        values = _float32(self._tensor(name), lambda: self._tensor(f"{name}_scale"))
        if not np.isfinite(values).all():
            raise _damaged(f"{name} holds values that are not finite")
        return values

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of the tensor `name`; ModelDamagedError when it is missing."""
        return self._tensor(name).shape

    def _tensor(self, name: str) -> NDArray[Any]:
        if name not in self.tensors:
            raise _damaged(f"it lacks {name}")
        return self.tensors[name]


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


def read_checkpoint(parts: Sequence[Path]) -> Checkpoint:
    """Read the model.bin that is the concatenation of `parts`; tensors are views of the bytes.

    Raises ModelNotFoundError when a part cannot be read, ModelDamagedError when the content is not a whole
    CTranslate2 model of binary version 6.
    """
    return _parse(_Reader(_concatenate(parts)))


def whisper_config(checkpoint: Checkpoint) -> WhisperConfig:
    """The sizes of a Whisper checkpoint, from its tensors' shapes.

    Raises ModelDamagedError when a tensor is missing or has another shape than the sizes ask for, and when
    the checkpoint needs a computation that as2d does not do.
    """
    if checkpoint.spec != "WhisperSpec":
        raise _damaged(f"it holds a {checkpoint.spec!r:.40}, no WhisperSpec")
    config = _sizes(checkpoint)
    _require_settings(checkpoint, config)
    for name, shape in _expected_shapes(config).items():
        if checkpoint.shape(name) != shape:
            raise _damaged(f"{name} has shape {checkpoint.shape(name)} instead of {shape}")
    return config


def load_weights(checkpoint: Checkpoint) -> WhisperWeights:
    """The checked weights by role; layers are converted one by one as they are asked for.

    Raises ModelDamagedError as `whisper_config` and `Checkpoint.float32` do.
    """
    config = whisper_config(checkpoint)
    return WhisperWeights(config, _encoder(checkpoint, config), _decoder(checkpoint, config))


def _damaged(what: str) -> ModelDamagedError:
    return ModelDamagedError(
        f"model.bin cannot be used: {what}; install the model again or convert it with CTranslate2 4"
    )


def _concatenate(parts: Sequence[Path]) -> NDArray[np.uint8]:
    try:
        sizes = [path.stat().st_size for path in parts]
        buffer = np.empty(sum(sizes), np.uint8)
        ends = np.cumsum(sizes)
        for path, size, end in zip(parts, sizes, ends, strict=True):
            _fill(buffer[end - size : end], path)
    except OSError as error:
        raise ModelNotFoundError(
            f"cannot read {error.filename} ({error.strerror}); install the model again"
        ) from error
    return buffer


def _fill(buffer: NDArray[np.uint8], path: Path) -> None:
    with path.open("rb") as file:
        if file.readinto(buffer.data) != len(buffer):
            raise _damaged(f"{path.name} became shorter while it was read")


def _parse(reader: _Reader) -> Checkpoint:
    version = reader.number("I")
    if version != _BINARY_VERSION:
        raise _damaged(f"it has binary version {version}, not {_BINARY_VERSION}")
    spec = reader.string()
    revision = reader.number("I")
    tensors: dict[str, NDArray[Any]] = {}
    for _ in range(reader.number("I")):
        _add(tensors, reader.string(), _parse_tensor(reader))
    for _ in range(reader.number("I")):
        alias, target = reader.string(), reader.string()
        if target not in tensors:
            raise _damaged(f"alias {alias!r:.80} has no target")
        _add(tensors, alias, tensors[target])
    if not reader.at_end:
        raise _damaged("bytes follow its end")
    return Checkpoint(spec, revision, MappingProxyType(tensors))


def _add(tensors: dict[str, NDArray[Any]], name: str, tensor: NDArray[Any]) -> None:
    if name in tensors:
        raise _damaged(f"it holds {name!r:.80} twice")
    tensors[name] = tensor


def _parse_tensor(reader: _Reader) -> NDArray[Any]:
    rank = reader.number("B")
    if rank > _MAX_RANK:
        raise _damaged(f"a tensor has rank {rank}")
    shape = tuple(reader.number("I") for _ in range(rank))
    code = reader.number("B")
    if code not in _DTYPES:
        raise _damaged(f"a tensor has the unknown type {code}")
    dtype = np.dtype(_DTYPES[code])
    size = reader.number("I")
    # Python integers do not overflow, so a huge shape fails here and never allocates.
    if size == 0 or size != math.prod(shape) * dtype.itemsize:
        raise _damaged(f"a tensor of shape {shape} has {size} bytes")
    return np.frombuffer(reader.take(size), dtype).reshape(shape)


def _float32(stored: NDArray[Any], scale: Callable[[], NDArray[Any]]) -> Float32:
    if stored.dtype == np.uint16:
        # bfloat16 is the upper half of a float32.
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if stored.dtype == np.int32:
        raise _damaged("a weight has the type int32")
    if stored.dtype.kind == "i":
        return _dequantised(stored, scale())
    # A signalling NaN warns here; values that are not finite are refused by the caller.
    with np.errstate(invalid="ignore"):
        return stored.astype(np.float32)


def _dequantised(stored: NDArray[Any], scale: NDArray[Any]) -> Float32:
    """Undo CTranslate2's round(weight * scale), with one scale for all or one for each output row."""
    if stored.ndim == 0 or scale.dtype != np.float32 or scale.size not in (1, stored.shape[0]):
        raise _damaged("an integer weight has a scale of another size")
    rows = scale.reshape(-1, *(1,) * (stored.ndim - 1))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weights: Float32 = np.divide(stored, rows, dtype=np.float32)
    return weights


def _sizes(checkpoint: Checkpoint) -> WhisperConfig:
    vocab, d_model = _shape(checkpoint, "decoder/embeddings/weight", 2)
    ffn, _ = _shape(checkpoint, "decoder/layer_0/ffn/linear_0/weight", 2)
    _, n_mels, _ = _shape(checkpoint, "encoder/conv1/weight", 3)
    audio_ctx, _ = _shape(checkpoint, "encoder/position_encodings/encodings", 2)
    text_ctx, _ = _shape(checkpoint, "decoder/position_encodings/encodings", 2)
    if d_model % _HEAD_DIM:
        raise _damaged(f"its width {d_model} is no multiple of {_HEAD_DIM}")
    return WhisperConfig(
        encoder_layers=_count_layers(checkpoint, "encoder"),
        decoder_layers=_count_layers(checkpoint, "decoder"),
        d_model=d_model,
        heads=d_model // _HEAD_DIM,
        ffn=ffn,
        vocab=vocab,
        n_mels=n_mels,
        audio_ctx=audio_ctx,
        text_ctx=text_ctx,
    )


def _shape(checkpoint: Checkpoint, name: str, rank: int) -> tuple[int, ...]:
    shape = checkpoint.shape(name)
    if len(shape) != rank:
        raise _damaged(f"{name} has rank {len(shape)} instead of {rank}")
    return shape


def _count_layers(checkpoint: Checkpoint, side: str) -> int:
    heads = {tuple(name.split("/")[:2]) for name in checkpoint.tensors}
    # Where a number is missing, the shape check names the tensors that lack.
    return sum(len(head) == 2 and head[0] == side and _LAYER.fullmatch(head[1]) is not None for head in heads)


def _require_settings(checkpoint: Checkpoint, config: WhisperConfig) -> None:
    """Refuse a checkpoint that asks for another computation than Whisper's."""
    settings = {"pre_norm": 1, "scale_embeddings": 0, "activation": _GELU, "num_heads": config.heads}
    for setting, wanted in settings.items():
        for name in (f"encoder/{setting}", f"decoder/{setting}"):
            if name in checkpoint.tensors and checkpoint.tensors[name].tolist() != wanted:
                raise _damaged(f"{name} is not {wanted}")
    embedding = checkpoint.tensors["decoder/embeddings/weight"]
    if checkpoint.tensors.get("decoder/projection/weight", embedding) is not embedding:
        raise _damaged("its output projection is not the token embedding")


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


def _encoder(checkpoint: Checkpoint, config: WhisperConfig) -> EncoderWeights:
    return EncoderWeights(
        conv1=_conv(checkpoint, "encoder/conv1"),
        conv2=_conv(checkpoint, "encoder/conv2"),
        position=checkpoint.float32("encoder/position_encodings/encodings"),
        layers=Layers(
            config.encoder_layers, lambda index: _encoder_layer(checkpoint, f"encoder/layer_{index}")
        ),
        norm=_norm(checkpoint, "encoder/layer_norm"),
    )


def _decoder(checkpoint: Checkpoint, config: WhisperConfig) -> DecoderWeights:
    return DecoderWeights(
        token_embedding=checkpoint.float32("decoder/embeddings/weight"),
        position=checkpoint.float32("decoder/position_encodings/encodings"),
        layers=Layers(
            config.decoder_layers, lambda index: _decoder_layer(checkpoint, f"decoder/layer_{index}")
        ),
        norm=_norm(checkpoint, "decoder/layer_norm"),
    )


def _encoder_layer(checkpoint: Checkpoint, prefix: str) -> EncoderLayer:
    return EncoderLayer(
        self_norm=_norm(checkpoint, f"{prefix}/self_attention/layer_norm"),
        qkv=_linear(checkpoint, f"{prefix}/self_attention/linear_0"),
        self_out=_linear(checkpoint, f"{prefix}/self_attention/linear_1"),
        ffn_norm=_norm(checkpoint, f"{prefix}/ffn/layer_norm"),
        fc1=_linear(checkpoint, f"{prefix}/ffn/linear_0"),
        fc2=_linear(checkpoint, f"{prefix}/ffn/linear_1"),
    )


def _decoder_layer(checkpoint: Checkpoint, prefix: str) -> DecoderLayer:
    return DecoderLayer(
        self_norm=_norm(checkpoint, f"{prefix}/self_attention/layer_norm"),
        qkv=_linear(checkpoint, f"{prefix}/self_attention/linear_0"),
        self_out=_linear(checkpoint, f"{prefix}/self_attention/linear_1"),
        cross_norm=_norm(checkpoint, f"{prefix}/attention/layer_norm"),
        cross_q=_linear(checkpoint, f"{prefix}/attention/linear_0"),
        cross_kv=_linear(checkpoint, f"{prefix}/attention/linear_1"),
        cross_out=_linear(checkpoint, f"{prefix}/attention/linear_2"),
        ffn_norm=_norm(checkpoint, f"{prefix}/ffn/layer_norm"),
        fc1=_linear(checkpoint, f"{prefix}/ffn/linear_0"),
        fc2=_linear(checkpoint, f"{prefix}/ffn/linear_1"),
    )


def _linear(checkpoint: Checkpoint, prefix: str) -> Linear:
    return Linear(checkpoint.float32(f"{prefix}/weight"), checkpoint.float32(f"{prefix}/bias"))


def _conv(checkpoint: Checkpoint, prefix: str) -> Conv:
    return Conv(checkpoint.float32(f"{prefix}/weight"), checkpoint.float32(f"{prefix}/bias"))


def _norm(checkpoint: Checkpoint, prefix: str) -> LayerNorm:
    return LayerNorm(checkpoint.float32(f"{prefix}/gamma"), checkpoint.float32(f"{prefix}/beta"))
