"""The costs of one window, checked, and kept for the next configuration that needs the same."""

from collections.abc import Callable
from functools import cache, partial
from math import isfinite, prod
from typing import NamedTuple

from as2d.errors import InputError
from as2d.replay.costs import Costs
from as2d.replay.lanes import Operation


class Sharing(NamedTuple):
    """The target's cores, the drafters that compute at the same time, and the cores that one of them leaves it.

    That is where contention is measured: each drafter slows the target in the ratio that it has there.
    """

    cores: int
    active: frozenset[str]
    together: int


class Prices:
    """Milliseconds of operations on a window of `audio_s` seconds.

    InputError for a cost that no operation can have: zero, negative, infinite or NaN.
    """

    def __init__(self, costs: Costs, target: str, audio_s: float) -> None:
        """`target` is the target's name in the costs."""
        self._costs = costs
        self._target = target
        self._audio_s = audio_s
        self.verify: Callable[[int, int, Sharing], float] = cache(self._verify)
        self.step_alone: Callable[[str, int, int], float] = cache(partial(self._step, beside=False))
        self.publish = _overhead(costs.publish_ms, "a publication")
        self.round = _overhead(costs.round_ms, "a round")
        self.align = _overhead(costs.align_ms, "a search")

    def open_target(self, sharing: Sharing) -> float:
        """The target's prompt."""

        def lasts(cores: int, beside: str | None) -> float:
            return self._costs.open_ms(self._target, self._audio_s, cores, beside)

        return _slowed(lasts, sharing, "the target's prompt")

    def encode_target(self, sharing: Sharing) -> float:
        """What the target needs to hear the window."""

        def lasts(cores: int, beside: str | None) -> float:
            return self._costs.encode_ms(self._target, self._audio_s, cores, beside)

        return _slowed(lasts, sharing, "the target's encoder")

    def open(self, drafter: str, cores: int) -> Operation:
        """A drafter's prompt."""
        return Operation(self.open_alone(drafter, cores), self._open(drafter, cores, self._target))

    def open_alone(self, drafter: str, cores: int) -> float:
        """The same while the target waits."""
        return self._open(drafter, cores, None)

    def encode(self, drafter: str, cores: int, *, waits: bool) -> Operation:
        """What a drafter needs to hear the window; one that waits for the target's encoder is not slowed by it."""
        alone = self.encode_alone(drafter, cores)
        return Operation(alone, alone if waits else self._encode(drafter, cores, self._target))

    def encode_alone(self, drafter: str, cores: int) -> float:
        """The same while the target waits."""
        return self._encode(drafter, cores, None)

    def step(self, drafter: str, context: int, cores: int) -> Operation:
        """One token of a drafter."""
        return Operation(
            self.step_alone(drafter, context, cores), self._step(drafter, context, cores, beside=True)
        )

    def _open(self, drafter: str, cores: int, beside: str | None) -> float:
        cost = self._costs.open_ms(drafter, self._audio_s, cores, beside)
        return _checked(cost, f"the prompt of {drafter}")

    def _encode(self, drafter: str, cores: int, beside: str | None) -> float:
        cost = self._costs.encode_ms(drafter, self._audio_s, cores, beside)
        return _checked(cost, f"the encoder of {drafter}")

    def _step(self, drafter: str, context: int, cores: int, *, beside: bool) -> float:
        cost = self._costs.step_ms(drafter, context, self._audio_s, beside=beside, cores=cores)
        return _checked(cost, f"a step of {drafter}")

    def _verify(self, width: int, context: int, sharing: Sharing) -> float:
        """One call of the target."""

        def lasts(cores: int, beside: str | None) -> float:
            return self._costs.verify_ms(width, context, self._audio_s, cores, beside)

        return _slowed(lasts, sharing, f"a call of width {width}")


def _slowed(lasts: Callable[[int, str | None], float], sharing: Sharing, what: str) -> float:
    def checked(cores: int, beside: str | None) -> float:
        return _checked(lasts(cores, beside), f"{what} on {cores} cores")

    together = sharing.together
    ratios = (checked(together, drafter) / checked(together, None) for drafter in sharing.active)
    return checked(sharing.cores, None) * prod(ratios)


def _checked(cost: float, what: str) -> float:
    if isfinite(cost) and cost > 0:
        return cost
    raise InputError(f"{what} cannot take {cost} ms; measure the costs again with `as2d profile`")


def _overhead(cost: float, what: str) -> float:
    """May be nothing."""
    return cost if cost == 0 else _checked(cost, what)
