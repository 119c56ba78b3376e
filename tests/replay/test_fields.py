from math import inf, nan
from typing import Any

import pytest

from as2d.records import Task
from as2d.replay import fields


def test_what_is_right_is_given_back() -> None:
    assert fields.text("") == ""
    assert fields.one_of("translate", Task) == "translate"
    assert fields.count(0) == 0
    assert fields.counts([3, 0]) == (3, 0)
    assert fields.amount(2) == 2.0
    assert isinstance(fields.amount(2), float)
    assert fields.amounts([0, 0.5]) == (0.0, 0.5)


@pytest.mark.parametrize("value", [None, 3, b"text", ["text"]])
def test_what_is_no_text(value: Any) -> None:
    with pytest.raises(TypeError, match="is no text"):
        fields.text(value)


@pytest.mark.parametrize("value", [None, "", "sing", 1])
def test_what_is_none_of_the_choices(value: Any) -> None:
    with pytest.raises(ValueError, match="is none of transcribe, translate"):
        fields.one_of(value, Task)


@pytest.mark.parametrize("value", [None, -1, 1.0, True, "1"])
def test_what_is_no_count(value: Any) -> None:
    with pytest.raises(ValueError, match="is no count"):
        fields.count(value)
    with pytest.raises(ValueError, match="is no count"):
        fields.counts([1, value])


@pytest.mark.parametrize("value", [None, -0.1, nan, inf, True, "1"])
def test_what_is_no_amount(value: Any) -> None:
    with pytest.raises(ValueError, match="is no amount"):
        fields.amount(value)
    with pytest.raises(ValueError, match="is no amount"):
        fields.amounts([1, value])
