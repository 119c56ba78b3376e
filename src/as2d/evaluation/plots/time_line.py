"""One window as it went: what the drafter and the target computed when, and what each round committed."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from as2d.evaluation.analysis.choice import best_serial
from as2d.evaluation.analysis.metrics import Sample, ms_a_token, paired, pooled_tps
from as2d.evaluation.plots.style import BLUE, ORANGE, ORIGIN_COLOURS, add_legend, name
from as2d.evaluation.rows import Row, Span, Step, TimeLine

_DRAFTING, _VERIFYING, _COMMITS = 3.1, 2.1, 0.0
"""Where the lanes begin, from below."""

_HEIGHT, _STACK = 0.8, 1.9
"""How high the lanes of spans and of commits are."""

_READABLE = 0.011
"""Share of the time axis that a number needs."""


class _Side(NamedTuple):
    """A window's row and the time line of one of its runs, whose times need not be the row's medians."""

    row: Row
    line: TimeLine

    @property
    def end(self) -> float:
        """When the last token was committed."""
        return self.line.commits[-1].at


def draw_time_line(figure: Any, samples: Mapping[str, Sample]) -> str | None:
    """Draw it; or say why it cannot be drawn."""
    sides = _typical_window(samples)
    if sides is None:
        return "no window has a time line of both AS²D and a serial method"
    end = 1.02 * max(side.end for side in sides)
    most = max(len(step.origins) for side in sides for step in side.line.commits)
    panels = figure.subplots(2, sharex=True)
    for panel, side in zip(panels, sides, strict=True):
        panel.set_xlim(0, end)
        _draw_side(panel, side, most, end)
    panels[-1].set_xlabel(f"milliseconds after the first root was ready, window {sides[0].row.window}")
    add_legend(figure, {"drafting": ORANGE, "verifying, K inside": BLUE} | ORIGIN_COLOURS, columns=6)
    return None


def _typical_window(samples: Mapping[str, Sample]) -> tuple[_Side, _Side] | None:
    """AS²D and the best serial method on the window whose speed-up is the nearest to that of all windows."""
    ahead = next((sample for sample in samples.values() if sample[0].method == "as2d"), ())
    serial = samples.get(best_serial(samples, {row.window for row in ahead}) or "", ())
    drawable = [
        (_Side(row, row.time_line), _Side(other, other.time_line))
        for row, other in paired(ahead, serial)
        if row.time_line and row.time_line.commits and other.time_line and other.time_line.commits
    ]
    if not drawable:
        return None
    pooled = pooled_tps(ahead) / pooled_tps(serial)
    return min(drawable, key=lambda pair: abs(ms_a_token(pair[1].row) / ms_a_token(pair[0].row) - pooled))


def _draw_side(panel: Any, side: _Side, most: int, end: float) -> None:
    row, line = side
    _draw_spans(panel, line.drafting, _DRAFTING, ORANGE)
    _draw_spans(panel, line.verifying, _VERIFYING, BLUE)
    _write_widths(panel, line.verifying, end)
    _draw_commits(panel, line.commits, _STACK / most, 0.008 * end)
    panel.axvline(side.end, ymax=0.97, color="black", linewidth=1, linestyle=":", zorder=0)
    panel.set_title(f"{name(row)}: {len(row.tokens)} tokens in {side.end:.0f} ms")
    places = (_DRAFTING + _HEIGHT / 2, _VERIFYING + _HEIGHT / 2, _COMMITS + _STACK / 2)
    panel.set_yticks(places, ["drafting", "verifying", "committed\ntokens"])
    panel.set_ylim(_COMMITS - 0.1, _DRAFTING + _HEIGHT + 0.1)
    panel.tick_params(axis="y", length=0)


def _draw_spans(panel: Any, spans: Sequence[Span], bottom: float, shade: str) -> None:
    bars = [(span.start, span.end - span.start) for span in spans]
    panel.broken_barh(bars, (bottom, _HEIGHT), facecolor=shade, edgecolor="white", linewidth=0.4)


def _write_widths(panel: Any, spans: Sequence[Span], end: float) -> None:
    """The K of each round whose bar is wide enough for the number."""
    for span in spans:
        if span.end - span.start >= _READABLE * len(str(span.width)) * end:
            middle = (span.start + span.end) / 2
            panel.text(
                middle,
                _VERIFYING + _HEIGHT / 2,
                str(span.width),
                color="white",
                fontsize=8,
                ha="center",
                clip_on=True,
                va="center",
            )


def _draw_commits(panel: Any, commits: Sequence[Step], height: float, width: float) -> None:
    """The tokens of each commit, the first at the bottom."""
    for origin, shade in ORIGIN_COLOURS.items():
        tokens = [
            (step.at, index)
            for step in commits
            for index, came_from in enumerate(step.origins)
            if came_from == origin
        ]
        panel.bar(
            [at for at, _ in tokens],
            height,
            width,
            [_COMMITS + index * height for _, index in tokens],
            color=shade,
            edgecolor="white",
            linewidth=0.4,
        )
