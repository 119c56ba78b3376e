"""A profile as a picture: what verifying costs and saves, and how much the two sides disturb each other."""

from functools import partial
from pathlib import Path
from typing import Any

from as2d.evaluation.plots.picture import draw_page
from as2d.evaluation.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION
from as2d.profiling.profile import Profile
from as2d.profiling.summary import Side, contentions, context_of, savings, target_sides, verifying

_ALONE = ((BLACK, "-"), (GREY, "-"))
_BESIDE = ((BLUE, "--"), (VERMILLION, "--"), (GREEN, "--"), (PURPLE, "--"), (ORANGE, "--"), (SKY, "--"))


def draw_profile(profile: Profile, path: Path) -> None:
    """Write the PNG, 900 pixels wide. MissingExtraError without matplotlib; InputError where it cannot be written."""
    draw_page(partial(_draw, profile=profile), path, (9, 7.2), option="--png")


def _draw(figure: Any, profile: Profile) -> None:
    panels = figure.subplots(2, 2)
    _draw_verifying(panels[0][0], panels[0][1], profile)
    _draw_target_contention(panels[1][0], profile)
    _draw_drafter_contention(panels[1][1], profile)
    _finish(figure, panels[0][0], profile)


def _draw_verifying(times: Any, saved: Any, profile: Profile) -> None:
    """Medians with their spread, and what follows from the medians."""
    for side, look in _looks(profile).items():
        curve = verifying(profile, side)
        widths = range(1, len(curve) + 1)
        medians = [timing.ms for timing in curve]
        spreads = [timing.spread_ms for timing in curve]
        times.errorbar(widths, medians, spreads, label=side.label, elinewidth=0.8, **look)
        saved.plot(widths, savings(curve), **look)
    times.set(title="V(K): one call that verifies K tokens", xlabel="K", ylabel="ms", ylim=(0, None))
    saved.set(title="Saving: K · V(1) / V(K)", xlabel="K", ylabel="times", ylim=(0, None))


def _draw_target_contention(axes: Any, profile: Profile) -> None:
    for side, look in _looks(profile).items():
        found = [
            c for c in contentions(profile) if c.model == profile.plan.target and c.beside == side.beside
        ]
        if found:
            axes.plot([c.width for c in found], [c.ratio for c in found], **look)
    axes.axhline(1, color=BLACK, linewidth=0.8)
    title = f"{profile.plan.target} beside a drafter at work"
    axes.set(title=title, xlabel="K", ylabel="time / time alone, same cores")


def _draw_drafter_contention(axes: Any, profile: Profile) -> None:
    found = [c for c in contentions(profile) if c.model != profile.plan.target]
    drafters = list(dict.fromkeys(c.model for c in found))
    colours = {model: _BESIDE[index % len(_BESIDE)][0] for index, model in enumerate(drafters)}
    places = range(len(found))
    bars = axes.bar(places, [c.ratio for c in found], color=[colours[c.model] for c in found], width=0.6)
    axes.bar_label(bars, fmt="%.2f")
    axes.set_xticks(places, [f"{c.model}\nK={c.beside.width}" for c in found], fontsize=8)
    axes.axhline(1, color=BLACK, linewidth=0.8)
    axes.set(title="A drafter's token while the target verifies K", ylabel="time / time alone, same cores")


def _looks(profile: Profile) -> dict[Side, dict[str, Any]]:
    """A colour and a line for each side; beside the same drafter it is the drafter's."""
    looks: dict[Side, dict[str, Any]] = {}
    sides = target_sides(profile.plan)
    for side in sides:
        others = [other for other in sides if bool(other.beside) == bool(side.beside)]
        styles = _BESIDE if side.beside else _ALONE
        colour, line = styles[others.index(side) % len(styles)]
        looks[side] = {"color": colour, "linestyle": line, "marker": ".", "markersize": 4, "linewidth": 1.3}
    return looks


def _finish(figure: Any, labelled: Any, profile: Profile) -> None:
    plan, machine = profile.plan, profile.machine
    for axes in figure.axes:
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    handles, labels = labelled.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)))
    figure.suptitle(
        f"{plan.target} on {machine.cores} cores, {machine.engine}; context {context_of(plan)}, "
        f"audio {plan.audio_s[0]:g} s; bars: half the interquartile range",
        fontsize=9,
    )
