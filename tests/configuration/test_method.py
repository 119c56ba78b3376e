"""Which sources draft, by made-up evidence."""

from collections.abc import Mapping

import pytest

from as2d.configuration.method import DEFAULT_BUDGET, Evidence, Kind, Times, Trial, choose, describe
from as2d.records import Instruction
from as2d.runtime.exactness import MAX_BUDGET

ENGLISH = Instruction("transcribe", "en")
GERMAN = Instruction("transcribe", "de")
UNKNOWN = Instruction("transcribe", None)
TRANSLATION = Instruction("translate", "en")


def evidence(*trials: tuple[tuple[int, ...], Mapping[Kind, Times]]) -> Evidence:
    return Evidence(tuple(Trial(frozenset(sources), times) for sources, times in trials), {})


def both(milliseconds: float) -> Times:
    return Times(milliseconds, milliseconds)


TYPICAL = evidence(
    ((), {"english": Times(200, 900), "other": Times(400, 950), "translation": Times(300, 920)}),
    ((0,), {"english": Times(120, 890), "other": Times(300, 940), "translation": Times(290, 940)}),
    ((1,), {"english": Times(100, 990)}),
)


@pytest.mark.parametrize(
    ("instruction", "prepared", "always", "chosen"),
    [
        (ENGLISH, True, False, {1}),
        (GERMAN, True, False, {0}),
        (Instruction("transcribe", "ja"), True, False, {0}),
        (TRANSLATION, True, False, set()),
        (UNKNOWN, True, False, {0, 1}),
        (ENGLISH, False, False, set()),
        (UNKNOWN, False, False, set()),
        (ENGLISH, False, True, {0}),
        (TRANSLATION, True, True, {0}),
        (UNKNOWN, True, True, {0, 1}),
    ],
)
def test_the_fastest_drafts_where_it_beats_the_target(
    instruction: Instruction, prepared: bool, always: bool, chosen: set[int]
) -> None:
    assert choose(TYPICAL, instruction, prepared=prepared, always=always) == chosen


@pytest.mark.parametrize(
    ("milliseconds", "drafts"), [(94.0, True), (95.0, True), (95.1, False), (110.0, False)]
)
def test_drafting_must_take_a_twentieth_off(milliseconds: float, drafts: bool) -> None:
    found = evidence(((), {"english": both(100)}), ((0,), {"english": both(milliseconds)}))
    for prepared in (True, False):
        assert bool(choose(found, ENGLISH, prepared=prepared)) is drafts
        assert choose(found, ENGLISH, prepared=prepared, always=True) == {0}


def test_of_equals_the_first_is_chosen() -> None:
    trials = [((index,), {"english": both(50)}) for index in (2, 0, 1)]
    found = evidence(((), {"english": both(100)}), *trials)  # type: ignore[arg-type]
    assert choose(found, ENGLISH, prepared=True) == {2}


def test_on_one_core_drafting_may_never_pay() -> None:
    kinds: list[Kind] = ["english", "other", "translation"]
    found = evidence(((), dict.fromkeys(kinds, both(100))), ((0,), dict.fromkeys(kinds, both(130))))
    for instruction in (ENGLISH, GERMAN, UNKNOWN, TRANSLATION):
        for prepared in (True, False):
            assert choose(found, instruction, prepared=prepared) == frozenset()


def test_several_that_draft_together_are_one_choice() -> None:
    found = evidence(((), {"english": both(100)}), ((0, 1), {"english": both(60)}))
    assert choose(found, ENGLISH, prepared=True) == {0, 1}


@pytest.mark.parametrize("left", [TYPICAL.without({0, 1}), evidence()])
def test_without_candidates_the_target_decodes_alone(left: Evidence) -> None:
    for instruction in (ENGLISH, UNKNOWN, TRANSLATION):
        assert choose(left, instruction, prepared=True) == frozenset()
        assert choose(left, instruction, prepared=True, always=True) == frozenset()


def test_a_candidate_that_failed_is_not_chosen() -> None:
    left = TYPICAL.failing({1: "bad"})
    assert left.faults == {1: "bad"}
    assert choose(left, ENGLISH, prepared=True) == {0}


def test_what_was_not_measured_is_drafted_only_when_it_must() -> None:
    found = evidence(((), {"english": both(100), "other": both(100)}), ((0,), {"english": both(50)}))
    assert choose(found, GERMAN, prepared=True) == frozenset()
    assert choose(found, GERMAN, prepared=True, always=True) == {0}


def test_the_evidence_fits_a_line() -> None:
    line = describe(TYPICAL, ["self", "small"])
    assert line.startswith("alone: english 200 ms prepared, 900 ms not, other 400")
    assert line.endswith("; small: english 100 ms prepared, 990 ms not")


def test_the_default_budget_is_possible() -> None:
    assert 0 < DEFAULT_BUDGET <= MAX_BUDGET
