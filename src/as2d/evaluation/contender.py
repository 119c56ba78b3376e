"""What is compared: one way to decode."""

from dataclasses import dataclass

from as2d.records import Method


@dataclass(frozen=True, slots=True)
class Contender:
    """A method, who drafts, the most candidates a round, and the cores.

    `method` is one of `Method` but auto, or the name of a peer. `drafter` is None where nobody drafts; several that
    draft together are joined by "+". `budget` is None where the method has a rule of its own. `cores` are shared by
    target and drafters, of which each drafts on `drafter_cores`. Methods that draft ahead have the drafter's cores
    beside those of the target; serial methods use both in turn.
    """

    method: Method | str
    cores: int
    drafter: str | None = None
    budget: int | None = None
    drafter_cores: int = 1

    @property
    def key(self) -> str:
        """The name in files and tables, such as "as2d self b7 2c1d": 2 cores, 1 of them for each drafter."""
        budget = None if self.budget is None else f"b{self.budget}"
        cores = f"{self.cores}c{self.drafter_cores}d" if self.drafter else f"{self.cores}c"
        return " ".join(part for part in (self.method, self.drafter, budget, cores) if part)
