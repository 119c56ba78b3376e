"""`as2d models`: which models are known, where their files are, and how a drafter's head is calibrated."""

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from as2d.cli.report import say
from as2d.errors import InputError
from as2d.evaluation.corpora import Clip, Selection, read_manifest, select
from as2d.models.store import KNOWN, installed, resolve
from as2d.models.whisper.calibrate import SpokenWindow, calibrate, is_for_calibration
from as2d.models.whisper.model import load_whisper
from as2d.session.recording import Recording

app = typer.Typer(help="List models and find their files.", no_args_is_help=True)

_WINDOWS_A_CLIP = 2
JOINED = "long"
"""The kind of clips that are joined from others; they would bring the same speech into both halves."""

_HEADER = ("name", "licence", "size", "installed", "packages")


@app.command("list")
def list_models() -> None:
    """List the models that have a name: a table on a terminal, tab-separated lines elsewhere."""
    if sys.stdout.isatty():
        Console().print(_table(_rows()))
    else:
        for row in (_HEADER, *_rows()):
            typer.echo("\t".join(row))


@app.command("path")
def path_of_model(
    name: str = typer.Argument(help="A name from `as2d models list`, or a model folder."),
) -> None:
    """Print the files of a model, one a line, once they are checked."""
    files = resolve(name)
    for path in (*files.model_bin, files.config, files.tokenizer):
        typer.echo(path)


@app.command("calibrate")
def calibrate_model(
    name: Annotated[str, typer.Argument(help="A name from `as2d models list`, or a model folder.")],
    corpus: Annotated[Path, typer.Argument(help="A folder with manifest.jsonl: id, path, language, kind.")],
    out: Annotated[Path, typer.Option(help="The .npz file to write.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Use that many clips, drawn by the seed.")] = None,
    seed: Annotated[int, typer.Option(help="Which clips a limit draws.")] = 0,
) -> None:
    """Calibrate the low-rank head of a drafter that shares this model's encoder.

    Hears up to two windows of each clip whose id belongs to the calibration half (the first hexadecimal digit of its
    SHA-1 is even) and that is in a language of the model. The same clips give the same file.
    """
    clips = read_manifest(corpus)
    if not out.absolute().parent.is_dir():
        raise InputError(f"there is no folder {out.absolute().parent}; make it, or name another file")
    model = load_whisper(name)
    try:
        drawn = drawn_clips(clips, model.capabilities.languages, limit, seed)
    except InputError as error:
        raise InputError(
            f"no clip in {corpus} is for calibration and in a language of {model.name}; add clips"
        ) from error
    calibration = calibrate(model, _spoken_windows(drawn))
    try:
        calibration.save(out)
    except OSError as error:
        raise InputError(f"cannot write {out} ({error.strerror}); name another file") from error


def drawn_clips(
    clips: Iterable[Clip], languages: Collection[str], limit: int | None = None, seed: int = 0
) -> list[Clip]:
    """The clips to calibrate with, by id; with a limit the seed draws them. InputError when there is none."""
    half = [clip for clip in clips if is_for_calibration(clip.name) and clip.kind != JOINED]
    drawn = select(half, languages, Selection(limit=limit, seed=seed))
    return sorted(drawn, key=lambda clip: clip.name)


def _spoken_windows(clips: Sequence[Clip]) -> Iterator[SpokenWindow]:
    """The first windows of each clip, read as they are needed; says how far it is."""
    for count, clip in enumerate(clips, 1):
        say(f"{count}/{len(clips)} {clip.name}")
        with Recording(clip.path) as recording:
            for window in islice(recording.windows, _WINDOWS_A_CLIP):
                yield SpokenWindow(window.samples, clip.language or None)


def _rows() -> list[tuple[str, ...]]:
    present = installed()
    return [
        (
            source.name,
            source.licence,
            f"{source.size / 1e6:.0f} MB",
            "yes" if source.name in present else "no",
            " ".join(source.packages),
        )
        for source in KNOWN.values()
    ]


def _table(rows: list[tuple[str, ...]]) -> Table:
    table = Table(*_HEADER, box=None)
    for row in rows:
        table.add_row(*row)
    return table
