"""Which configurations there are, and what they are called."""

from math import nan
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.replay.configuration import Configuration


@pytest.mark.parametrize(
    ("configuration", "key"),
    [
        (Configuration(2), "target-only 2c"),
        (Configuration(2, ("self",), 0), "target-only 2c"),
        (Configuration(2, ("self",), 7, method="target-only"), "target-only 2c"),
        (Configuration(4, ("self",), 7, 2), "as2d self b7 4c2d"),
        (Configuration(2, ("self", "tiny"), 7, batch=8), "as2d self+tiny b7 2c1d batch 8"),
        (Configuration(2, ("self",), 11, floor=0.1), "as2d self b11 floor 0.1 2c1d"),
        (Configuration(2, ("self",), method="as2d-without-budget"), "as2d-without-budget self 2c1d"),
        (Configuration(2, ("self",), 4, 2, method="speculative"), "speculative self b4 2c2d"),
        (Configuration(2, ("self",), 0, method="speculative"), "target-only 2c"),
    ],
)
def test_keys(configuration: Configuration, key: str) -> None:
    assert configuration.key == key


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"budget": 25}, "use 0 to 24"),
        ({"budget": -1}, "use 0 to 24"),
        ({"threads": 0}, "use 1 or more"),
        ({"drafter_threads": 3}, "use 1 to 2"),
        ({"method": "specasr"}, "what specasr drafts depends on its drafts before"),
        ({"method": "lookahead"}, "replay as2d, "),
        ({"floor": -0.1}, "a floor is a probability"),
        ({"floor": 1.0}, "less than 1"),
        ({"floor": nan}, "less than 1"),
        ({"floor": 0.1, "method": "as2d-without-budget"}, "only as2d has a floor"),
        ({"method": "speculative", "drafters": ("self", "tiny")}, "has one drafter, not several"),
    ],
)
def test_refusals(fields: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        Configuration(**{"threads": 2, "drafters": ("self",), **fields})
