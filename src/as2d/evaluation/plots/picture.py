"""A picture, drawn and saved as PNG and SVG. The same figures give the same files, byte for byte."""

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
    files = []
    with matplotlib.rc_context(STYLE):
        figure = import_optional("matplotlib.figure", "bench").Figure(layout="constrained")
        draw(figure)
        for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None, "Creator": None})):
            file = path.with_suffix(suffix)
            try:
                figure.savefig(file, metadata=metadata)
            except OSError as error:
                raise InputError(f"cannot write {file} ({error}); name another --out or make room") from error
            files.append(file)
    return tuple(files)
