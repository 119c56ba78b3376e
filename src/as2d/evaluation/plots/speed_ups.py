"""How much faster than target-only each window is: all windows, from the slowest gain to the fastest."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from as2d.evaluation.analysis.choice import all_cores, target_only
from as2d.evaluation.analysis.metrics import Sample, ms_a_token, paired
from as2d.evaluation.plots.style import PALE, colour, name

_TICKS = (0.25, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)


def draw_speed_ups(figure: Any, samples: Mapping[str, Sample]) -> str | None:
    """Draw it; or say why it cannot be drawn."""
    cores = all_cores(sample[0] for sample in samples.values())
    baseline = target_only(samples, cores)
    drafted = [sample for sample in samples.values() if sample[0].drafter and paired(sample, baseline)]
    if not drafted:
        return "no method that drafts was run on windows of target-only"
    axes = figure.add_subplot()
    for sample in drafted:
        _draw_curve(axes, sample, baseline)
    _finish(axes, cores)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return None


def _draw_curve(axes: Any, sample: Sample, baseline: Sample) -> None:
    gains = np.sort([ms_a_token(other) / ms_a_token(row) for row, other in paired(sample, baseline)])
    places = 100 * (np.arange(len(gains)) + 0.5) / len(gains)
    slow = float(np.mean(gains < 1))
    first = sample[0].method == "as2d"
    axes.plot(
        places,
        gains,
        color=colour(sample[0]),
        linewidth=2.6 if first else 1.8,
        marker="o" if len(gains) < 40 else None,
        markersize=3.5,
        zorder=3 if first else 2,
        label=f"{name(sample[0])}: {slow:.1%} of {len(gains)} windows slower",
    )


def _finish(axes: Any, cores: int) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    low, high = min(low, 0.8), max(high, 1.25)
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:g}×" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(low, high)
    axes.axhspan(low, 1, color=PALE, zorder=0)
    axes.axhline(1, color="black", linewidth=1)
    axes.text(
        99, low * (1 / low) ** 0.06, "slower than target-only", ha="right", va="bottom", color="#444444"
    )
    axes.set_xlim(0, 100)
    axes.set_xlabel("windows, sorted by speed-up (%)")
    axes.set_ylabel(f"speed-up over target-only, {cores} core{'s' if cores > 1 else ''}")
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
