"""Contention, scaled."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.replay.costs import Contended

Make = Callable[..., Any]


@pytest.mark.parametrize(("factor", "slower"), [(0.0, 1.0), (0.5, 1.25), (1.0, 1.5), (2.0, 2.0)])
def test_what_is_lost_by_computing_at_once_is_scaled(flat_costs: Make, factor: float, slower: float) -> None:
    costs = Contended(flat_costs(verify=4.0, step=2.0, open=1.0, encode=10.0, slower=1.5), factor)
    assert costs.verify_ms(1, 0, 10.0, 2, "one") == pytest.approx(4.0 * slower)
    assert costs.step_ms("one", 0, 10.0, beside=True) == pytest.approx(2.0 * slower)
    assert costs.open_ms("one", 10.0, 1, "big") == pytest.approx(1.0 * slower)
    assert costs.encode_ms("one", 10.0, 1, "big") == pytest.approx(10.0 * slower)


def test_what_is_alone_stays(flat_costs: Make) -> None:
    costs = Contended(flat_costs(slower=1.5, publish_ms=1.0, round_ms=2.0, align_ms=3.0), 2.0)
    assert costs.verify_ms(1, 0, 10.0, 2) == 4.0
    assert costs.step_ms("one", 0, 10.0, beside=False) == 2.0
    assert costs.open_ms("one", 10.0, 1) == 1.0
    assert costs.encode_ms("one", 10.0, 1) == 10.0
    assert (costs.publish_ms, costs.round_ms, costs.align_ms) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("factor", [-0.1, nan, inf])
def test_factors_that_mean_nothing(flat_costs: Make, factor: float) -> None:
    with pytest.raises(InputError, match="use 0"):
        Contended(flat_costs(), factor)
