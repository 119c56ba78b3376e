"""When a source is worth its core."""

from hypothesis import given
from hypothesis import strategies as st

from as2d.decoding.evidence import FEWEST_ACCEPTED, GRACE, SPAN, Evidence, is_worth_its_core, observe


def after(rounds: list[int]) -> Evidence:
    evidence = Evidence()
    for accepted in rounds:
        evidence = observe(evidence, accepted)
    return evidence


def test_a_source_that_brings_nothing_has_its_grace() -> None:
    assert is_worth_its_core(after([0] * (GRACE - 1)))
    assert not is_worth_its_core(after([0] * GRACE))


def test_what_was_brought_long_ago_does_not_count() -> None:
    assert is_worth_its_core(after([7] * 30 + [0] * (SPAN - 1)))
    assert not is_worth_its_core(after([7] * 30 + [0] * SPAN))


@given(st.lists(st.integers(0, 24), max_size=60))
def test_the_rule_is_a_mean_over_the_last_rounds(rounds: list[int]) -> None:
    last = rounds[-SPAN:]
    worth = len(rounds) < GRACE or sum(last) / len(last) >= FEWEST_ACCEPTED
    assert is_worth_its_core(after(rounds)) is worth
