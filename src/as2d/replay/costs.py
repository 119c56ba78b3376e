"""What operations cost in the simulation, and how that is varied. Milliseconds.

`as2d.profiling` measures costs on this machine and `calibration` takes them from native runs; both give this protocol.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Protocol

from as2d.errors import InputError


class Costs(Protocol):
    """Milliseconds of each operation on `audio_s` seconds of audio.

    `context` counts the tokens of text in the cache, `cores` are those of the model that is asked about, `beside` is
    the other model that computes at the same time (None: nobody). Raises InputError for what was not measured.
    """

    def verify_ms(
        self, width: int, context: float, audio_s: float, cores: int, beside: str | None = None
    ) -> float:
        """One call of the target, alone or while a drafter writes."""

    def step_ms(self, drafter: str, context: float, audio_s: float, *, beside: bool, cores: int = 1) -> float:
        """One token of a drafter, alone or while the target verifies."""

    def open_ms(self, model: str, audio_s: float, cores: int, beside: str | None = None) -> float:
        """The prompt."""

    def encode_ms(self, model: str, audio_s: float, cores: int, beside: str | None = None) -> float:
        """What the model needs to hear the audio; `beside` encodes as well."""

    @property
    def publish_ms(self) -> float:
        """One publication."""

    @property
    def round_ms(self) -> float:
        """What a round does beside the call of the target."""

    @property
    def align_ms(self) -> float:
        """A search for the place of a stream that differs, beyond that."""


@dataclass(frozen=True, slots=True)
class Contended:
    """Other costs, whose slowdown by what computes at the same time is scaled: 0 none, 1 as it is, 2 twice."""

    costs: Costs
    factor: float

    def __post_init__(self) -> None:
        if not isfinite(self.factor) or self.factor < 0:
            raise InputError(
                f"contention cannot be scaled by {self.factor}; use 0 (none), 1 (as measured) or more"
            )

    def verify_ms(
        self, width: int, context: float, audio_s: float, cores: int, beside: str | None = None
    ) -> float:
        """One call of the target."""
        alone = self.costs.verify_ms(width, context, audio_s, cores)
        if beside is None:
            return alone
        return self._scaled(alone, self.costs.verify_ms(width, context, audio_s, cores, beside))

    def step_ms(self, drafter: str, context: float, audio_s: float, *, beside: bool, cores: int = 1) -> float:
        """One token of a drafter."""
        alone = self.costs.step_ms(drafter, context, audio_s, beside=False, cores=cores)
        if not beside:
            return alone
        return self._scaled(alone, self.costs.step_ms(drafter, context, audio_s, beside=True, cores=cores))

    def open_ms(self, model: str, audio_s: float, cores: int, beside: str | None = None) -> float:
        """The prompt."""
        alone = self.costs.open_ms(model, audio_s, cores)
        return (
            alone
            if beside is None
            else self._scaled(alone, self.costs.open_ms(model, audio_s, cores, beside))
        )

    def encode_ms(self, model: str, audio_s: float, cores: int, beside: str | None = None) -> float:
        """What the model needs to hear the audio."""
        alone = self.costs.encode_ms(model, audio_s, cores)
        if beside is None:
            return alone
        return self._scaled(alone, self.costs.encode_ms(model, audio_s, cores, beside))

    @property
    def publish_ms(self) -> float:
        """One publication."""
        return self.costs.publish_ms

    @property
    def round_ms(self) -> float:
        """What a round does beside the call of the target."""
        return self.costs.round_ms

    @property
    def align_ms(self) -> float:
        """A search for the place of a stream that differs."""
        return self.costs.align_ms

    def _scaled(self, alone: float, beside: float) -> float:
        return alone + (beside - alone) * self.factor
