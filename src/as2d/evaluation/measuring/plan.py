"""Which contenders a bench compares; pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from as2d.decoding.methods import TRAITS
from as2d.errors import InputError
from as2d.evaluation.contender import Contender
from as2d.models.recognisers.load import names_recogniser
from as2d.records import METHODS, UsedMethod
from as2d.runtime.cores import MOST_DRAFTER_THREADS
from as2d.runtime.exactness import MAX_BUDGET

BUDGETS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "speculative": (2, 3, 4, 5, 6, 7, 11),  # widths K of 5 to 8 as in the paper, less, and 12
        "lookahead": (7,),
        "as2d": (3, 7),
        "as2d-without-decoupling": (7,),
    }
)
"""What is tried where no budgets are asked for; the other methods have a rule of their own."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What to compare; None, or no drafters, for what is to be chosen. Drafters joined by "+" draft together."""

    drafters: tuple[str, ...] = ()
    methods: tuple[str, ...] | None = None
    budgets: tuple[int, ...] | None = None
    cores: tuple[int, ...] | None = None
    drafter_cores: tuple[int, ...] | None = None


def drafters_of(contender: Contender) -> tuple[str, ...]:
    """Who drafts, one by one."""
    return tuple(contender.drafter.split("+")) if contender.drafter else ()


def reference(available: int) -> Contender:
    """What all others are compared with: target-only on all cores."""
    return Contender("target-only", available)


def make_plan(wishes: Wishes, available: int) -> tuple[Contender, ...]:
    """The contenders on a machine with `available` cores, without senseless ones; the reference is the first.

    InputError for a wish that is not possible, or when nothing but the reference is left.
    """
    _check(wishes, available)
    methods: Iterable[str] = METHODS if wishes.methods is None else wishes.methods
    wanted = [contender for method in methods for contender in _of_method(method, wishes, available)]
    if not wanted:
        raise InputError(
            f"none of {', '.join(methods)} can run with the drafters {', '.join(wishes.drafters) or '-'} on "
            "these cores: a drafter beside the target needs a core of its own, and a recogniser or several "
            "drafters need as2d; ask for others"
        )
    return tuple(dict.fromkeys((reference(available), *wanted)))


def _of_method(method: str, wishes: Wishes, available: int) -> Iterator[Contender]:
    if method == "target-only":
        for cores in wishes.cores or (1, available):
            yield Contender(method, cores)
        return
    for drafter in wishes.drafters:
        for budget in _budgets(method, wishes):
            for cores in wishes.cores or (available,):
                for drafter_cores in wishes.drafter_cores or (_drafter_cores(method, cores),):
                    contender = Contender(method, cores, drafter, budget, drafter_cores)
                    if _makes_sense(contender):
                        yield contender


def _budgets(method: str, wishes: Wishes) -> tuple[int | None, ...]:
    if method not in BUDGETS:
        return (None,)
    return BUDGETS[method] if wishes.budgets is None else wishes.budgets


def _drafter_cores(method: str, cores: int) -> int:
    """The best for a drafter that takes turns with the target; the ablation drafts on one core as as2d does."""
    return min(cores, MOST_DRAFTER_THREADS) if method in ("speculative", "specasr") else 1


def _makes_sense(contender: Contender) -> bool:
    names, traits = drafters_of(contender), TRAITS[cast(UsedMethod, contender.method)]
    if traits.writes_on and (len(names) > 1 or names_recogniser(names[0])):
        return False
    beside = 0 if traits.serial else len(names)
    return contender.drafter_cores <= contender.cores and contender.cores > beside * contender.drafter_cores


def _check(wishes: Wishes, available: int) -> None:
    if unknown := [method for method in wishes.methods or () if method not in METHODS]:
        raise InputError(f"there is no method {', '.join(unknown)}; use some of {', '.join(METHODS)}")
    if impossible := [budget for budget in wishes.budgets or () if not 1 <= budget <= MAX_BUDGET]:
        raise InputError(f"a budget of {impossible[0]} candidates is not possible; use 1 to {MAX_BUDGET}")
    for cores in (*(wishes.cores or ()), *(wishes.drafter_cores or ())):
        if not 1 <= cores <= available:
            raise InputError(f"{cores} cores cannot be used; this process may use 1 to {available}")
