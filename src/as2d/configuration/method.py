"""What to run on this machine: which sources draft, by what was measured, and with which budget. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from as2d.records import Instruction

DEFAULT_BUDGET = 7
"""Candidates a round at most; the paper's choice for its phones, and near the best here (docs/benchmarks.md)."""

MARGIN = 0.05
"""What drafting must take off the target's time to be chosen: a few clips say no more than that."""

Kind = Literal["english", "other", "translation", "question"]
"""What is measured: transcribing English and transcribing any other language, which is German, translating, and
answering a question."""


class Times(NamedTuple):
    """Milliseconds for one clip: decoding it when it is prepared, and all from its samples on when it is not."""

    prepared: float
    unprepared: float


@dataclass(frozen=True, slots=True)
class Trial:
    """What sources that draft together need; none of them is the target alone. Kinds they can't draft are missing."""

    sources: frozenset[int]
    times: Mapping[Kind, Times]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The trials of a target and its sources on a machine, and what went wrong with sources that are left out."""

    trials: tuple[Trial, ...]
    faults: Mapping[int, str]

    def without(self, sources: Collection[int]) -> "Evidence":
        """The same without the trials of these sources."""
        return Evidence(
            tuple(trial for trial in self.trials if trial.sources.isdisjoint(sources)), self.faults
        )

    def failing(self, faults: Mapping[int, str]) -> "Evidence":
        """The same once these sources have turned out to fail."""
        return Evidence(self.without(faults).trials, {**self.faults, **faults})


def choose(
    evidence: Evidence, instruction: Instruction, *, prepared: bool, always: bool = False
) -> frozenset[int]:
    """The sources that are to draft: the fastest, if they beat the target alone; none where nothing does.

    Under `always` somebody drafts. Where the language is unknown, all that may be chosen once it is known.
    """
    kinds = _kinds(instruction)
    return frozenset[int]().union(
        *(_best(evidence.trials, kind, prepared=prepared, always=always) for kind in kinds)
    )


def describe(evidence: Evidence, names: Sequence[str]) -> str:
    """One line with all times; `names` are those of the sources."""
    return "; ".join(
        f"{'+'.join(names[source] for source in sorted(trial.sources)) or 'alone'}: "
        + ", ".join(
            f"{kind} {times.prepared:.0f} ms prepared, {times.unprepared:.0f} ms not"
            for kind, times in trial.times.items()
        )
        for trial in evidence.trials
        if trial.times
    )


def _kinds(instruction: Instruction) -> tuple[Kind, ...]:
    if instruction.task != "transcribe":
        return ("translation",) if instruction.task == "translate" else ("question",)
    transcribing: dict[str | None, tuple[Kind, ...]] = {None: ("english", "other"), "en": ("english",)}
    return transcribing.get(instruction.language, ("other",))


def _best(trials: Collection[Trial], kind: Kind, *, prepared: bool, always: bool) -> frozenset[int]:
    times = {
        trial.sources: trial.times[kind].prepared if prepared else trial.times[kind].unprepared
        for trial in trials
        if kind in trial.times
    }
    alone = times.pop(frozenset(), None)
    if not times or alone is None:
        # A language may be spoken by sources that do not speak the one that was measured.
        return frozenset[int]().union(*(trial.sources for trial in trials)) if always else frozenset()
    best = min(times, key=lambda sources: times[sources])
    return best if always or times[best] <= (1 - MARGIN) * alone else frozenset()
