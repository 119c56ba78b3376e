"""What a profile says in a few figures; pure. They are taken at the middle context and the first length of audio."""

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from as2d.profiling.plan import VERIFYING, Other, Plan, Point, in_words, points, splits
from as2d.profiling.profile import Profile, Timing


class Side(NamedTuple):
    """The target's cores, and the drafter that writes beside it on cores of its own."""

    cores: int
    beside: Other | None = None

    @property
    def label(self) -> str:
        """In a few words."""
        cores = in_words(self.cores)
        return f"{cores} beside {_name(self.beside)}" if self.beside else f"{cores} alone"


class Contention(NamedTuple):
    """How many times longer a model's calls of a width take while the other side works, in the median over contexts
    and lengths of audio."""

    model: str
    width: int
    beside: Other
    ratio: float

    @property
    def label(self) -> str:
        """The other side in a few words."""
        return _name(self.beside)


def context_of(plan: Plan) -> int:
    """The context that is looked at."""
    return plan.contexts[len(plan.contexts) // 2]


def target_sides(plan: Plan) -> list[Side]:
    """The target alone, on all cores first, and beside each drafter."""
    together = [(drafter, split) for drafter in plan.drafters for split in splits(plan.threads)]
    alone = {plan.threads, *(split.target for _, split in together)}
    sides = [Side(cores) for cores in sorted(alone, reverse=True)]
    return sides + [Side(split.target, Other(drafter, split.drafter, 1)) for drafter, split in together]


def verifying(profile: Profile, side: Side) -> list[Timing]:
    """V(K) for K = 1, 2, …"""
    plan = profile.plan
    call = Point("forward", plan.target, side.cores, plan.audio_s[0], context_of(plan), 1, side.beside)
    return [profile.timings[call._replace(width=width)] for width in range(1, plan.widest + 1)]


def savings(curve: list[Timing]) -> list[float]:
    """K · V(1) / V(K): how many times sooner K tokens are verified in one call than in K calls."""
    return [width * curve[0].ms / timing.ms for width, timing in enumerate(curve, 1)]


def contentions(profile: Profile) -> list[Contention]:
    """Each kind of call that was timed alone and beside the other side: the target's first, by width."""
    ratios: dict[tuple[str, int, Other], list[float]] = {}
    for point in points(profile.plan):
        alone = profile.timings.get(point._replace(beside=None))
        if point.doing == "forward" and point.beside and alone and alone.ms:
            key = (point.model, point.width, point.beside)
            ratios.setdefault(key, []).append(profile.timings[point].ms / alone.ms)
    return [Contention(*key, median(found)) for key, found in ratios.items()]


def steps(profile: Profile) -> Iterator[tuple[str, Side, Timing]]:
    """The time a token of each drafter: alone, and beside the target at work."""
    plan = profile.plan
    for drafter in plan.drafters:
        counts = {plan.threads, *(split.drafter for split in splits(plan.threads))}
        sides = [Side(cores) for cores in sorted(counts)]
        for split in splits(plan.threads):
            sides += [Side(split.drafter, Other(plan.target, split.target, width)) for width in VERIFYING]
        for side in sides:
            point = Point("forward", drafter, side.cores, plan.audio_s[0], context_of(plan), 1, side.beside)
            yield drafter, side, profile.timings[point]


def _name(other: Other) -> str:
    cores = f" on {in_words(other.cores)}" if other.cores > 1 else ""
    width = f" (K={other.width})" if other.width > 1 else ""
    return f"{other.model}{cores}{width}"
