"""CTranslate2's model.bin that holds a Whisper.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError, ModelNotFoundError
from as2d.models.safetensors import widened

Float32 = NDArray[np.float32]

_BINARY_VERSION = 6
_MAX_RANK = 4
# uint16 holds the bits of bfloat16, which numpy lacks; CTranslate2 has no unsigned type.
_DTYPES = {0: "<f4", 1: "i1", 2: "<i2", 3: "<i4", 4: "<f2", 5: "<u2"}
_HEAD_DIM = 64
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
    """Implements `Tensors` for a model.bin: the tensors as they are stored, without copies.

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

    def layer_count(self, side: str) -> int:
        """How many layers the "encoder" or "decoder" has."""
        heads = {tuple(name.split("/")[:2]) for name in self.tensors}
        # Where a number is missing, the shape check names the tensors that lack.
        return sum(
            len(head) == 2 and head[0] == side and _LAYER.fullmatch(head[1]) is not None for head in heads
        )

    def require_whisper(self) -> None:
        """ModelDamagedError where the file holds another model or asks for another computation than Whisper's."""
        if self.spec != "WhisperSpec":
            raise _damaged(f"it holds a {self.spec!r:.40}, no WhisperSpec")
        embedding = self._tensor("decoder/embeddings/weight")
        heads = math.prod(embedding.shape[-1:]) // _HEAD_DIM
        settings = {"pre_norm": 1, "scale_embeddings": 0, "activation": _GELU, "num_heads": heads}
        for setting, wanted in settings.items():
            for name in (f"encoder/{setting}", f"decoder/{setting}"):
                if name in self.tensors and self.tensors[name].tolist() != wanted:
                    raise _damaged(f"{name} is not {wanted}")
        if self.tensors.get("decoder/projection/weight", embedding) is not embedding:
            raise _damaged("its output projection is not the token embedding")

    def damaged(self, what: str) -> ModelDamagedError:
        """The error that says what is wrong with the file."""
        return _damaged(what)

    def _tensor(self, name: str) -> NDArray[Any]:
        if name not in self.tensors:
            raise _damaged(f"it lacks {name}")
        return self.tensors[name]


def read_checkpoint(parts: Sequence[Path]) -> Checkpoint:
    """Read the model.bin that is the concatenation of `parts`; tensors are views of the bytes.

    Raises ModelNotFoundError when a part cannot be read, ModelDamagedError when the content is not a whole
    CTranslate2 model of binary version 6.
    """
    return _parse(_Reader(_concatenate(parts)))


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
    if stored.dtype == np.int32:
        raise _damaged("a weight has the type int32")
    return _dequantised(stored, scale()) if stored.dtype.kind == "i" else widened(stored)


def _dequantised(stored: NDArray[Any], scale: NDArray[Any]) -> Float32:
    """Undo CTranslate2's round(weight * scale), with one scale for all or one for each output row."""
    if stored.ndim == 0 or scale.dtype != np.float32 or scale.size not in (1, stored.shape[0]):
        raise _damaged("an integer weight has a scale of another size")
    rows = scale.reshape(-1, *(1,) * (stored.ndim - 1))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weights: Float32 = np.divide(stored, rows, dtype=np.float32)
    return weights
