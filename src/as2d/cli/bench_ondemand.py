"""`as2d bench ondemand`: how soon a request about audio that has just arrived is answered."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from as2d.cli.clips import CorpusFolder, Kinds, Seed
from as2d.cli.lists import names
from as2d.cli.long_runs import (
    Drafters,
    JoinedLanguages,
    Out,
    informing,
    make_picture,
    only,
    write_report,
)
from as2d.cli.options import Model, Precision, Quiet
from as2d.cli.progress import ClipsBar, can_be_seen
from as2d.cli.report import say, saying_what_is_logged
from as2d.configuration.drafters import AUTO
from as2d.errors import InputError
from as2d.evaluation.corpora import Selection
from as2d.evaluation.plots.on_demand import draw_on_demand
from as2d.evaluation.requests.long import Part, long_recording
from as2d.evaluation.requests.material import Material, load_material
from as2d.evaluation.requests.ondemand import POSITIONS, OnDemand, OnDemandOptions
from as2d.evaluation.requests.ondemand_report import as_dict, report
from as2d.session import DEFAULT_MODEL

_NOT_IDENTICAL = 1
_NAME = "ondemand"

_Seconds = Annotated[float, typer.Option(min=30, help="Length of the recording.")]
_Positions = Annotated[int, typer.Option(min=1, help="Positions of requests, from 30 s to the end.")]
_Last = Annotated[str, typer.Option(metavar="SECONDS|all", help="What each request looks back at.")]
_Repetitions = Annotated[int, typer.Option(min=1, help="How often each method answers at a position.")]


def command(
    corpus: CorpusFolder,
    *,
    out: Out,
    seconds: _Seconds = 600.0,
    positions: _Positions = POSITIONS,
    last: _Last = "30",
    repetitions: _Repetitions = 3,
    drafters: Drafters = None,
    kinds: Kinds = None,
    languages: JoinedLanguages = "en",
    seed: Seed = 0,
    model: Model = DEFAULT_MODEL,
    precision: Precision = "auto",
    quiet: Quiet = False,
) -> int:
    """Ask at many positions of a long recording, with each method in turn: latency, speed, identity, memory.

    The report is on stdout; that, all answers and the picture go to DIR. Interrupted, what was measured is kept. Exit
    status 1: a method that is exact gave another token than target-only.
    """
    inform = informing(quiet=quiet)
    options = OnDemandOptions(
        seconds, positions, _seconds(last), repetitions, names(drafters) or (AUTO,), only(names(languages))
    )
    with saying_what_is_logged(quiet=quiet, verbose=False):
        material = load_material(
            corpus, model, precision, Selection(names(kinds), names(languages), None, seed)
        )
        parts, samples = long_recording(material.clips, seconds, seed)
        bench = OnDemand(material.target, samples, options, material.host.cores)
        try:
            _measure(bench, seconds, visible=not quiet and can_be_seen(writes_every_commit=False))
        finally:
            if bench.answers:
                typer.echo(_write(bench, parts, _header(material, options, parts), out, inform), nl=False)
    different = [answer for answer in bench.answers if answer.exact and not answer.identical]
    if different:
        first = different[0]
        say(f"error: NOT identical to target-only: {first.contender} at {first.position_s:g} s")
    return _NOT_IDENTICAL if different else 0


def _measure(bench: OnDemand, seconds: float, *, visible: bool) -> None:
    with ClipsBar({_NAME: seconds}, visible=visible) as bar:
        for position in bench.measure():
            bar.update(_NAME, position)


def _write(
    bench: OnDemand,
    parts: tuple[Part, ...],
    header: dict[str, str],
    out: Path,
    inform: Callable[[str], None],
) -> str:
    text = report(bench.answers, bench.contenders, header)
    write_report(out, _NAME, as_dict(bench.answers, bench.contenders, parts, header), text)
    draw = partial(draw_on_demand, answers=bench.answers, contenders=bench.contenders)
    make_picture(draw, out / _NAME, inform)
    return text


def _header(material: Material, options: OnDemandOptions, parts: tuple[Part, ...]) -> dict[str, str]:
    view = "all so far" if options.last_s is None else f"the last {options.last_s:g} s"
    return {
        **material.header,
        "Drafters": ", ".join(options.drafters),
        "Recording": f"{options.seconds:g} s of {', '.join(part.clip for part in parts)}",
        "Requests": f"{options.positions} positions, {view}, {options.repetitions} repetitions, medians; "
        f"language {options.language or 'detected'}",
    }


def _seconds(text: str) -> float | None:
    """None for all. Raises InputError."""
    if text == "all":
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InputError(f"--last {text} is no view; give seconds, or all")
    return seconds
