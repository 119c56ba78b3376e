"""Which contenders are compared."""

import pytest

from as2d.errors import InputError
from as2d.evaluation.contender import Contender
from as2d.evaluation.measuring.plan import Wishes, make_plan, reference
from as2d.records import METHODS

BOTH = Wishes(drafters=("self", "whisper-tiny.en"))


def keys(wishes: Wishes, cores: int = 2) -> list[str]:
    return [contender.key for contender in make_plan(wishes, cores)]


def test_the_default_plan() -> None:
    plan = make_plan(BOTH, 2)
    assert plan[0] == reference(2) == Contender("target-only", 2)
    assert len(plan) == len(set(plan)) == 28
    assert {contender.method for contender in plan} == set(METHODS)
    assert Contender("target-only", 1) in plan
    for drafter in BOTH.drafters:
        own = [contender for contender in plan if contender.drafter == drafter]
        assert len(own) == 13
        widths = {c.budget + 1 for c in own if c.method == "speculative" and c.budget}
        assert widths == {3, 4, 5, 6, 7, 8, 12}
        in_turn = {c.method for c in own if c.drafter_cores == 2}
        assert in_turn == {"speculative", "specasr"}
        assert [c.budget for c in own if c.method == "as2d"] == [3, 7]
        assert {c.budget for c in own if c.method in ("specasr", "as2d-without-budget")} == {None}


def test_on_one_core_nothing_drafts_beside() -> None:
    methods = {contender.method for contender in make_plan(BOTH, 1)}
    assert methods == {"target-only", "speculative", "specasr", "as2d-without-decoupling"}


def test_only_what_is_asked_for_and_the_reference() -> None:
    wishes = Wishes(
        ("self",), methods=("as2d", "specasr"), budgets=(2, 9), cores=(2, 3), drafter_cores=(1, 2)
    )
    assert keys(wishes, 4) == [
        "target-only 4c",
        "as2d self b2 2c1d",
        "as2d self b2 3c1d",
        "as2d self b2 3c2d",
        "as2d self b9 2c1d",
        "as2d self b9 3c1d",
        "as2d self b9 3c2d",
        "specasr self 2c1d",
        "specasr self 2c2d",
        "specasr self 3c1d",
        "specasr self 3c2d",
    ]


def test_target_only_needs_no_drafter() -> None:
    assert keys(Wishes((), methods=("target-only",)), 4) == ["target-only 4c", "target-only 1c"]


@pytest.mark.parametrize("drafter", ["pocketsphinx", "onnx-asr:some/model", "self+whisper-tiny.en"])
def test_who_cannot_write_on_from_a_text_drafts_for_as2d_only(drafter: str) -> None:
    plan = make_plan(Wishes((drafter,)), 4)
    assert {c.method for c in plan if c.drafter} == {"as2d", "as2d-without-budget"}


def test_each_drafter_beside_the_target_has_its_core() -> None:
    assert keys(Wishes(("a+b",), methods=("as2d",), budgets=(1,)), 3)[1:] == ["as2d a+b b1 3c1d"]
    with pytest.raises(InputError, match="needs a core of its own"):
        make_plan(Wishes(("a+b",), methods=("as2d",)), 2)


@pytest.mark.parametrize(
    ("wishes", "says"),
    [
        (Wishes(("self",), methods=("as2d", "magic")), "no method magic; use some of as2d, "),
        (Wishes(("self",), methods=("auto",)), "no method auto"),
        (Wishes(("self",), budgets=(0,)), "a budget of 0 .* use 1 to 24"),
        (Wishes(("self",), budgets=(25,)), "a budget of 25"),
        (Wishes(("self",), cores=(3,)), "3 cores cannot be used; this process may use 1 to 2"),
        (Wishes(("self",), drafter_cores=(0,)), "0 cores"),
    ],
)
def test_what_is_not_possible(wishes: Wishes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        make_plan(wishes, 2)
