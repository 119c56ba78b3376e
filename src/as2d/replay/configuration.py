"""What is simulated: one way to decode on this machine."""

from dataclasses import dataclass

from as2d.decoding.as2d import CoreSplit
from as2d.drafting.publication import BatchSize
from as2d.errors import InputError
from as2d.records import UsedMethod
from as2d.runtime.cores import split_cores
from as2d.runtime.exactness import MAX_BUDGET

_IN_TURN: tuple[UsedMethod, ...] = ("as2d-without-decoupling", "speculative")
REPLAYED: tuple[UsedMethod, ...] = ("as2d", "as2d-without-budget", *_IN_TURN, "target-only")
"""Methods whose candidates follow from the traces. What the others draft depends on their own drafts before."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A method, who drafts, the most candidates a round (0: nobody drafts), the cores, and the batches published.

    `threads` are shared by target and drafters, of which each drafts on `drafter_threads`. `floor` is how likely all
    candidates of a round must be to be accepted (as2d; see `decoding.floor`).
    """

    threads: int
    drafters: tuple[str, ...] = ()
    budget: int = 0
    drafter_threads: int = 1
    batch: BatchSize = "word"
    method: UsedMethod = "as2d"
    floor: float = 0.0

    def __post_init__(self) -> None:
        if self.method not in REPLAYED:
            raise InputError(
                f"what {self.method} drafts depends on its drafts before, which no trace holds; "
                f"replay {', '.join(REPLAYED)}"
            )
        if not 0 <= self.budget <= MAX_BUDGET:
            raise InputError(f"there is no budget {self.budget}; use 0 to {MAX_BUDGET}")
        if not 0 <= self.floor < 1:
            raise InputError(f"a floor is a probability, not {self.floor}; use 0 or more, and less than 1")
        if self.floor and self.method != "as2d":
            raise InputError(f"only as2d has a floor, not {self.method}; use 0")
        if self.in_turn and len(self.drafters) > 1:
            raise InputError(f"{self.method} has one drafter, not several; choose one")
        split_cores(self.threads, self.drafter_threads)

    @property
    def in_turn(self) -> bool:
        """Whether target and drafter take turns."""
        return self.method in _IN_TURN

    @property
    def cores(self) -> CoreSplit:
        """How target and drafters share the cores."""
        return split_cores(self.threads, self.drafter_threads)

    @property
    def drafted(self) -> tuple[str, ...]:
        """Who drafts where it can."""
        idle = self.method == "target-only" or (self._has_budget and self.budget == 0)
        return () if idle else self.drafters

    @property
    def key(self) -> str:
        """The name in tables, such as "as2d self b7 2c1d": 2 cores, 1 of them for the drafter."""
        if not self.drafted:
            return f"target-only {self.threads}c"
        budget = f"b{self.budget}" if self._has_budget else ""
        batch = "" if self.batch == "word" else f"batch {self.batch}"
        cores = f"{self.threads}c{self.drafter_threads}d"
        floor = f"floor {self.floor:g}" if self.floor else ""
        return " ".join(filter(None, (self.method, "+".join(self.drafted), budget, floor, cores, batch)))

    @property
    def _has_budget(self) -> bool:
        return self.method != "as2d-without-budget"
