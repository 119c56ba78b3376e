"""What has been prepared, kept up to a bound in bytes; what was not used for the longest time goes first."""

from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterator
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class PreparedStore(Generic[K, V]):
    """Values by key, `bound` bytes of arrays at most. Any thread may use it."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._held = 0
        self._closed = False
        self._lock = Lock()

    @property
    def held(self) -> int:
        """Bytes held."""
        return self._held

    def get(self, key: K) -> V | None:
        """The value, if it is still here; it has then been used."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: K, value: V) -> None:
        """Keep a value instead of the one before, and drop what then is too much: itself if it alone is."""
        size = array_bytes(value)
        with self._lock:
            if self._closed:
                return
            self._drop(key)
            self._values[key] = value, size
            self._held += size
            while self._held > self._bound:
                self._drop(next(iter(self._values)))

    def __contains__(self, key: K) -> bool:
        """Whether the value is here; that does not use it."""
        return key in self._values

    def items(self) -> dict[K, V]:
        """All that is here; that does not use it."""
        with self._lock:
            return {key: value for key, (value, _) in self._values.items()}

    def discard(self, key: K) -> None:
        """Drop a value, if it is here."""
        with self._lock:
            self._drop(key)

    def close(self) -> None:
        """Drop all, and keep nothing from now on."""
        with self._lock:
            self._closed = True
            self._values.clear()
            self._held = 0

    def _drop(self, key: K) -> None:
        _, size = self._values.pop(key, (None, 0))
        self._held -= size


def array_bytes(value: object) -> int:
    """The bytes of all arrays that a value reaches through dataclasses, tuples, lists and dicts; each once."""
    return sum({id(array): array.nbytes for array in map(_whole, _arrays(value))}.values())


def _arrays(value: object) -> Iterator[Any]:
    """What has `nbytes`: arrays of numpy, and those of other engines."""
    if hasattr(value, "nbytes"):
        yield value
        return
    for part in _parts(value):
        yield from _arrays(part)


def _parts(value: object) -> Collection[object]:
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list | tuple) else ()


def _whole(array: Any) -> Any:
    """The array that holds the memory of a view."""
    base = getattr(array, "base", None)
    return _whole(base) if isinstance(base, np.ndarray) else array
