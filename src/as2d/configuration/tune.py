"""Chooses drafter, budget, core split and batch by replay: the best over development windows, for each kind of request.

Replay gives a score for every window and configuration; all else here is pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import get_args

from as2d.configuration.method import DEFAULT_BUDGET
from as2d.configuration.tuned import Choice, Grounds, Group, Half, Objective
from as2d.errors import InputError
from as2d.models.whisper.calibrate import is_for_calibration
from as2d.replay.configuration import Configuration
from as2d.replay.costs import Costs
from as2d.replay.oracle import hindsight
from as2d.replay.score import DONE, LATENCY, Clock, Score, pooled_tps
from as2d.replay.sweep import Scores, simulate_all
from as2d.replay.trace import Traces, WindowTrace

OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
CLOCKS: Mapping[Objective, Clock] = {"throughput": DONE, "latency": LATENCY}
"""The time that counts. The tokens are always the same, so the most of them a second are the least time in all."""

_PART = 64
"""Windows that are simulated between two reports of progress."""

Progress = Callable[[int], None]
"""Told how many windows are simulated so far."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What was chosen for one kind of request, and the scores behind it: of the development `windows` (by index) and of
    the test windows, of which there may be none."""

    objective: Objective
    group: Group
    windows: Sequence[int]
    scores: Scores
    test: Scores
    chosen: Configuration

    @property
    def clock(self) -> Clock:
        """The time that counts."""
        return CLOCKS[self.objective]

    @property
    def choice(self) -> Choice:
        """What was chosen, as it is kept."""
        one = self.chosen
        drafter = one.drafted[0] if one.drafted else None
        return Choice(drafter, one.budget if drafter else 0, one.drafter_threads, one.batch, one.floor)


@dataclass(frozen=True, slots=True)
class Rules:
    """What may be chosen: the drafters without an encoder, the highest 95th percentile of latencies in milliseconds
    (None: any), and the half that is tuned on (None: all windows)."""

    sharing: frozenset[str]
    latency_limit_ms: float | None = None
    half: Half | None = None


def simulate(
    traces: Traces,
    configurations: Sequence[Configuration],
    costs: Costs,
    objective: Objective,
    *,
    workers: int,
    progress: Progress,
) -> Scores:
    """Every window under every configuration, prepared or not as the objective has it. Raises as `simulate_all`."""
    found: dict[Configuration, list[Score]] = {one: [] for one in configurations}
    prepared = objective == "throughput"
    for start in range(0, len(traces.windows), _PART):
        part = Traces(traces.provenance, traces.windows[start : start + _PART])
        scores = simulate_all(part, configurations, costs, prepared=prepared, workers=workers)
        for one, row in scores.items():
            found[one] += row
        progress(start + len(part.windows))
    return found


def tune(
    windows: Sequence[WindowTrace], scores: Scores, objective: Objective, rules: Rules
) -> Iterator[Tuning]:
    """A choice for each group of windows. InputError where no configuration is quick enough, or no window is left."""
    development = [index for index, window in enumerate(windows) if rules.half in (None, half_of(window))]
    if not development:
        raise InputError(f"no window is of half {rules.half}; take more clips, or leave --half out")
    test = sorted(set(range(len(windows))).difference(development))
    for group in _groups(windows[index] for index in development):
        allowed = _allowed(scores, objective, group, rules.sharing)
        known, held_back = (
            [index for index in some if _belongs(windows[index], group)] for some in (development, test)
        )
        scored, tested = (of_windows(allowed, some) for some in (known, held_back))
        chosen = choose(scored, CLOCKS[objective], rules.latency_limit_ms)
        yield Tuning(objective, group, known, scored, tested, chosen)


def choose(scores: Scores, clock: Clock, latency_limit_ms: float | None = None) -> Configuration:
    """The configuration with the highest pooled tokens a second, of equals the first.

    InputError where none keeps the limit of the 95th percentile of latencies.
    """
    return hindsight(quick(scores, latency_limit_ms), clock).fixed[0][0]


def quick(scores: Scores, latency_limit_ms: float | None) -> Scores:
    """Those that keep the limit; InputError where none does."""
    if latency_limit_ms is None:
        return scores
    slowest = {one: quantile([score.latency_ms for score in row], 0.95) for one, row in scores.items()}
    found = {one: row for one, row in scores.items() if slowest[one] <= latency_limit_ms}
    if not found:
        raise InputError(
            f"no configuration answers 95% of the windows within {latency_limit_ms:g} ms, and the quickest needs "
            f"{min(slowest.values()):.0f} ms; allow that much"
        )
    return found


def grounds(scores: Scores, chosen: Configuration, clock: Clock) -> Grounds:
    """What the scores of some windows, one at least, say of a configuration. The oracle has fixed budgets only, as
    the paper's: a choice with a floor may surpass it."""
    latencies = [score.latency_ms for score in scores[chosen]]
    return Grounds(
        windows=len(latencies),
        tps=pooled_tps(scores[chosen], clock),
        tps_budget_7=at_budget(scores, chosen.drafted, DEFAULT_BUDGET, clock),
        tps_target_only=max(pooled_tps(row, clock) for one, row in scores.items() if not one.drafted),
        tps_oracle=hindsight(fixed(scores), clock).tps,
        latency_p50_ms=quantile(latencies, 0.5),
        latency_p95_ms=quantile(latencies, 0.95),
    )


def at_budget(scores: Scores, drafters: tuple[str, ...], budget: int, clock: Clock) -> float | None:
    """The highest pooled tokens a second with that fixed budget: of these drafters, or of any where there are none."""
    found = (
        pooled_tps(row, clock)
        for one, row in fixed(scores).items()
        if one.budget == budget and drafters in ((), one.drafters)
    )
    return max(found, default=None)


def fixed(scores: Scores) -> Scores:
    """Those of configurations without a floor."""
    return {one: row for one, row in scores.items() if not one.floor}


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of the values that so large a share of them does not surpass."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def of_windows(scores: Scores, indices: Sequence[int]) -> Scores:
    """The scores of these windows only."""
    return {one: [row[index] for index in indices] for one, row in scores.items()}


def half_of(window: WindowTrace) -> Half:
    """A: the half whose clips the drafters' heads were calibrated with, so that B is new to them too."""
    clip, _, _ = window.window.rpartition("#")
    return "A" if is_for_calibration(clip) else "B"


def _groups(windows: Iterable[WindowTrace]) -> tuple[Group, ...]:
    """Those that the windows tell of: any only where there are English and other ones."""
    english = {window.language == "en" for window in windows}
    if len(english) == 2:
        return ("english", "other", "any")
    return ("english",) if True in english else ("other",)


def _belongs(window: WindowTrace, group: Group) -> bool:
    return group == "any" or (window.language == "en") == (group == "english")


def _allowed(scores: Scores, objective: Objective, group: Group, sharing: frozenset[str]) -> Scores:
    """While the language is not known, a drafter with an encoder would encode what it may not speak."""
    if (objective, group) != ("latency", "any"):
        return scores
    return {one: row for one, row in scores.items() if sharing.issuperset(one.drafted)}
