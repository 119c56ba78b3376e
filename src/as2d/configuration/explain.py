"""Why a configuration was chosen, as Markdown. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from as2d.configuration.method import DEFAULT_BUDGET
from as2d.configuration.tune import Tuning, fixed, grounds, of_windows
from as2d.configuration.tuned import Choice, Grounds
from as2d.replay.configuration import Configuration
from as2d.replay.score import pooled_tps
from as2d.replay.sweep import Scores
from as2d.runtime.exactness import MAX_BUDGET

CONTROLS = (3, DEFAULT_BUDGET, 15)
"""Fixed budgets to compare with."""

_Row = Sequence[str]


def choices(tunings: Iterable[Tuning]) -> str:
    """A line for each kind of request, and one for its test windows."""
    header = (
        *("objective", "language", "windows", "chosen", "tokens/s", "× target-only", "× budget 7"),
        *("of the oracle", "p50 ms", "p95 ms"),
    )
    return table(header, (row for tuning in tunings for row in _chosen(tuning)))


def reasons(tuning: Tuning, by_factor: Mapping[float, Tuning], ablated_scores: Scores) -> str:
    """All tables about one kind of request: by budget, by floor, fixed configurations, ablations and sensitivity."""
    parts = [
        f"## {tuning.objective}, {tuning.group}: {tuning.choice.label}",
        by_budget(tuning),
        by_floor(tuning),
        controls(tuning),
        ablations(tuning, ablated_scores),
        sensitivity(tuning, by_factor),
    ]
    return "".join(f"\n{part.rstrip()}\n" for part in parts)


def by_budget(tuning: Tuning) -> str:
    """Pooled tokens a second of each drafter by budget: the best of its core splits and batches."""
    curves = budget_curves(tuning)
    alone = f"{grounds(tuning.scores, tuning.chosen, tuning.clock).tps_target_only:.1f}"
    rows = [("0", *(alone for _ in curves))]
    rows += [
        (str(budget), *(f"{curve[budget]:.1f}" for curve in curves.values()))
        for budget in range(1, MAX_BUDGET + 1)
    ]
    return table(("budget", *curves), rows)


def budget_curves(tuning: Tuning) -> dict[str, dict[int, float]]:
    """For each drafter the pooled tokens a second by fixed budget, of the best of its core splits and batches."""
    curves: dict[str, dict[int, float]] = {}
    for one, row in fixed(tuning.scores).items():
        for drafter in one.drafted:
            curve = curves.setdefault(drafter, {})
            curve[one.budget] = max(curve.get(one.budget, 0.0), pooled_tps(row, tuning.clock))
    return curves


def by_floor(tuning: Tuning) -> str:
    """Pooled tokens a second of each drafter with a floor, by budget: the best of its core splits."""
    floored = [one for one in tuning.scores if one.floor]
    budgets = sorted({one.budget for one in floored})
    best: dict[tuple[str, float], dict[int, float]] = {}
    for one in floored:
        row = best.setdefault((one.drafted[0], one.floor), dict.fromkeys(budgets, 0.0))
        row[one.budget] = max(row[one.budget], pooled_tps(tuning.scores[one], tuning.clock))
    return table(
        ("floor", *(f"b{budget}" for budget in budgets)),
        (
            (f"{drafter} {floor:g}", *map("{:.1f}".format, row.values()))
            for (drafter, floor), row in best.items()
        ),
    )


def controls(tuning: Tuning) -> str:
    """The choice beside fixed configurations."""
    known = grounds(tuning.scores, tuning.chosen, tuning.clock)
    fixed = {
        f"{drafter} b{budget}": curve[budget]
        for drafter, curve in budget_curves(tuning).items()
        for budget in CONTROLS
    }
    fixed["target-only"] = known.tps_target_only
    rows = ((name, f"{tps:.1f}", _share(tps, known.tps)) for name, tps in fixed.items())
    return table(("fixed", "tokens/s", "of the chosen"), rows)


def ablated(tuning: Tuning) -> tuple[Configuration, ...]:
    """The chosen configuration without decoupling and without a budget; nothing where nobody drafts."""
    if not tuning.chosen.drafted:
        return ()
    return (
        replace(tuning.chosen, method="as2d-without-decoupling", floor=0.0),
        replace(tuning.chosen, method="as2d-without-budget", floor=0.0),
    )


def ablations(tuning: Tuning, scores: Scores) -> str:
    """The chosen configuration beside the paper's two ablations of it; `scores` are of all windows."""
    compared = {tuning.chosen: tuning.scores[tuning.chosen]}
    compared |= of_windows({one: scores[one] for one in ablated(tuning)}, tuning.windows)
    tps = {one: pooled_tps(row, tuning.clock) for one, row in compared.items()}
    rows = ((one.method, f"{each:.1f}", _share(each, tps[tuning.chosen])) for one, each in tps.items())
    return table(("ablation", "tokens/s", "of as2d"), rows)


def sensitivity(tuning: Tuning, by_factor: Mapping[float, Tuning]) -> str:
    """What would be chosen if target and drafter disturbed each other more or less, and what the choice loses there.

    `by_factor` is what was tuned with contention scaled by each factor.
    """
    rows = []
    for factor, other in sorted(by_factor.items()):
        best, chosen = (pooled_tps(other.scores[one], tuning.clock) for one in (other.chosen, tuning.chosen))
        rows.append((f"{factor:g}", other.choice.label, f"{best:.1f}", _share(chosen, best)))
    return table(("contention ×", "best", "tokens/s", "chosen ÷ best"), rows)


def table(header: _Row, rows: Iterable[_Row]) -> str:
    """Markdown; the first column to the left."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _chosen(tuning: Tuning) -> list[_Row]:
    known = grounds(tuning.scores, tuning.chosen, tuning.clock)
    rows = [_row(tuning.objective, tuning.group, tuning.choice, known)]
    if tuning.test[tuning.chosen]:
        tested = grounds(tuning.test, tuning.chosen, tuning.clock)
        rows.append(_row(f"{tuning.objective}, test", tuning.group, tuning.choice, tested))
    return rows


def _row(objective: str, group: str, choice: Choice, found: Grounds) -> _Row:
    return (
        objective,
        group,
        str(found.windows),
        choice.label,
        f"{found.tps:.1f}",
        _ratio(found.tps, found.tps_target_only),
        _ratio(found.tps, found.tps_budget_7),
        f"{found.oracle_share:.1%}",
        f"{found.latency_p50_ms:.0f}",
        f"{found.latency_p95_ms:.0f}",
    )


def _ratio(part: float, whole: float | None) -> str:
    return f"{part / whole:.3f}" if whole else "—"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "—"
