"""`as2d models`: which models are known, where their files are, how they are fetched, how a drafter's head is
calibrated."""

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from as2d.cli.clips import CorpusFolder
from as2d.cli.report import say
from as2d.errors import InputError
from as2d.evaluation.corpora import Clip, Selection, open_clip, read_speech, select
from as2d.models.store import KNOWN, OFFICIAL, HubFiles, installed, pulled, resolve
from as2d.models.store.pull import Pull, fetch, plan
from as2d.models.whisper.calibrate import SpokenWindow, calibrate, is_for_calibration
from as2d.models.whisper.model import load_whisper

app = typer.Typer(help="List models, fetch them and find their files.", no_args_is_help=True)

_WINDOWS_A_CLIP = 2
JOINED = "long"
"""The kind of clips that are joined from others; they would bring the same speech into both halves."""

_HEADER = ("name", "family", "licence", "size", "installed", "from")
_HUB = "hub"
"""What a model is from that `as2d models pull` fetches."""

_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A name from `as2d models list`, or a model folder.")
]


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
    name: _Name,
) -> None:
    """Print the files of a model, one a line, once they are checked."""
    files = resolve(name)
    others = () if isinstance(files, HubFiles) else (files.config,)
    for path in (*files.hashed, *others, files.tokenizer):
        if path.is_file():
            typer.echo(path)


@app.command("pull")
def pull_model(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A name from `as2d models list`, or any owner/name of the hub."),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before the download.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Forbid the network, and thus refuse.")] = False,
) -> None:
    """Fetch a model from the Hugging Face hub into the cache that its tools share, and print its folder.

    Says the licence and the size first. A download that breaks off goes on where it was when the command is run again.
    """
    if offline:
        raise InputError(f"{name} cannot be pulled offline; leave --offline out")
    pull = plan(name)
    say(_announcement(pull))
    if pull.remaining and not yes:
        _require_consent(name)
    fetch(pull)
    typer.echo(pull.repository.snapshot(pull.model.commit))


@app.command("calibrate")
def calibrate_model(
    name: _Name,
    corpus: CorpusFolder,
    out: Annotated[Path, typer.Option(help="The .npz file to write.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Use that many clips, drawn by the seed.")] = None,
    seed: Annotated[int, typer.Option(help="Which clips a limit draws.")] = 0,
) -> None:
    """Calibrate the low-rank head of a drafter that shares this model's encoder.

    Hears up to two windows of each clip whose id belongs to the calibration half (the first hexadecimal digit of its
    SHA-1 is even) and that is in a language of the model. The same clips give the same file.
    """
    clips = _readable(corpus)
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


def _readable(folder: Path) -> tuple[Clip, ...]:
    """The clips of a corpus; those that cannot be read are named and left."""
    corpus = read_speech(folder)
    for clip, reason in corpus.skipped:
        say(f"warning: {clip.name} is skipped: {reason}")
    return corpus.clips


def _spoken_windows(clips: Sequence[Clip]) -> Iterator[SpokenWindow]:
    """The first windows of each clip, read as they are needed; says how far it is."""
    for count, clip in enumerate(clips, 1):
        say(f"{count}/{len(clips)} {clip.name}")
        with open_clip(clip) as recording:
            for window in islice(recording.windows, _WINDOWS_A_CLIP):
                yield SpokenWindow(window.samples, clip.language or None)


def _announcement(pull: Pull) -> str:
    kind = pull.model.model_type or "CTranslate2 Whisper"
    return (
        f"{pull.model.name}: {kind}, licence {pull.licence}, {_size(pull.size)}, of which {_size(pull.remaining)} to "
        f"download to {pull.repository.folder}"
    )


def _require_consent(name: str) -> None:
    """InputError unless somebody at a terminal agrees."""
    if not sys.stdin.isatty():
        raise InputError(f"nobody can be asked whether to download {name}; pass --yes")
    typer.echo("Download? [y/N] ", err=True, nl=False)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("nothing was downloaded; answer y, or pass --yes")


def _size(count: int) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if count >= unit:
            return f"{count / unit:.{1 if name == 'GB' else 0}f} {name}"
    return f"{count / 1e3:.0f} kB"


def _rows() -> list[tuple[str, ...]]:
    present = {*installed(), *pulled()}
    packaged = [
        (source.name, "whisper", source.licence, source.size, " ".join(source.packages))
        for source in KNOWN.values()
    ]
    official = [(model.name, model.family, model.licence, model.size, _HUB) for model in OFFICIAL.values()]
    return [
        (name, family, licence, _size(size), "yes" if name in present else "no", origin)
        for name, family, licence, size, origin in (*packaged, *official)
    ]


def _table(rows: list[tuple[str, ...]]) -> Table:
    table = Table(*_HEADER, box=None)
    for row in rows:
        table.add_row(*row)
    return table
