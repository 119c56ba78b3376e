"""`as2d profile`: measure what the models' calls cost on this machine, and show it."""

from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Self

import numpy as np
import typer
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.cli import options as o
from as2d.cli.groups import DEFAULT, DefaultGroup
from as2d.cli.progress import ClipsBar, can_be_seen
from as2d.cli.report import say, saying_what_is_logged
from as2d.errors import InputError
from as2d.evaluation.plots.profile import draw_profile
from as2d.models.load import usual_drafters
from as2d.profiling.bench import Bench
from as2d.profiling.machine import Wanted, profile_machine
from as2d.profiling.memory import peaks_mb
from as2d.profiling.plan import Point, points
from as2d.profiling.profile import Profile, load_profile
from as2d.profiling.subjects import load_subjects
from as2d.profiling.table import to_text
from as2d.runtime.cores import available_cores, split_cores
from as2d.session import DEFAULT_MODEL

_SPEECH = "ls-3080-5032-0007.flac"
_SECONDS = {"encode": 2.5, "open": 0.2, "forward": 0.12}
"""What a point of each kind takes, roughly: for the bar."""

app = typer.Typer(
    cls=DefaultGroup,
    subcommand_metavar="| show FILE [--png FILE]",
    help="Measure this machine: `as2d profile`. Its options: `as2d profile run --help`.",
)

_Drafter = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A model, as for --model; self, or none. May be repeated. Without: those that come with as2d.",
    ),
]
_Out = Annotated[Path, typer.Option(help="The file to write. What was interrupted goes on where it was.")]
_File = Annotated[Path, typer.Argument(metavar="FILE", help="What `as2d profile` wrote.")]
_Png = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it too (extra bench).")]


@app.command(DEFAULT)
def run(
    *,
    model: o.Model = DEFAULT_MODEL,
    drafter: _Drafter = None,
    threads: o.Threads = None,
    out: _Out = Path("profile.json"),
    precision: o.Precision = "auto",
    quiet: o.Quiet = False,
) -> int:
    """Time every call of the target and of each drafter, alone and beside the other: the table on stdout.

    Takes some minutes. Nothing else should be at work meanwhile.
    """
    cores = split_cores(available_cores() if threads is None else threads).alone
    names = _named(drafter, model)
    with saying_what_is_logged(quiet=quiet, verbose=False):
        bench = Bench(load_subjects(model, names, precision), _speech(), cores)
        wanted = Wanted(bench.plan(), f"speech ({_SPEECH})", lambda: peaks_mb(model, precision, names))
        profile = _measured(bench, wanted, out, quiet=quiet)
    if not quiet:
        say(f"written to {out}")
    typer.echo(to_text(profile), nl=False)
    return 0


@app.command()
def show(file: _File, *, png: _Png = None) -> int:
    """Show a profile, of whatever machine: tables on stdout, and a picture if asked for."""
    profile = load_profile(file)
    if png is not None:
        draw_profile(profile, png)
    typer.echo(to_text(profile), nl=False)
    return 0


def _measured(bench: Bench, wanted: Wanted, out: Path, *, quiet: bool) -> Profile:
    """Measure, and show how far it is."""
    visible = not quiet and can_be_seen(writes_every_commit=False)
    try:
        with _Bar(points(wanted.plan), visible=visible) as bar:
            return profile_machine(bench, wanted, out, bar.update)
    except KeyboardInterrupt:
        if not quiet:
            say(f"interrupted; what was timed is in {out}.partial, and the same command goes on from there")
        raise


class _Bar:
    """How far the points are timed, by the time that they take."""

    def __init__(self, planned: Iterable[Point], *, visible: bool) -> None:
        self._done: dict[str, float] = {}
        total: dict[str, float] = {}
        for point in planned:
            total[_part(point)] = total.get(_part(point), 0.0) + _SECONDS[point.doing]
        self._bar = ClipsBar(total, visible=visible)

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.__exit__()

    def update(self, point: Point) -> None:
        """One more is timed."""
        part = _part(point)
        self._done[part] = self._done.get(part, 0.0) + _SECONDS[point.doing]
        self._bar.update(part, self._done[part])


def _part(point: Point) -> str:
    return f"{point.doing} {point.model}, {point.audio_s:g} s"


def _named(drafters: Sequence[str] | None, model: str) -> tuple[str, ...]:
    """Each drafter once; those that come with as2d where none is named."""
    if not drafters:
        return usual_drafters(model)
    if "none" not in drafters:
        return tuple(dict.fromkeys(drafters))
    if len(drafters) > 1:
        raise InputError("--drafter none contradicts the other drafters; give one or the other")
    return ()


def _speech() -> NDArray[np.float32]:
    speech = files("as2d.configuration").joinpath("speech", _SPEECH).read_bytes()
    with open_audio(speech) as stream:
        return np.concatenate(list(stream))
