"""Where figures that scatter are going. Pure."""

from collections.abc import Sequence
from itertools import combinations
from statistics import median

_FEWEST = 4


def slope(points: Sequence[tuple[float, float]]) -> float | None:
    """The median slope over all pairs of points (Theil and Sen), which a few outliers do not move.

    A point is where and how much. None of fewer than 4 points, which may be anything.
    """
    if len(points) < _FEWEST:
        return None
    slopes = [
        (value - before) / (place - start)
        for (start, before), (place, value) in combinations(points, 2)
        if place > start
    ]
    return median(slopes) if slopes else None
