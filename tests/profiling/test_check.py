"""A profile of another machine or model is refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.models.contract import AudioModel
from as2d.profiling.check import check
from as2d.profiling.profile import Profile

ToyFactory = Callable[..., AudioModel]
MakeProfile = Callable[..., Profile]


def test_a_profile_of_this_machine_and_these_models_is_used(
    toy: ToyFactory, make_profile: MakeProfile
) -> None:
    check(make_profile(), toy("Hi", identity="big toy"), {})
    check(make_profile(), toy("Hi", identity="big toy"), {"small": toy("Hi", identity="small toy")})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"cpu": "another", "host": "a phone"}, r"another processor \(the machine was a phone\)"),
        ({"cores": 1000}, "1000 cores, and here are "),
        ({"engine": "onnxruntime 0.1"}, r"onnxruntime 0\.1, and here is onnxruntime "),
        ({"as2d": "0.0.1"}, r"as2d 0\.0\.1, and here is as2d "),
    ],
)
def test_another_machine_or_engine_is_refused_unless_trusted(
    toy: ToyFactory, make_profile: MakeProfile, change: dict[str, Any], reason: str
) -> None:
    profile = make_profile()
    profile = replace(profile, machine=replace(profile.machine, **change))
    target = toy("Hi", identity="big toy")
    with pytest.raises(InputError, match=f"the profile is of {reason}.*run `as2d profile` here"):
        check(profile, target, {})
    check(profile, target, {}, trusted=True)


def test_a_renamed_machine_is_the_same(toy: ToyFactory, make_profile: MakeProfile) -> None:
    profile = make_profile()
    check(
        replace(profile, machine=replace(profile.machine, host="new name")), toy("Hi", identity="big toy"), {}
    )


@pytest.mark.parametrize("trusted", [True, False])
def test_other_models_are_always_refused(toy: ToyFactory, make_profile: MakeProfile, trusted: bool) -> None:
    target, drafter = toy("Hi", identity="big toy"), toy("Hi", identity="other toy")
    with pytest.raises(InputError, match=r"big is not the model .*run `as2d profile`"):
        check(make_profile(), drafter, {}, trusted=trusted)
    with pytest.raises(InputError, match="small is not the model"):
        check(make_profile(), target, {"small": drafter}, trusted=trusted)
    with pytest.raises(InputError, match=r"no drafter tiny \(it has small, shared\).*--drafter tiny"):
        check(make_profile(), target, {"tiny": drafter}, trusted=trusted)
