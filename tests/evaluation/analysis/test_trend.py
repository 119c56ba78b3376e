import pytest

from as2d.evaluation.analysis.trend import slope


def test_an_outlier_does_not_move_the_slope() -> None:
    points = [(float(place), 10.0 + 2 * place) for place in range(9)]
    points[4] = (4.0, 500.0)
    assert slope(points) == pytest.approx(2)


def test_few_points_have_none() -> None:
    assert slope([(0, 1), (1, 2), (2, 3)]) is None
    assert slope([(1, 1)] * 5) is None
