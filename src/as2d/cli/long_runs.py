"""What the commands share that measure requests for a long time."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from as2d.cli.report import say
from as2d.errors import MissingExtraError
from as2d.evaluation.measuring.journal import make_folder, write_whole
from as2d.evaluation.plots.picture import draw_picture

Out = Annotated[Path, typer.Option(metavar="DIR", help="The report, all figures and the picture go there.")]
Drafters = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Drafters, named as for `as2d transcribe`, each in turn. Without: those that come with as2d.",
    ),
]
JoinedLanguages = Annotated[
    str, typer.Option("--languages", metavar="A,B", help="Languages of the clips that are joined.")
]


def only(languages: tuple[str, ...] | None) -> str | None:
    """The language of all clips, if they have one."""
    return languages[0] if languages and len(languages) == 1 else None


def write_report(folder: Path, name: str, content: Mapping[str, Any], report: str) -> None:
    """Write NAME.json and NAME.md into the folder, which is made. InputError where that cannot be."""
    make_folder(folder)
    write_whole(folder / f"{name}.json", json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    write_whole(folder / f"{name}.md", report)


def make_picture(draw: Callable[[Any], None], path: Path, inform: Callable[[str], None]) -> None:
    """Draw and save; without matplotlib, only say so."""
    try:
        draw_picture(draw, path)
    except MissingExtraError as error:
        inform(f"no picture: {error}")


def informing(*, quiet: bool) -> Callable[[str], None]:
    """Says things on stderr, or nothing."""
    return _ignore if quiet else say


def _ignore(message: str) -> None:
    """Say nothing."""
