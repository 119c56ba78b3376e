"""`as2d models`: which models are known, where their files are, and how a drafter's head is calibrated."""

import hashlib
import json
import sys
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from as2d.cli.report import say
from as2d.errors import InputError
from as2d.models.store import KNOWN, installed, resolve
from as2d.models.whisper.calibrate import SpokenWindow, calibrate, is_for_calibration
from as2d.models.whisper.model import load_whisper
from as2d.session.recording import Recording

app = typer.Typer(help="List models and find their files.", no_args_is_help=True)

_WINDOWS_A_CLIP = 2
# Clips that repeat the speech of others would bring it into both halves; the rest is no speech.
_LEFT_OUT = frozenset({"format", "long", "noise", "silence", "singing"})

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


class ManifestClip(NamedTuple):
    """One recording of a calibration set; `language` is empty where the manifest does not say."""

    name: str
    path: Path
    language: str


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
    drawn = drawn_clips(clips, model.capabilities.languages, limit, seed)
    if not drawn:
        raise InputError(
            f"no clip in {corpus} is for calibration and in a language of {model.name}; add clips"
        )
    calibration = calibrate(model, _spoken_windows(drawn))
    try:
        calibration.save(out)
    except OSError as error:
        raise InputError(f"cannot write {out} ({error.strerror}); name another file") from error


def read_manifest(corpus: Path) -> list[ManifestClip]:
    """The clips of the manifest with speech of their own. InputError when it is missing or malformed."""
    manifest = corpus / "manifest.jsonl"
    try:
        entries = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]
        return [
            ManifestClip(entry["id"], corpus / entry["path"], entry.get("language") or "")
            for entry in entries
            if entry.get("kind") not in _LEFT_OUT
        ]
    except OSError as error:
        raise InputError(
            f"cannot read {manifest} ({error.strerror}); name a folder that holds one"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{manifest} is malformed ({error!r}); each line is an object with id and path"
        ) from error


def drawn_clips(
    clips: Sequence[ManifestClip], languages: Collection[str], limit: int | None = None, seed: int = 0
) -> list[ManifestClip]:
    """The clips to calibrate with, by id; with a limit the first in an order that the seed shuffles."""
    usable = [
        clip
        for clip in clips
        if is_for_calibration(clip.name) and (not clip.language or clip.language in languages)
    ]
    shuffled = sorted(usable, key=lambda clip: hashlib.sha256(f"{seed} {clip.name}".encode()).digest())
    return sorted(shuffled[:limit], key=lambda clip: clip.name)


def _spoken_windows(clips: Sequence[ManifestClip]) -> Iterator[SpokenWindow]:
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
