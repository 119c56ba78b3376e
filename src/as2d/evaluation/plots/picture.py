"""Pictures, saved as files. The same figures give the same files, byte for byte."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from as2d.errors import InputError
from as2d.evaluation.plots.style import STYLE
from as2d.extras import import_optional

_PIXELS_AN_INCH = 100
"""Of a page."""


def require_drawing() -> None:
    """MissingExtraError without matplotlib."""
    import_optional("matplotlib", "bench")


def draw_page(draw: Callable[[Any], None], path: Path, inches: tuple[float, float], *, option: str) -> None:
    """Draw into a figure of that width and height, and write it as PNG, with 100 pixels an inch.

    MissingExtraError without matplotlib; InputError, which names the option, where it cannot be written.
    """
    matplotlib = import_optional("matplotlib", "bench")
    with matplotlib.rc_context({**STYLE, "font.size": 9}):
        figure = empty_figure()
        figure.set_size_inches(inches)
        draw(figure)
        try:
            figure.savefig(path, format="png", dpi=_PIXELS_AN_INCH, metadata={"Software": None})
        except OSError as error:
            raise InputError(f"cannot write {path} ({error.strerror}); name another {option}") from error


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
