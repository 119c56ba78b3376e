"""Tokens a second of each window, by method and kind of recording (the paper's Figure 5)."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from as2d.evaluation.analysis.metrics import Sample, tokens
from as2d.evaluation.plots.style import add_legend, colour, name
from as2d.evaluation.rows import Row

_KINDS = 6
"""Most kinds side by side; the rarest are drawn together."""

_OTHERS = "other kinds"


def draw_distribution(figure: Any, samples: Mapping[str, Sample]) -> str | None:
    """Draw it; or say why it cannot be drawn."""
    if not tokens([row for sample in samples.values() for row in sample]):
        return "no window in which target-only or a method of ours said anything"
    kinds = _kinds([row for sample in samples.values() for row in sample])
    axes = figure.add_subplot()
    for place, sample in enumerate(samples.values()):
        _draw_contender(axes, sample, kinds, place, len(samples))
    _finish(axes, kinds)
    add_legend(figure, {name(sample[0]): colour(sample[0]) for sample in samples.values()}, columns=3)
    return None


def _kinds(rows: Sequence[Row]) -> dict[str, int]:
    """Windows of each kind, the most frequent first; kinds beyond the limit count together."""
    counts = Counter({row.window: row.kind for row in rows}.values())
    ordered = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    if len(ordered) <= _KINDS:
        return ordered
    kept = dict(list(ordered.items())[: _KINDS - 1])
    return kept | {_OTHERS: counts.total() - sum(kept.values())}


def _draw_contender(axes: Any, sample: Sample, kinds: Mapping[str, int], place: int, places: int) -> None:
    """Boxes from quartile to quartile, whiskers from 5% to 95%, and every window as a dot."""
    width = 0.84 / places
    centres = [index + (place - (places - 1) / 2) * width for index in range(len(kinds))]
    speeds = [_speeds(sample, kind, kinds) for kind in kinds]
    shade = colour(sample[0])
    line = {"color": shade, "linewidth": 1.2}
    axes.boxplot(
        speeds,
        positions=centres,
        widths=0.8 * width,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": shade, "alpha": 0.35, "edgecolor": shade},
        medianprops={"color": shade, "linewidth": 2},
        whiskerprops=line,
        capprops=line,
    )
    _draw_dots(axes, speeds, centres, width, shade)


def _draw_dots(
    axes: Any, speeds: Sequence[Sequence[float]], centres: Sequence[float], width: float, shade: str
) -> None:
    spread = random.Random(0)
    points = [
        (centre + spread.uniform(-0.3, 0.3) * width, speed)
        for centre, members in zip(centres, speeds, strict=True)
        for speed in members
    ]
    axes.scatter(
        [across for across, _ in points], [up for _, up in points], s=5, color=shade, alpha=0.45, linewidths=0
    )


def _speeds(sample: Sample, kind: str, kinds: Mapping[str, int]) -> list[float]:
    """Tokens a second of the windows of a kind."""
    return [
        1000 * len(row.tokens) / row.producer_done_ms
        for row in sample
        if (row.kind if row.kind in kinds else _OTHERS) == kind and row.tokens
    ]


def _finish(axes: Any, kinds: Mapping[str, int]) -> None:
    windows = [f"{kind}\n{count} window{'s' if count > 1 else ''}" for kind, count in kinds.items()]
    axes.set_xticks(range(len(kinds)), windows)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(kinds) - 0.5)
    axes.set_xlabel(
        "boxes: quartiles and median; whiskers: 5% and 95%; dots: windows", color="#444444", fontsize=9
    )
    axes.set_ylim(bottom=0)
    axes.set_ylabel("useful tokens a second, each window")
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
