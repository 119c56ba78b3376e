from typing import Any

import numpy as np
import pytest

from as2d.session.seconds import in_seconds


@pytest.mark.parametrize("number", [3, 3.0, np.float32(3), np.float64(3), np.int64(3)])
def test_any_number_will_do(number: Any) -> None:
    assert in_seconds(number) == 3.0
    assert type(in_seconds(number)) is float


@pytest.mark.parametrize(
    "other", [None, "3", True, np.bool_(True), 3j, [3], float("nan"), float("inf"), 10**400, 1e308]
)
def test_anything_else_is_none(other: Any) -> None:
    assert in_seconds(other) is None
