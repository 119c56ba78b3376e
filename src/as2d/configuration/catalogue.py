"""What `as2d tune` has to choose from. Pure."""

from collections.abc import Sequence

from as2d.drafting.publication import BatchSize
from as2d.errors import InputError
from as2d.profiling.plan import splits
from as2d.profiling.profile import Profile
from as2d.replay.configuration import Configuration
from as2d.runtime.exactness import MAX_BUDGET

BATCHES: tuple[BatchSize, ...] = ("word", 8)
"""Tokens published together: each word, and the paper's number."""
FLOORS = (0.03, 0.1, 0.2)
"""How likely all candidates of a round must be to be accepted: less for drafters that are surer than they say."""
LARGE_BUDGETS = (7, 11, 15)
"""Budgets that a floor is tried with: it needs none that is small, and widths beyond 16 are dear."""


def catalogue(threads: int, drafters: Sequence[str]) -> list[Configuration]:
    """The target alone on all cores; then every drafter × core split × batch × budget, each with the least first; then
    every drafter × core split × large budget × floor, by word."""
    drafted = [
        Configuration(threads, (drafter,), budget, split.drafter, batch)
        for drafter in drafters
        for split in splits(threads)
        for batch in BATCHES
        for budget in range(1, MAX_BUDGET + 1)
    ]
    floored = [
        Configuration(threads, (drafter,), budget, split.drafter, floor=floor)
        for drafter in drafters
        for split in splits(threads)
        for budget in LARGE_BUDGETS
        for floor in FLOORS
    ]
    return [Configuration(threads), *drafted, *floored]


def affordable(profile: Profile, limit_mb: float) -> tuple[str, ...]:
    """The drafters that add no more than the limit to the process, together with the target.

    InputError where the profile does not say what a model needs, or the target alone needs more.
    """
    target = _peak_mb(profile, profile.plan.target)
    if target > limit_mb:
        raise InputError(
            f"{profile.plan.target} alone needs {target:.0f} MB, and the limit is {limit_mb:g}; allow more"
        )
    drafters = profile.plan.drafters
    return tuple(name for name in drafters if target + _peak_mb(profile, name) <= limit_mb)


def _peak_mb(profile: Profile, name: str) -> float:
    if name not in profile.memory_mb:
        raise InputError(
            f"the profile does not say what memory {name} needs (only Linux tells); leave the limit out"
        )
    return profile.memory_mb[name]
