"""What `as2d tune` has chosen, for which machine, models and requests. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from as2d.drafting.publication import BatchSize
from as2d.profiling.profile import Machine
from as2d.records import Task

Objective = Literal["throughput", "latency"]
"""Tokens a second of prepared audio; or the time from a request with samples to its answer, encoders included."""
Group = Literal["english", "other", "any"]
"""The language of a request: English, one that is not, or not known beforehand."""
Half = Literal["A", "B"]

_MACHINE = {
    "cpu": "processor",
    "cores": "number of cores",
    "engine": "engine version",
    "as2d": "version of as2d",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Who drafts (None: nobody), the most candidates a round, the drafter's cores, tokens published together, and how
    likely all candidates of a round must be to be accepted (0: no matter)."""

    drafter: str | None
    budget: int
    drafter_threads: int
    batch: BatchSize
    floor: float = 0.0

    @property
    def label(self) -> str:
        """In a few words, such as "self b5"."""
        if self.drafter is None:
            return "target-only"
        cores = f" on {self.drafter_threads} cores" if self.drafter_threads > 1 else ""
        batch = "" if self.batch == "word" else f" batch {self.batch}"
        floor = f" floor {self.floor:g}" if self.floor else ""
        return f"{self.drafter} b{self.budget}{floor}{cores}{batch}"


@dataclass(frozen=True, slots=True)
class Grounds:
    """What replay says of a choice over some windows, on the clock of the objective (`tune.CLOCKS`).

    Tokens a second are pooled: of the choice, of the best with budget 7 (of the same drafter, if one was chosen; None
    where none was tried), of the target alone, and of the best configuration without a floor of each window in
    hindsight. Latencies are the choice's, from the request to the end of the answer, in milliseconds.
    """

    windows: int
    tps: float
    tps_budget_7: float | None
    tps_target_only: float
    tps_oracle: float
    latency_p50_ms: float
    latency_p95_ms: float

    @property
    def oracle_share(self) -> float:
        """Deployed ÷ oracle; 1 where no window has a token."""
        return self.tps / self.tps_oracle if self.tps_oracle else 1.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One choice, what it is for, and why.

    `machine` and `threads` (the cores that target and drafter share) are those of the profile. `target` and `drafters`
    are the identities of the models by name; of the drafters those that could have been chosen. `corpus` is its digest,
    `half` the one that was tuned on (None: all of it), and `test` the grounds on the other half.
    """

    machine: Machine
    threads: int
    target: tuple[str, str]
    drafters: Mapping[str, str]
    task: Task
    objective: Objective
    group: Group
    choice: Choice
    grounds: Grounds
    test: Grounds | None
    corpus: str
    half: Half | None
    date: str

    @property
    def drafter(self) -> str | None:
        """The identity of the drafter that was chosen."""
        return None if self.choice.drafter is None else self.drafters[self.choice.drafter]

    def replaces(self, other: "Entry") -> bool:
        """Whether both are for the same machine, models and requests."""
        return _key(self) == _key(other)


@dataclass(frozen=True, slots=True)
class Situation:
    """Where and by whom requests are answered: the cores that are shared, and the identities of the target and of the
    drafters that may draft by themselves. Without a machine and cores, those of any are taken on purpose."""

    machine: Machine | None
    threads: int | None
    target: str
    drafters: frozenset[str]


def find(
    entries: tuple[Entry, ...], situation: Situation, task: Task, objective: Objective, group: Group
) -> Entry | None:
    """The entry for such a request, of those that fit the situation.

    One for the language comes before one for any; then the one that was chosen among most of the drafters that there
    are; then the latest.
    """
    fitting = [
        entry
        for entry in entries
        if (entry.task, entry.objective) == (task, objective)
        and entry.group in (group, "any")
        and mismatch(entry, situation) is None
    ]

    def worth(entry: Entry) -> tuple[bool, int, str]:
        known = len(situation.drafters.intersection(entry.drafters.values()))
        return entry.group == group, known, entry.date

    return max(fitting, key=worth, default=None)


def mismatch(entry: Entry, situation: Situation) -> str | None:
    """Why an entry does not fit, in words; None where it does."""
    return next(_mismatches(entry, situation), None)


def _mismatches(entry: Entry, situation: Situation) -> Iterator[str]:
    if entry.target[1] != situation.target:
        yield f"it is for another target ({entry.target[0]})"
    if entry.drafter is not None and entry.drafter not in situation.drafters:
        yield f"its drafter {entry.choice.drafter} may not draft here"
    for name, words in _MACHINE.items() if situation.machine else ():
        if getattr(entry.machine, name) != getattr(situation.machine, name):
            yield f"it is for another {words}"
    if situation.threads not in (None, entry.threads):
        yield f"it is for {entry.threads} cores together, and here are {situation.threads}"


def _key(entry: Entry) -> tuple[object, ...]:
    drafters = frozenset(entry.drafters.values())
    place = (entry.machine.cpu, entry.machine.cores, entry.threads)
    return (*place, entry.target[1], drafters, entry.task, entry.objective, entry.group)
