"""Seconds, as callers give them."""

from math import isfinite
from numbers import Real

from as2d.records import SAMPLE_RATE


def in_seconds(value: object) -> float | None:
    """The number, numpy's too; None for what is none, or is too large to be counted in samples."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if isfinite(seconds * SAMPLE_RATE) else None
