"""Rows in, picture files out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from as2d.evaluation.analysis.choice import best_of_each
from as2d.evaluation.analysis.metrics import Sample, by_contender
from as2d.evaluation.plots.distribution import draw_distribution
from as2d.evaluation.plots.picture import empty_figure, save_figure
from as2d.evaluation.plots.speed_ups import draw_speed_ups
from as2d.evaluation.plots.style import STYLE
from as2d.evaluation.plots.time_line import draw_time_line
from as2d.evaluation.rows import Row
from as2d.extras import import_optional

_PICTURES = {"distribution": draw_distribution, "speed-up": draw_speed_ups, "time-line": draw_time_line}


class Drawn(NamedTuple):
    """The files that were written, and what could not be drawn and why."""

    files: tuple[Path, ...]
    skipped: tuple[str, ...]


def draw(rows: Sequence[Row], folder: Path) -> Drawn:
    """Draw what the rows allow into an existing folder: distribution, speed-up and time line, each as .png and .svg.

    The same rows give the same files, byte for byte, with the same matplotlib. MissingExtraError without matplotlib;
    InputError where the folder cannot be written.
    """
    matplotlib = import_optional("matplotlib", "bench")
    samples = by_contender(rows)
    chosen = {key: samples[key] for key in best_of_each(samples)}
    files: list[Path] = []
    skipped: list[str] = []
    with matplotlib.rc_context(STYLE):
        for name, picture in _PICTURES.items():
            reason = _draw_one(picture, chosen, folder / name, files)
            skipped += [f"{name}: {reason}"] if reason else []
    return Drawn(tuple(files), tuple(skipped))


def _draw_one(picture: Any, samples: Mapping[str, Sample], path: Path, files: list[Path]) -> str | None:
    """Draw and save one picture; gives the reason where the rows do not allow it."""
    figure = empty_figure()
    if reason := picture(figure, samples):
        return str(reason)
    files += save_figure(figure, path)
    return None
