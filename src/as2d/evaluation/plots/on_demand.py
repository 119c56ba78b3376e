"""Response latency over the position of the request in the recording (the paper's Figure 7)."""

from collections.abc import Sequence
from typing import Any

from as2d.evaluation.analysis.labels import label
from as2d.evaluation.contender import Contender
from as2d.evaluation.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION
from as2d.evaluation.requests.ondemand import Answered
from as2d.evaluation.requests.ondemand_report import latencies

_DRAFTED = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE)


def draw_on_demand(figure: Any, answers: Sequence[Answered], contenders: Sequence[Contender]) -> None:
    """Two panels: audio prepared, and nothing prepared. Lines are medians, bands from the least to the most."""
    panels = figure.subplots(1, 2)
    for axes, prepared in zip(panels, (True, False), strict=True):
        for contender, colour in zip(contenders, _colours(contenders), strict=True):
            _draw_contender(axes, answers, contender, colour, prepared=prepared)
        axes.set(
            title="audio prepared" if prepared else "nothing prepared", xlabel="position of the request, s"
        )
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    panels[0].set_ylabel("response latency, ms")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(3, max(1, len(labels))))


def _draw_contender(
    axes: Any, answers: Sequence[Answered], contender: Contender, colour: str, *, prepared: bool
) -> None:
    medians = latencies(answers, contender.key, prepared=prepared)
    spans = [_span(answers, contender.key, position, prepared=prepared) for position in medians]
    places = list(medians)
    line = {"color": colour, "marker": "o", "markersize": 3.5, "linewidth": 2 if contender.drafter else 1.5}
    axes.plot(places, list(medians.values()), label=_name(contender), **line)
    lows, highs = [low for low, _ in spans], [high for _, high in spans]
    axes.fill_between(places, lows, highs, color=colour, alpha=0.15, linewidth=0)


def _span(
    answers: Sequence[Answered], contender: str, position: float, *, prepared: bool
) -> tuple[float, float]:
    found = [
        answer.latency_ms
        for answer in answers
        if (answer.contender, answer.position_s, answer.prepared) == (contender, position, prepared)
    ]
    return min(found), max(found)


def _colours(contenders: Sequence[Contender]) -> list[str]:
    drafted = iter(_DRAFTED * len(contenders))
    return [next(drafted) if one.drafter else GREY if one.cores == 1 else BLACK for one in contenders]


def _name(contender: Contender) -> str:
    name = label(contender.method, contender.drafter, contender.budget)
    return (
        name if contender.drafter else f"{name}, {contender.cores} core{'s' if contender.cores > 1 else ''}"
    )
