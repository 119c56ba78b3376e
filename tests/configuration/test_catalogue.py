"""What there is to choose from."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from as2d.configuration.catalogue import affordable, catalogue
from as2d.errors import InputError
from as2d.profiling.profile import Profile
from as2d.replay.configuration import Configuration

MakeProfile = Callable[..., Profile]


def test_every_drafter_budget_split_and_batch_once_and_the_target_alone_first() -> None:
    found = catalogue(4, ("one", "two"))
    assert found[:2] == [Configuration(4), Configuration(4, ("one",), 1, 1, "word")]
    assert len(set(found)) == len(found) == 1 + 2 * 24 * 2 * 2 + 2 * 2 * 3 * 3
    assert {one.drafter_threads for one in found if one.drafted} == {1, 2}
    assert {one.budget for one in found} == set(range(25))
    assert {one.batch for one in found} == {"word", 8}


def test_floors_come_behind_all_fixed_budgets() -> None:
    found = catalogue(2, ("one", "two"))
    floored = [one for one in found if one.floor]
    assert found[-len(floored) :] == floored
    assert {(one.drafters, one.budget, one.floor) for one in floored} == {
        ((drafter,), budget, floor)
        for drafter in ("one", "two")
        for budget in (7, 11, 15)
        for floor in (0.03, 0.1, 0.2)
    }


def test_one_core_is_shared() -> None:
    assert {one.cores.cores_for(1) for one in catalogue(1, ("one",))} == {1}
    assert len(catalogue(1, ("one",))) == 1 + 24 * 2 + 3 * 3


def test_nobody_to_draft_leaves_the_target() -> None:
    assert catalogue(2, ()) == [Configuration(2)]


def test_who_fits_the_memory(make_profile: MakeProfile) -> None:
    profile = make_profile()
    assert affordable(profile, 150.0) == ("one", "two")
    assert affordable(profile, 149.0) == ("two",)
    assert affordable(profile, 100.0) == ()


def test_a_limit_that_cannot_be_kept(make_profile: MakeProfile) -> None:
    with pytest.raises(InputError, match="big alone needs 100 MB, and the limit is 99; allow more"):
        affordable(make_profile(), 99.0)
    with pytest.raises(InputError, match="what memory two needs"):
        affordable(replace(make_profile(), memory_mb={"big": 1.0, "one": 1.0}), 150.0)
