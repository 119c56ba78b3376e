"""Frozen records as JSON and back, checked against their types."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_json(record: Any) -> str:
    """A dataclass as one line."""
    return json.dumps(asdict(record), ensure_ascii=False, separators=(",", ":"))


def from_json(kind: type[T], line: str | bytes) -> T:
    """The dataclass of that kind in a line; ValueError when it holds something else. Unknown fields are ignored."""
    value: T = _read(kind, json.loads(line), kind.__name__)
    return value


def _read(kind: Any, value: Any, place: str) -> Any:
    if is_dataclass(kind):
        return _read_record(kind, value, place)
    origin = get_origin(kind)
    if origin is UnionType:
        return None if value is None else _read(_without_none(kind), value, place)
    if origin is tuple:
        return tuple(_read(get_args(kind)[0], item, place) for item in _checked(list, value, place))
    if origin is Mapping:
        return _read_mapping(kind, value, place)
    if origin is Literal:
        if value not in get_args(kind):
            raise ValueError(f"{place} is {value!r}")
        return value
    return _read_plain(kind, value, place)


def _read_record(kind: Any, value: Any, place: str) -> Any:
    found = _checked(dict, value, place)
    hints = _hints(kind)
    present = [field.name for field in fields(kind) if field.name in found]
    try:
        return kind(**{name: _read(hints[name], found[name], f"{place}.{name}") for name in present})
    except TypeError as error:
        raise ValueError(f"{place}: {error}") from error


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _read_mapping(kind: Any, value: Any, place: str) -> dict[Any, Any]:
    key_kind, value_kind = get_args(kind)
    return {
        key_kind(key): _read(value_kind, item, place) for key, item in _checked(dict, value, place).items()
    }


def _read_plain(kind: Any, value: Any, place: str) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    return _checked(kind, value, place)


def _without_none(kind: Any) -> Any:
    """X of `X | None`, the only unions that records have."""
    return next(part for part in get_args(kind) if part is not NoneType)


def _checked(kind: type[Any], value: Any, place: str) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{place} is {value!r}")
    return value
