"""How many candidates are likely enough."""

from math import nan

import pytest

from as2d.decoding.floor import likely


@pytest.mark.parametrize(
    ("probabilities", "floor", "count"),
    [
        ((), 0.5, 0),
        ((0.4,), 0.5, 1),  # beside the root it costs nothing
        ((0.4, 0.9), 0.5, 1),
        ((0.9, 0.4, 0.9), 0.5, 1),
        ((0.9, 0.9, 0.9, 0.9), 0.7, 3),
        ((0.9, 0.9, 0.5, 0.9), 0.7, 3),  # two are likely, and the third costs nothing
        ((0.9, 0.9), 0.7, 2),  # there is no third
        ((0.5, 0.5), 0.25, 2),
        ((0.5, 0.5), 0.26, 1),
        ((0.1, 0.1, 0.1, 0.1), 0.0, 4),
        ((1.0,) * 24, 0.999, 24),
        ((nan, 0.1, 0.1, 0.1), 0.5, 4),  # who knows
    ],
)
def test_candidates_end_where_they_are_no_longer_likely(
    probabilities: tuple[float, ...], floor: float, count: int
) -> None:
    assert likely(probabilities, floor) == count
