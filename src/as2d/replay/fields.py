"""Checks the fields of JSON files. TypeError or ValueError where one is not what it must be; callers name the file."""

from math import isfinite
from typing import Any, get_args


def text(value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def one_of(value: Any, choices: Any) -> Any:
    """One of the values of a Literal."""
    if value not in get_args(choices):
        raise ValueError(f"{value!r} is none of {', '.join(get_args(choices))}")
    return value


def count(value: Any) -> int:
    """A whole number from 0 up; true and false are none."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def counts(values: Any) -> tuple[int, ...]:
    """Several counts."""
    return tuple(map(count, values))


def amount(value: Any) -> float:
    """A finite number from 0 up."""
    if type(value) not in (int, float) or not isfinite(value) or value < 0:
        raise ValueError(f"{value!r} is no amount")
    return float(value)


def amounts(values: Any) -> tuple[float, ...]:
    """Several amounts."""
    return tuple(map(amount, values))
