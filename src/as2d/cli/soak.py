"""`as2d soak`: random requests with faults for minutes, in which no token may be wrong and nothing may leak."""

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from as2d.cli.clips import CorpusFolder, Kinds, Languages, Seed
from as2d.cli.lists import names
from as2d.cli.long_runs import Drafters, informing, write_report
from as2d.cli.options import Model, Precision, Quiet
from as2d.cli.report import say, saying_what_is_logged
from as2d.configuration.drafters import AUTO, drafters_for
from as2d.evaluation.corpora import Selection, as_file
from as2d.evaluation.process import keep_to_one_arena
from as2d.evaluation.requests.material import load_material
from as2d.evaluation.soak.report import as_dict, failures, markdown, progress
from as2d.evaluation.soak.run import Soak, SoakOptions
from as2d.session import DEFAULT_MODEL

_FAILED = 1
_CLIPS = 40
"""So few that the warm-up meets most of them."""

_Minutes = Annotated[float, typer.Option(min=0.01, help="How long, after a warm-up of a minute to three.")]
_SoakOut = Annotated[Path | None, typer.Option(metavar="DIR", help="Write soak.json and soak.md there, too.")]
_Limit = Annotated[int, typer.Option(min=1, help="Clips at most, drawn by the seed.")]
_Clients = Annotated[int, typer.Option(min=1, help="Requests at a time.")]
_Faults = Annotated[float, typer.Option(min=0, max=1, help="Share of the drafters' calls that are faulty.")]


def command(
    corpus: CorpusFolder,
    *,
    minutes: _Minutes,
    out: _SoakOut = None,
    limit: _Limit = _CLIPS,
    kinds: Kinds = None,
    languages: Languages = None,
    seed: Seed = 0,
    drafters: Drafters = None,
    clients: _Clients = 3,
    faults: _Faults = 0.25,
    model: Model = DEFAULT_MODEL,
    precision: Precision = "auto",
    quiet: Quiet = False,
) -> int:
    """Soak: clips, methods, budgets, cancels, deadlines and live recordings at random, with faulty drafters.

    The report is on stdout, also when interrupted. Exit status 1: an answer had another token than target-only,
    something was raised that should not have been, or memory, threads or open files grew after warm-up.
    """
    keep_to_one_arena()
    inform = informing(quiet=quiet)
    options = SoakOptions(minutes, clients, faults, seed)
    with saying_what_is_logged(quiet=quiet, verbose=False), ExitStack() as files:
        selection = Selection(names(kinds), names(languages), limit, seed)
        material = load_material(corpus, model, precision, selection)
        sources = [
            source.loaded() for source in drafters_for(material.target, names(drafters) or AUTO).sources
        ]
        header = {
            **material.header,
            "Drafters": ", ".join(source.name for source in sources),
            "Soak": f"{minutes:g} min, {clients} clients, {faults:.0%} of drafters' calls faulty",
        }
        clips = [files.enter_context(as_file(clip)) for clip in material.clips]
        soak = Soak(material.target, sources, clips, options, material.host.cores)
        try:
            with closing(soak.run()) as readings:
                for _ in readings:
                    inform(progress(soak, options))
        finally:
            typer.echo(markdown(soak, header), nl=False)
            if out is not None:
                write_report(out, "soak", as_dict(soak, header), markdown(soak, header))
    if failed := failures(soak):
        say(f"error: the soak failed: {failed[0]}")
    return _FAILED if failed else 0
