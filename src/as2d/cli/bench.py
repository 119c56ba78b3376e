"""`as2d bench`: methods side by side on a corpus, the results drawn again, and the probe of independence."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from as2d.cli import bench_ondemand, bench_stream
from as2d.cli import options as o
from as2d.cli.clips import CorpusFolder, Kinds, Languages, Limit, Seed
from as2d.cli.groups import DEFAULT, DefaultGroup
from as2d.cli.lists import names, numbers
from as2d.cli.progress import ClipsBar, can_be_seen
from as2d.cli.report import say, saying_what_is_logged
from as2d.configuration.drafters import AUTO, drafters_for
from as2d.errors import AudioError
from as2d.evaluation.bench import Bench, BenchOptions, open_bench
from as2d.evaluation.corpora import Asking, Clip, Selection, open_clip, read_speech, select
from as2d.evaluation.host import describe_host
from as2d.evaluation.independence import BLOCK, PAIRS, ProbeWindow, as_dict, markdown, probe
from as2d.evaluation.measuring.journal import make_folder, read_clips, read_rows, read_setup, write_whole
from as2d.evaluation.measuring.plan import Wishes
from as2d.evaluation.measuring.runner import Procedure
from as2d.evaluation.results import write_results
from as2d.models.load import load_target
from as2d.records import Task
from as2d.runtime.cores import available_cores
from as2d.session import DEFAULT_MODEL

_NOT_IDENTICAL = 1
_PROBED_CLIPS, _PROBED_WINDOWS = 240, 2
"""Clips, and windows of each at most: all are in memory at once."""


app = typer.Typer(
    cls=DefaultGroup,
    no_args_is_help=True,
    subcommand_metavar="CORPUS --out DIR | COMMAND [ARGS]...",
    help="Compare methods on a corpus: `as2d bench CORPUS --out DIR`. Its options: `as2d bench run --help`.",
)

_Out = Annotated[
    Path, typer.Option(metavar="DIR", help="Everything goes there; a bench that was stopped goes on.")
]
_MinTokens = Annotated[int, typer.Option(min=0, help="Leave out windows of fewer tokens.")]
_Methods = Annotated[str | None, typer.Option(metavar="A,B", help="Methods to compare. Without: all.")]
_Drafters = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Drafters to compare, named as for `as2d transcribe`; a+b draft together. Without: those that come with "
        "as2d.",
    ),
]
_Budgets = Annotated[
    str | None,
    typer.Option(
        metavar="N,M", help="Most candidates a round (K - 1), 1 to 24. Without: what each method needs."
    ),
]
_Cores = Annotated[
    str | None, typer.Option(metavar="N,M", help="Cores that target and drafters share. Without: all.")
]
_DrafterCores = Annotated[
    str | None,
    typer.Option(
        metavar="N,M", help="Cores that each drafter has of these. Without: 1, and 2 where it takes turns."
    ),
]
_Repetitions = Annotated[int, typer.Option(min=1, help="How often each contender decodes a window.")]
_Peers = Annotated[bool, typer.Option("--peers", help="Other projects' decoders too (extra peers).")]
_Task = Annotated[Task, typer.Option(help="What to ask of the models: ask puts the corpus' own questions.")]
_To = Annotated[str | None, typer.Option(metavar="LANG", help="Language of translations (en).")]
_Pairs = Annotated[int, typer.Option(min=1, help="Pairs of blocks for each drafter.")]
_Block = Annotated[int, typer.Option(min=1, help="Candidates a block.")]
_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The --out folder of a bench.")]
app.command("ondemand")(bench_ondemand.command)
app.command("stream")(bench_stream.command)


@app.command(DEFAULT)
def run(
    corpus: CorpusFolder,
    *,
    out: _Out,
    limit: Limit = None,
    kinds: Kinds = None,
    languages: Languages = None,
    seed: Seed = 0,
    task: _Task = "transcribe",
    to: _To = None,
    min_tokens: _MinTokens = 0,
    methods: _Methods = None,
    drafters: _Drafters = None,
    budgets: _Budgets = None,
    cores: _Cores = None,
    drafter_cores: _DrafterCores = None,
    repetitions: _Repetitions = 3,
    model: o.Model = DEFAULT_MODEL,
    precision: o.Precision = "auto",
    peers: _Peers = False,
    quiet: o.Quiet = False,
) -> int:
    """Run methods, drafters, budgets and core splits on the same prepared audio: the report on stdout.

    Every run is written to DIR at once: interrupted, the same command goes on where it was. Exit status 1: a method
    that is exact gave another token than target-only.
    """
    options = BenchOptions(
        model,
        precision,
        Selection(names(kinds), names(languages), limit, seed),
        Wishes(
            names(drafters) or (),
            names(methods),
            numbers(budgets, "--budgets"),
            numbers(cores, "--cores"),
            numbers(drafter_cores, "--drafter-cores"),
        ),
        Procedure(repetitions, min_tokens),
        peers,
        Asking(task, to),
    )
    inform = _ignore if quiet else say
    with saying_what_is_logged(quiet=quiet, verbose=False), open_bench(corpus, out, options) as bench:
        for notice in bench.notices:
            inform(notice)
        _measure(bench, quiet=quiet)
        _say_left_out(out, inform)
        typer.echo(write_results(out, inform), nl=False)
        return _verdict(bench, out)


@app.command()
def plot(folder: _Folder, *, quiet: o.Quiet = False) -> int:
    """Draw the plots of a bench again, and write its summary and report: the report on stdout."""
    typer.echo(write_results(folder, _ignore if quiet else say), nl=False)
    return 0


@app.command()
def independence(
    corpus: CorpusFolder,
    *,
    out: _Out,
    pairs: _Pairs = PAIRS,
    block: _Block = BLOCK,
    limit: Limit = _PROBED_CLIPS,
    kinds: Kinds = None,
    languages: Languages = None,
    seed: Seed = 0,
    drafters: _Drafters = None,
    model: o.Model = DEFAULT_MODEL,
    precision: o.Precision = "auto",
    quiet: o.Quiet = False,
) -> int:
    """Probe whether drafters need the transcript so far: the table on stdout, all pairs in DIR/independence.json."""
    inform = _ignore if quiet else say
    with saying_what_is_logged(quiet=quiet, verbose=False):
        target = load_target(model, precision=precision)
        selection = Selection(names(kinds), names(languages), limit, seed)
        clips = select(read_speech(corpus).clips, target.capabilities.languages, selection)
        sources = drafters_for(target, names(drafters) or AUTO).sources
        make_folder(out)
        windows = [window for clip in clips for window in _probe_windows(clip, inform)]
        cores = available_cores()
        probes = [
            probe(target, source, windows, pairs, seed=seed, block=block, threads=cores) for source in sources
        ]
    content = {"host": asdict(describe_host()), "probes": [as_dict(one) for one in probes]}
    write_whole(out / "independence.json", json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    table = markdown(probes) + "\n"
    write_whole(out / "independence.md", table)
    typer.echo(table, nl=False)
    return 0


def _probe_windows(clip: Clip, inform: Callable[[str], None]) -> Iterator[ProbeWindow]:
    """The first windows of a clip; one that cannot be decoded has none."""
    try:
        with open_clip(clip) as recording:
            for index, speech in enumerate(islice(recording.windows, _PROBED_WINDOWS)):
                yield ProbeWindow(f"{clip.name}#{index}", clip.language or None, speech.samples)
    except AudioError as error:
        inform(f"warning: {clip.name} is skipped: {error}")


def _measure(bench: Bench, *, quiet: bool) -> None:
    """Measure all that is missing, and show how far it is."""
    lengths = {clip.name: clip.duration_s for clip in bench.pending}
    visible = not quiet and can_be_seen(writes_every_commit=False)
    try:
        with ClipsBar(lengths, visible=visible) as bar:
            for clip, seconds in bench.measure():
                bar.update(clip, seconds)
    except KeyboardInterrupt:
        if not quiet:
            say("interrupted; the same command goes on where it was")
        raise


def _say_left_out(folder: Path, inform: Callable[[str], None]) -> None:
    skipped = [record for record in read_clips(folder, _ignore) if record.fault]
    for record in skipped:
        inform(f"warning: {record.clip} is skipped: {record.fault}")
    duplicates = read_setup(folder).duplicates
    if duplicates:
        inform(f"{len(duplicates)} clips are left out as duplicates of others: {', '.join(duplicates)}")


def _verdict(bench: Bench, folder: Path) -> int:
    different = [
        f"{row.window} ({row.contender})" for row in read_rows(folder, _ignore) if bench.differs(row)
    ]
    if different:
        say(f"error: NOT identical to target-only: {', '.join(different)}")
    return _NOT_IDENTICAL if different else 0


def _ignore(message: str) -> None:
    """Say nothing."""
