"""Whether a profile is of this machine and these models."""

from collections.abc import Mapping

from as2d.errors import InputError
from as2d.models.contract import AudioModel
from as2d.profiling.machine import this_machine
from as2d.profiling.profile import Machine, Profile


def check(
    profile: Profile,
    target: AudioModel,
    drafters: Mapping[str, AudioModel],
    *,
    trusted: bool = False,
) -> None:
    """InputError, with the reason and the remedy, unless the profile is of this machine and of these models.

    The drafters are given by the names that they have in the profile. A `trusted` profile, one that was named on
    purpose, may be of another machine or engine: costs are then that machine's. It must be of these models.
    """
    if not trusted and (reason := _another_machine(profile.machine, this_machine())):
        raise InputError(
            f"the profile is of {reason}; run `as2d profile` here, or name the file with --profile to use it on purpose"
        )
    for name, model in {profile.plan.target: target, **drafters}.items():
        _require_model(profile, name, model)


def _another_machine(then: Machine, now: Machine) -> str | None:
    if then.cpu != now.cpu:
        return f"another processor (the machine was {then.host})"
    if then.cores != now.cores:
        return f"{then.cores} cores, and here are {now.cores}"
    if then.engine != now.engine:
        return f"{then.engine}, and here is {now.engine}"
    if then.as2d != now.as2d:
        return f"as2d {then.as2d}, and here is as2d {now.as2d}"
    return None


def _require_model(profile: Profile, name: str, model: AudioModel) -> None:
    if name not in profile.models:
        known = ", ".join(profile.plan.drafters) or "none"
        raise InputError(
            f"the profile has no drafter {name} (it has {known}); run `as2d profile --drafter {name}`"
        )
    if profile.models[name] != model.identity:
        raise InputError(
            f"{name} is not the model that the profile is of: weights, precision or form differ; run `as2d profile`"
        )
