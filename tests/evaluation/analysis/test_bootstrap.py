import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.evaluation.analysis.bootstrap import Interval, Sums, interval


def ratio(sums: Sums) -> NDArray[np.float64]:
    return sums[:, 0] / sums[:, 1]


def test_the_figure_is_that_of_all_windows_and_lies_in_its_interval() -> None:
    columns = [(n, 2 * n + n % 3) for n in range(1, 40)]
    figure = interval(columns, ratio)
    assert figure is not None
    assert figure.value == pytest.approx(sum(a for a, _ in columns) / sum(b for _, b in columns))
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low < figure.value < figure.high


def test_an_interval_is_the_same_every_time() -> None:
    columns = np.random.default_rng(3).uniform(1, 2, size=(30, 2))
    assert interval(columns, ratio) == interval(columns, ratio)


def test_columns_are_drawn_in_pairs() -> None:
    windows = np.random.default_rng(5).lognormal(0, 1, size=(50, 1))
    figure = interval(np.hstack([3 * windows, windows]), ratio)
    assert figure is not None
    assert (figure.value, figure.low, figure.high) == pytest.approx((3, 3, 3))


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    draw = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        figure = interval(np.stack([draw.normal(10, 2, size=40), np.ones(40)], axis=1), ratio)
        assert figure is not None
        covered += (figure.low or 0) < 10 < (figure.high or 0)
    assert 0.88 < covered / 200 < 0.99


def test_more_windows_make_it_narrower() -> None:
    draw = np.random.default_rng(9)
    widths = []
    for windows in (20, 500):
        figure = interval(np.stack([draw.normal(10, 2, size=windows), np.ones(windows)], axis=1), ratio)
        assert figure is not None
        widths.append((figure.high or 0) - (figure.low or 0))
    assert widths[1] < widths[0] / 3


def test_what_is_undefined_is_none() -> None:
    assert interval([], ratio) is None
    assert interval([(1, 0)], ratio) is None
    sometimes = interval([(1, 0), (1, 1)], ratio)
    assert sometimes == Interval(2.0, None, None)
