"""How sure a figure is: percentile bootstrap over windows. Pure and seeded."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 2000
SEED = 0

Sums = NDArray[np.float64]
"""Sums over windows: [resamples, columns]."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and its 95% interval; a limit is None where resamples leave the figure undefined."""

    value: float
    low: float | None
    high: float | None


def interval(columns: ArrayLike, statistic: Callable[[Sums], NDArray[np.float64]]) -> Interval | None:
    """A statistic of sums over windows, with its interval; None where it is undefined.

    `columns` is [windows, columns]: what each window adds to each sum. All columns of a window are drawn together, so
    that figures which compare two contenders are paired. `statistic` maps sums [n, columns] to figures [n].
    """
    values = np.asarray(columns, dtype=np.float64)
    if not len(values):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(values.sum(axis=0, keepdims=True))[0])
        resampled = statistic(_draws(len(values)) @ values)
    if not np.isfinite(value):
        return None
    if not np.isfinite(resampled).all():
        return Interval(value, None, None)
    low, high = np.percentile(resampled, [2.5, 97.5])
    return Interval(value, float(low), float(high))


@lru_cache(maxsize=8)
def _draws(windows: int) -> NDArray[np.float64]:
    """How often each window is drawn in each resample: [resamples, windows]."""
    even = np.full(windows, 1 / windows)
    return np.random.default_rng(SEED).multinomial(windows, even, size=RESAMPLES).astype(np.float64)
