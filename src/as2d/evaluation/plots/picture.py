"""Pictures, saved as PNG and SVG. The same figures give the same files, byte for byte."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from as2d.errors import InputError
from as2d.evaluation.plots.style import STYLE
from as2d.extras import import_optional


def draw_picture(draw: Callable[[Any], None], path: Path) -> tuple[Path, ...]:
    """Draw into a figure, and write `path` with .png and .svg into an existing folder.

    MissingExtraError without matplotlib; InputError where a file cannot be written.
    """
    matplotlib = import_optional("matplotlib", "bench")
    with matplotlib.rc_context(STYLE):
        figure = empty_figure()
        draw(figure)
        return save_figure(figure, path)


def empty_figure() -> Any:
    """A figure to draw into. MissingExtraError without matplotlib."""
    return import_optional("matplotlib.figure", "bench").Figure(layout="constrained")


def save_figure(figure: Any, path: Path) -> tuple[Path, ...]:
    """Write `path` with .png and .svg into an existing folder; InputError where a file cannot be written."""
    metadata = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}}
    files = {path.with_suffix(suffix): told for suffix, told in metadata.items()}
    for file, told in files.items():
        try:
            figure.savefig(file, metadata=told)
        except OSError as error:
            raise InputError(f"cannot write {file} ({error}); name another --out or make room") from error
    return tuple(files)
