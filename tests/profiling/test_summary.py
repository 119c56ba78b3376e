"""The few figures that say what a profile says, and the tables of them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from as2d.profiling.plan import Other
from as2d.profiling.profile import Profile, Timing
from as2d.profiling.summary import (
    Contention,
    Side,
    contentions,
    savings,
    steps,
    target_sides,
    verifying,
)
from as2d.profiling.table import to_text

MakeProfile = Callable[..., Profile]


def test_sides_of_the_target(make_profile: MakeProfile) -> None:
    assert [side.label for side in target_sides(make_profile().plan)] == [
        *("2 cores alone", "1 core alone", "1 core beside small", "1 core beside shared")
    ]


def test_sides_of_more_cores_name_the_drafters_too(make_profile: MakeProfile) -> None:
    plan = replace(make_profile().plan, threads=4, drafters=("small",))
    assert [side.label for side in target_sides(plan)] == [
        *("4 cores alone", "3 cores alone", "2 cores alone"),
        *("3 cores beside small", "2 cores beside small on 2 cores"),
    ]


def test_verifying_is_looked_at_in_the_middle(make_profile: MakeProfile) -> None:
    curve = verifying(make_profile(), Side(2))
    assert [timing.ms for timing in curve] == pytest.approx([width + 0.65 for width in range(1, 26)])


def test_savings_are_of_a_round_that_is_accepted_whole() -> None:
    curve = [Timing(ms, 0, 5) for ms in (4.0, 4.0, 6.0)]
    assert savings(curve) == [1.0, 2.0, 2.0]


def test_contention_is_against_the_same_call_alone(make_profile: MakeProfile) -> None:
    found = contentions(make_profile(widest=3))
    assert [(c.model, c.width, c.beside) for c in found] == [
        *(("big", width, Other("small", 1, 1)) for width in (1, 2, 3)),
        *(("big", width, Other("shared", 1, 1)) for width in (1, 2, 3)),
        *(("small", 1, Other("big", 1, width)) for width in (1, 8)),
        *(("shared", 1, Other("big", 1, width)) for width in (1, 8)),
    ]
    assert [c.ratio for c in found] == pytest.approx([2.0] * len(found))
    assert Contention("small", 1, Other("big", 1, 8), 2.0).label == "big (K=8)"


def test_steps_of_each_drafter(make_profile: MakeProfile) -> None:
    found = [(name, side.label, round(timing.ms, 2)) for name, side, timing in steps(make_profile())]
    assert found[:4] == [
        ("small", "1 core alone", 1.65),
        ("small", "2 cores alone", 1.65),
        ("small", "1 core beside big", 3.3),
        ("small", "1 core beside big (K=8)", 3.3),
    ]
    assert len(found) == 8


def test_the_text_says_it_all(make_profile: MakeProfile) -> None:
    text = to_text(make_profile())
    for line in (
        "target big, drafters small, shared, 2 cores together",
        "c: 1 core beside small",
        " 1    1.65    1.65    3.30    3.30      1.00      1.00      1.00      1.00",
        "25   25.65   25.65   51.30   51.30      1.61      1.61      1.61      1.61",
        "big     small        2.00   2.00  2.00",
        "shared   1 core beside big (K=8)  3.30",
        "encode  big         2       0.0       0.0",
        "overheads in µs: publish 1.0, round 1.0, realign 1.0, truncate 1.0",
        "peak memory in MB: big 100",
    ):
        assert line in text.splitlines()


def test_a_target_without_drafters_has_no_empty_tables(make_profile: MakeProfile) -> None:
    profile = make_profile()
    plan = replace(profile.plan, drafters=(), sharing=())
    text = to_text(replace(profile, plan=plan, overheads={}, memory_mb={}))
    assert "drafters none" in text
    assert "contention" not in text
    assert "one token of a drafter" not in text
    assert "overheads in µs: -\npeak memory in MB: -" in text
    assert "\n\n\n" not in text
