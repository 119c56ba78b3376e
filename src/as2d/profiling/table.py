"""A profile as text."""

from collections.abc import Sequence
from statistics import median

from as2d.profiling.plan import points
from as2d.profiling.profile import Profile
from as2d.profiling.summary import (
    Contention,
    contentions,
    context_of,
    savings,
    steps,
    target_sides,
    verifying,
)

_Row = tuple[str, ...]


def to_text(profile: Profile) -> str:
    """Everything that a reader looks for, in tables with aligned columns."""
    parts = (_head, _verifying, _contention, _steps, _preparing, _rest)
    return "\n\n".join(filter(None, (part(profile) for part in parts))) + "\n"


def _head(profile: Profile) -> str:
    machine, plan = profile.machine, profile.plan
    return "\n".join(
        (
            f"{machine.host}: {machine.cores} cores, {machine.engine}, as2d {machine.as2d}, {profile.date}",
            f"target {plan.target}, drafters {', '.join(plan.drafters) or 'none'}, {plan.threads} cores together",
            f"audio: {profile.audio}",
            f"noise: half the interquartile range is {profile.noise:.1%} of the time, at the median call",
        )
    )


def _verifying(profile: Profile) -> str:
    plan = profile.plan
    sides = dict(zip("abcdefghijklmnopqrstuvwxyz", target_sides(plan), strict=False))
    curves = [verifying(profile, side) for side in sides.values()]
    columns = [[f"{timing.ms:.2f}" for timing in curve] for curve in curves]
    columns += [[f"{saving:.2f}" for saving in savings(curve)] for curve in curves]
    rows = [(str(width), *row) for width, row in enumerate(zip(*columns, strict=True), 1)]
    header = ("K", *(f"V(K) {key}" for key in sides), *(f"saving {key}" for key in sides))
    return "\n".join(
        (
            f"V(K): ms of one call of {plan.target} that verifies K tokens; saving: K·V(1) / V(K)",
            f"context {context_of(plan)}, audio {plan.audio_s[0]:g} s",
            *(f"{key}: {side.label}" for key, side in sides.items()),
            _aligned(header, rows),
        )
    )


def _contention(profile: Profile) -> str:
    groups: dict[tuple[str, str], list[Contention]] = {}
    for found in contentions(profile):
        groups.setdefault((found.model, found.label), []).append(found)
    rows = [(*names, *_range([found.ratio for found in group])) for names, group in groups.items()]
    title = "contention: time while the other side works / time alone, on the same cores; over the widths"
    return _table(title, ("model", "beside", "median", "least", "most"), rows)


def _range(ratios: Sequence[float]) -> _Row:
    return tuple(f"{ratio:.2f}" for ratio in (median(ratios), min(ratios), max(ratios)))


def _steps(profile: Profile) -> str:
    plan = profile.plan
    rows = [(drafter, side.label, f"{timing.ms:.2f}") for drafter, side, timing in steps(profile)]
    title = f"one token of a drafter; context {context_of(plan)}, audio {plan.audio_s[0]:g} s"
    return _table(title, ("drafter", "cores", "ms"), rows)


def _preparing(profile: Profile) -> str:
    lengths = profile.plan.audio_s
    rows = [
        (
            *(point.doing, point.model, str(point.cores)),
            *(f"{profile.timings[point._replace(audio_s=length)].ms:.1f}" for length in lengths),
        )
        for point in points(profile.plan)
        if point.doing != "forward" and point.beside is None and point.audio_s == lengths[0]
    ]
    header = ("call", "model", "cores", *(f"ms, {length:g} s" for length in lengths))
    return _table("before the first token, alone", header, rows)


def _rest(profile: Profile) -> str:
    overheads = ", ".join(f"{name} {1000 * timing.ms:.1f}" for name, timing in profile.overheads.items())
    memory = ", ".join(f"{name} {mb:.0f}" for name, mb in profile.memory_mb.items())
    return f"overheads in µs: {overheads or '-'}\npeak memory in MB: {memory or '-'}"


def _table(title: str, header: _Row, rows: Sequence[_Row]) -> str:
    return f"{title}\n{_aligned(header, rows)}" if rows else ""


def _aligned(header: _Row, rows: Sequence[_Row]) -> str:
    """Columns two spaces apart, figures to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    right = [all(map(_is_figure, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if figures else cell.ljust(width)
            for cell, width, figures in zip(row, widths, right, strict=True)
        )
        for row in (header, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def _is_figure(cell: str) -> bool:
    return cell.replace(".", "").isdecimal()
