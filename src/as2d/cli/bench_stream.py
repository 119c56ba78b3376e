"""`as2d bench stream`: how late the text of a recording is that is paced in real time."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from as2d.cli.clips import CorpusFolder, Kinds, Seed
from as2d.cli.lists import names
from as2d.cli.long_runs import JoinedLanguages, Out, informing, make_picture, only, write_report
from as2d.cli.options import MethodName, Model, Precision, Quiet
from as2d.cli.progress import ClipsBar, can_be_seen
from as2d.cli.report import say, saying_what_is_logged
from as2d.configuration.drafters import AUTO
from as2d.evaluation.corpora import Selection
from as2d.evaluation.plots.streaming import draw_streaming
from as2d.evaluation.requests.long import Part, long_recording
from as2d.evaluation.requests.material import Material, load_material
from as2d.evaluation.requests.streaming import Stream, StreamOptions
from as2d.evaluation.requests.streaming_report import as_dict, different, report, summarise
from as2d.session import DEFAULT_MODEL

_NOT_IDENTICAL = 1
_NAME = "stream"

_Seconds = Annotated[float, typer.Option(min=1, help="Length of the recording.")]
_Block = Annotated[float, typer.Option(metavar="SECONDS", help="Length of a block.")]
_Speed = Annotated[float, typer.Option(help="How much faster than real time; for quick looks.")]
_Drafter = Annotated[str, typer.Option(help="A drafter, named as for `as2d transcribe`.")]


def command(
    corpus: CorpusFolder,
    *,
    out: Out,
    seconds: _Seconds = 600.0,
    block: _Block = 4.0,
    speed: _Speed = 1.0,
    drafter: _Drafter = AUTO,
    method: MethodName = "auto",
    kinds: Kinds = None,
    languages: JoinedLanguages = "en",
    seed: Seed = 0,
    model: Model = DEFAULT_MODEL,
    precision: Precision = "auto",
    quiet: Quiet = False,
) -> int:
    """Stream a long recording in real time: lag of the text, service time, backlog, memory, CPU, identity.

    The report is on stdout; that, all texts and blocks and the picture go to DIR. Interrupted, what was measured is
    kept. Exit status 1: a stable text has another token than target-only on the same window.
    """
    inform = informing(quiet=quiet)
    options = StreamOptions(block, speed, drafter, method, only(names(languages)))
    with saying_what_is_logged(quiet=quiet, verbose=False):
        material = load_material(
            corpus, model, precision, Selection(names(kinds), names(languages), None, seed)
        )
        parts, samples = long_recording(material.clips, seconds, seed)
        stream = Stream(material.target, samples, options, material.host.cores)
        try:
            _measure(stream, seconds, visible=not quiet and can_be_seen(writes_every_commit=False))
        finally:
            if stream.blocks:
                header = _header(material, options, seconds, parts)
                typer.echo(_write(stream, material.host.cores, parts, header, out, inform), nl=False)
    if wrong := different(stream.texts):
        say(
            f"error: NOT identical to target-only: {len(wrong)} stable texts, the first at {wrong[0].start_s:g} s"
        )
    return _NOT_IDENTICAL if wrong else 0


def _measure(stream: Stream, seconds: float, *, visible: bool) -> None:
    with ClipsBar({_NAME: seconds}, visible=visible) as bar:
        for done in stream.measure():
            bar.update(_NAME, done)
    stream.compare()


def _write(
    stream: Stream,
    cores: int,
    parts: Sequence[Part],
    header: dict[str, str],
    out: Path,
    inform: Callable[[str], None],
) -> str:
    figures = summarise(stream.texts, stream.blocks, stream.pace, cores)
    text = report(figures, header)
    write_report(out, _NAME, as_dict(stream.texts, stream.blocks, figures, parts, header), text)
    make_picture(partial(draw_streaming, texts=stream.texts, blocks=stream.blocks), out / _NAME, inform)
    return text


def _header(
    material: Material, options: StreamOptions, seconds: float, parts: Sequence[Part]
) -> dict[str, str]:
    return {
        **material.header,
        "Drafter": f"{options.drafter}, method {options.method}",
        "Recording": f"{seconds:g} s of {', '.join(part.clip for part in parts)}",
        "Stream": f"blocks of {options.block_s:g} s, {options.speed:g} × real time, "
        f"language {options.language or 'detected'}",
    }
