"""Why a configuration was chosen, as a picture: tokens a second by budget, and the chosen point."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from as2d.configuration.explain import budget_curves
from as2d.configuration.tune import Tuning, grounds
from as2d.configuration.tuned import Objective
from as2d.evaluation.plots.picture import draw_page
from as2d.evaluation.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION

_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE)
_CLOCKS = {"throughput": "prepared audio", "latency": "from samples to the answer"}


def draw_tunings(tunings: Sequence[Tuning], path: Path) -> None:
    """Write the PNG, 900 pixels wide: a row for each objective, a panel for each group of languages.

    MissingExtraError without matplotlib; InputError where it cannot be written.
    """
    rows = {one.objective: [each for each in tunings if each.objective == one.objective] for one in tunings}
    draw_page(partial(_draw, rows=rows), path, (9, 1.0 + 2.9 * len(rows)), option="--out")


def _draw(figure: Any, rows: Mapping[Objective, Sequence[Tuning]]) -> None:
    columns = max(map(len, rows.values()))
    panels = figure.subplots(len(rows), columns, squeeze=False, sharey="row")
    for axes, row in zip(panels, rows.values(), strict=True):
        _draw_row(axes, row)
    _finish(figure)


def _draw_row(panels: Sequence[Any], tunings: Sequence[Tuning]) -> None:
    for axes, tuning in zip(panels, tunings, strict=False):
        _draw_panel(axes, tuning)
    for axes in panels[len(tunings) :]:
        axes.set_axis_off()
    panels[0].set_ylabel(f"tokens/s, {_CLOCKS[tunings[0].objective]}")


def _draw_panel(axes: Any, tuning: Tuning) -> None:
    known, choice = grounds(tuning.scores, tuning.chosen, tuning.clock), tuning.choice
    curves = budget_curves(tuning)
    for colour, (drafter, curve) in zip(_COLOURS, curves.items(), strict=False):
        axes.plot(list(curve), list(curve.values()), label=drafter, color=colour, marker=".", markersize=4)
    axes.axhline(known.tps_target_only, color=BLACK, linewidth=1, label="target-only")
    axes.axhline(
        known.tps_oracle, color=GREY, linewidth=1, linestyle="--", label="best of each window in hindsight"
    )
    chosen = {"color": BLACK, "marker": "*", "markersize": 12, "linestyle": "none", "zorder": 3}
    axes.plot([choice.budget], [known.tps], label="chosen", **chosen)
    # So small that a long label does not reach the next panel.
    axes.set_title(f"{tuning.group}: {choice.label}", fontsize=9)
    axes.set_xlabel("budget")
    axes.set_xticks(range(0, 25, 4))


def _finish(figure: Any) -> None:
    labelled: dict[str, Any] = {}
    for axes in figure.axes:
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
        handles, labels = axes.get_legend_handles_labels()
        labelled |= dict(zip(labels, handles, strict=True))
    figure.legend(labelled.values(), labelled, loc="outside lower center", ncols=5)
