"""Safetensors files: their headers, checked, and their tensors, read one at a time as they are asked for.

A file is a little-endian u64 length, a JSON header of that length, and data. The header gives each tensor a `dtype`, a
`shape` and `data_offsets` (first byte, byte after the last) in the data.
"""

import json
import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError, ModelNotFoundError

Float32 = NDArray[np.float32]

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
ADAPTER = "adapter_model.safetensors"
"""What some models (Granite Speech) keep apart from the weights that it changes."""

_LENGTH = struct.Struct("<Q")
_MAX_HEADER = 100_000_000
# uint16 holds the bits of bfloat16, which numpy lacks.
_FLOATS = {"F16": "<f2", "BF16": "<u2", "F32": "<f4"}


class Entry(NamedTuple):
    """Where a tensor lies: its bytes in the file are those from `start` to before `stop`."""

    path: Path
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Safetensors:
    """The tensors of the files in `folder`, by name. Nothing is kept of what is read."""

    folder: Path
    entries: Mapping[str, Entry]

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor; ModelDamagedError when it is missing."""
        return self._entry(name).shape

    def float32(self, name: str) -> Float32:
        """A tensor in float32; ModelDamagedError when it is missing, of no float type, or not finite."""
        entry = self._entry(name)
        if entry.dtype not in _FLOATS:
            raise damaged(entry.path, f"{name} has the type {entry.dtype:.20}")
        values = widened(_read(entry, np.dtype(_FLOATS[entry.dtype])))
        if not np.isfinite(values).all():
            raise damaged(entry.path, f"{name} holds values that are not finite")
        return values

    def _entry(self, name: str) -> Entry:
        if name not in self.entries:
            raise damaged(self.folder, f"it lacks {name}")
        return self.entries[name]


def open_safetensors(folder: Path) -> Safetensors:
    """The weights in a folder of hub layout: one file, or all that its index names.

    Raises ModelNotFoundError when a file is missing, ModelDamagedError when one is not whole.
    """
    entries: dict[str, Entry] = {}
    for path in weight_files(folder):
        entries |= read_header(path)
    return Safetensors(folder, entries)


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The safetensors files that a folder of hub layout should hold; none where it has neither a file nor an index.

    ModelDamagedError when the index is malformed.
    """
    if (folder / SINGLE).is_file():
        return (folder / SINGLE,)
    index = folder / INDEX
    return tuple(folder / name for name in _indexed(index)) if index.is_file() else ()


def read_header(path: Path) -> dict[str, Entry]:
    """Where the tensors of one file lie. ModelDamagedError unless they fill the file from end to end."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = _header_length(path, file.read(_LENGTH.size), size)
            header = _parsed(path, file.read(length))
    except OSError as error:
        raise ModelNotFoundError(
            f"cannot read {path} ({error.strerror}); fetch the model again (`as2d models pull`)"
        ) from error
    start = _LENGTH.size + length
    entries = {name: _entry(path, name, value, start) for name, value in header.items()}
    _require_whole(path, entries.values(), start, size)
    return entries


def widened(stored: NDArray[Any]) -> Float32:
    """Stored floats in float32; uint16 are the bits of bfloat16, the upper half of a float32."""
    if stored.dtype == np.uint16:
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    # A signalling NaN warns here; values that are not finite are refused by the caller.
    with np.errstate(invalid="ignore"):
        return stored.astype(np.float32)


def damaged(path: Path, what: str) -> ModelDamagedError:
    """The error of a file or folder that is not what it should be."""
    return ModelDamagedError(f"{path} cannot be used: {what}; fetch the model again (`as2d models pull`)")


def _indexed(index: Path) -> list[str]:
    try:
        names = set(json.loads(index.read_bytes())["weight_map"].values())
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise damaged(index, "it is no index of safetensors files") from error
    # A name with a folder in it could lead anywhere.
    if not names or not all(isinstance(name, str) and Path(name).name == name for name in names):
        raise damaged(index, "it does not name the files beside it")
    return sorted(names)


def _header_length(path: Path, raw: bytes, size: int) -> int:
    if len(raw) < _LENGTH.size:
        raise damaged(path, "it is cut short")
    length: int = _LENGTH.unpack(raw)[0]
    if length > min(size - _LENGTH.size, _MAX_HEADER):
        raise damaged(path, "it is cut short or no safetensors file")
    return length


def _parsed(path: Path, raw: bytes) -> dict[str, Any]:
    try:
        header = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise damaged(path, "its header is not JSON") from error
    if not isinstance(header, dict):
        raise damaged(path, "its header is no JSON object")
    header.pop("__metadata__", None)
    return header


def _entry(path: Path, name: str, value: Any, data: int) -> Entry:
    match value:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [int(first), int(last)]} if all(
            type(size) is int and size >= 0 for size in shape
        ):
            entry = Entry(path, dtype, tuple(shape), data + first, data + last)
        case _:
            raise damaged(path, f"its header is malformed at {name!r:.80}")
    # Python integers do not overflow, so a huge shape fails here and never allocates.
    if dtype in _FLOATS and math.prod(shape) * np.dtype(_FLOATS[dtype]).itemsize != last - first:
        raise damaged(path, f"{name!r:.80} of shape {shape!s:.80} has {last - first} bytes")
    return entry


def _require_whole(path: Path, entries: Iterable[Entry], start: int, size: int) -> None:
    """Refuse tensors that overlap, leave a gap, or end elsewhere than the file."""
    end = start
    for entry in sorted(entries, key=lambda entry: (entry.start, entry.stop)):
        if entry.start != end or entry.stop < entry.start:
            raise damaged(path, "its tensors overlap or leave a gap")
        end = entry.stop
    if end != size:
        raise damaged(path, f"it has {size} bytes and its header says {end}: it is cut short or too long")


def _read(entry: Entry, dtype: np.dtype[Any]) -> NDArray[Any]:
    count = (entry.stop - entry.start) // dtype.itemsize
    try:
        values = np.fromfile(entry.path, dtype, count, offset=entry.start)
    except OSError as error:
        raise ModelNotFoundError(
            f"cannot read {entry.path} ({error.strerror}); fetch the model again (`as2d models pull`)"
        ) from error
    if len(values) != count:
        raise damaged(entry.path, "it became shorter while it was read")
    return values.reshape(entry.shape)
