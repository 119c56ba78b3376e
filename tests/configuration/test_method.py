"""Which method runs."""

import pytest

from as2d.configuration.method import DEFAULT_BUDGET, choose_method
from as2d.records import Method
from as2d.runtime.exactness import MAX_BUDGET


@pytest.mark.parametrize(
    ("prepared", "drafter", "chosen"),
    [
        (True, True, "as2d"),
        (True, False, "target-only"),
        (False, True, "target-only"),
        (False, False, "target-only"),
    ],
)
def test_auto_drafts_where_the_audio_is_prepared(prepared: bool, drafter: bool, chosen: str) -> None:
    assert choose_method("auto", prepared=prepared, drafter=drafter) == chosen


@pytest.mark.parametrize("method", ["as2d", "target-only"])
@pytest.mark.parametrize("prepared", [True, False])
def test_a_named_method_is_used(method: Method, prepared: bool) -> None:
    assert choose_method(method, prepared=prepared, drafter=True) == method


def test_the_default_budget_is_possible() -> None:
    assert 0 < DEFAULT_BUDGET <= MAX_BUDGET
