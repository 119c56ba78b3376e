"""`as2d replay`: record traces, judge configurations by them, and check that against native runs."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from as2d.cli import options as o
from as2d.cli.clips import CorpusFolder, Kinds, Languages, Limit, Seed
from as2d.cli.lists import names, numbers
from as2d.cli.progress import ClipsBar, can_be_seen
from as2d.cli.report import say, saying_what_is_logged
from as2d.decoding.methods import TRAITS
from as2d.drafting.publication import BatchSize
from as2d.errors import AudioError, InputError
from as2d.evaluation.corpora import Clip, Corpus, Selection, open_clip, read_speech, select
from as2d.models.load import Precision, usual_drafters
from as2d.profiling.costs import Costs as ProfileCosts
from as2d.profiling.plan import splits
from as2d.profiling.profile import Profile, load_profile
from as2d.profiling.subjects import load_subjects
from as2d.records import Task, UsedMethod
from as2d.replay import trace_file
from as2d.replay.check import Observed, agreements, observe
from as2d.replay.configuration import REPLAYED, Configuration
from as2d.replay.costs import Contended
from as2d.replay.models import Heard, Models
from as2d.replay.record import record as record_trace
from as2d.replay.score import DONE, LATENCY
from as2d.replay.sweep import simulate_all
from as2d.replay.table import agreement_table, sensitivity, standings
from as2d.replay.trace import Provenance
from as2d.runtime.cores import available_cores, split_cores
from as2d.runtime.exactness import MAX_BUDGET
from as2d.runtime.pair import SpeechWindow
from as2d.session import DEFAULT_MODEL

_BUDGET = 7
_FEWEST_TOKENS = 8
"""Of a window that is checked: the time of fewer tokens is all noise."""

app = typer.Typer(
    no_args_is_help=True,
    help="Judge configurations without running them: record tokens once, and replay them under measured costs.",
)

_Out = Annotated[Path, typer.Option(help="The file of traces; one that is there is continued.")]
_Drafter = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A model, as for --model, or self. May be repeated: each by itself. Without: those that come with as2d.",
    ),
]


@app.command()
def record(
    corpus: CorpusFolder,
    *,
    out: _Out = Path("traces.jsonl"),
    limit: Limit = None,
    kinds: Kinds = None,
    languages: Languages = None,
    seed: Seed = 0,
    model: o.Model = DEFAULT_MODEL,
    drafter: _Drafter = None,
    threads: o.Threads = None,
    precision: o.Precision = "auto",
    task: o.SpokenTask = "transcribe",
    quiet: o.Quiet = False,
) -> int:
    """Record what the target says of each window of a corpus, and what each drafter writes of it by itself.

    Each window is written as it is recorded: interrupted, the same command goes on where it was.
    """
    with saying_what_is_logged(quiet=quiet, verbose=False):
        models, heard = _loaded(model, drafter, threads, precision), read_speech(corpus)
        recorded = trace_file.begin(out, models.provenance(heard.digest, task))
        selection = Selection(names(kinds), names(languages), limit, seed)
        for window in _windows(heard, models, selection, quiet=quiet):
            if window.name not in recorded:
                trace_file.append(out, record_trace(models, _hear(models, window, task)))
    if not quiet:
        say(f"written to {out}")
    return 0


_Files = Annotated[list[Path], typer.Argument(metavar="TRACES...", help="What `as2d replay record` wrote.")]
_Traced = Annotated[
    list[str] | None,
    typer.Option(
        "--drafter", metavar="NAME", help="One of the traces. May be repeated: each by itself. Without: all."
    ),
]
_Budgets = Annotated[
    str | None, typer.Option("--budget", metavar="N,M", help="Most candidates a round. Without: 0 to 24.")
]
_Batches = Annotated[
    str, typer.Option("--batch", metavar="word,N", help="Tokens published together: each word, or N.")
]
_Methods = Annotated[
    str,
    typer.Option(
        "--method", metavar="A,B", help=f"Of those whose drafts a trace knows: {', '.join(REPLAYED)}."
    ),
]
_Contention = Annotated[
    list[float] | None,
    typer.Option(
        min=0.0,
        help="Scales what target and drafter lose by computing at once: 0 nothing, 1 as measured. Several: what is "
        "selected under each. Without: 1.",
    ),
]
_Objective = Annotated[
    bool,
    typer.Option("--whole", help="By the time from samples to text. Without: decoding of prepared audio."),
]


@app.command("run")
def simulate(
    traces: _Files,
    *,
    profile: o.ProfileFile,
    drafter: _Traced = None,
    budget: _Budgets = None,
    batch: _Batches = "word",
    method: _Methods = "as2d",
    contention: _Contention = None,
    whole: _Objective = False,
) -> int:
    """Simulate every drafter, budget, core split and batch, and the target alone: the best ones on stdout."""
    known, measured = trace_file.read(traces), load_profile(profile)
    _check_models(known.provenance, measured)
    names = drafter or [name for name in known.provenance.drafters if name in measured.models]
    configurations = [
        Configuration(measured.plan.threads),
        *(
            one
            for each in _methods(method)
            for one in _drafted(each, measured.plan.threads, names, _budgets(budget), _batches(batch))
        ),
    ]
    factors = contention or [1.0]
    scores = {
        factor: simulate_all(
            known,
            configurations,
            Contended(ProfileCosts(measured), factor),
            prepared=not whole,
            workers=available_cores(),
        )
        for factor in factors
    }
    clock = LATENCY if whole else DONE
    one = len(factors) == 1
    typer.echo(standings(scores[factors[0]], clock) if one else sensitivity(scores, clock), nl=False)
    return 0


_Budget = Annotated[int, typer.Option(min=1, max=MAX_BUDGET, help="Most candidates a round.")]
_Repetitions = Annotated[int, typer.Option(min=1, help="Native runs of each window and configuration.")]


@app.command()
def check(
    corpus: CorpusFolder,
    *,
    budget: _Budget = _BUDGET,
    repetitions: _Repetitions = 3,
    limit: Limit = 20,
    kinds: Kinds = None,
    languages: Languages = None,
    seed: Seed = 0,
    model: o.Model = DEFAULT_MODEL,
    drafter: _Drafter = None,
    threads: o.Threads = None,
    precision: o.Precision = "auto",
    quiet: o.Quiet = False,
) -> int:
    """Run windows natively and replay them with costs from other windows: errors of tokens/s, beside native noise.

    The target alone and each drafter are run in alternation, on prepared audio.
    """
    with saying_what_is_logged(quiet=quiet, verbose=False):
        models, heard = _loaded(model, drafter, threads, precision), read_speech(corpus)
        compared = _compared(models, budget)
        observed: list[Observed] = []
        for window in _windows(
            heard, models, Selection(names(kinds), names(languages), limit, seed), quiet=quiet
        ):
            seen = observe(models, _hear(models, window, "transcribe"), compared, repetitions, len(observed))
            if seen.trace.useful >= _FEWEST_TOKENS:
                observed.append(seen)
    found = agreements(observed, models.provenance(heard.digest, "transcribe"))
    typer.echo(agreement_table(found), nl=False)
    return 0


class _Spoken(NamedTuple):
    """A window with speech, and its language as far as known."""

    name: str
    language: str | None
    speech: SpeechWindow


def _loaded(model: str, drafters: Sequence[str] | None, threads: int | None, precision: Precision) -> Models:
    cores = split_cores(available_cores() if threads is None else threads).alone
    subjects = load_subjects(model, tuple(dict.fromkeys(drafters or usual_drafters(model))), precision)
    return Models(model, subjects.target, subjects.drafters, cores)


def _hear(models: Models, window: _Spoken, task: Task) -> Heard:
    return models.hear(window.name, window.speech, window.language, task)


def _windows(corpus: Corpus, models: Models, selection: Selection, *, quiet: bool) -> Iterator[_Spoken]:
    """The windows of the selected clips; a clip that cannot be heard is named and left."""
    clips = select(corpus.clips, models.target.capabilities.languages, selection)
    for clip, reason in corpus.skipped:
        say(f"warning: {clip.name} is skipped: {reason}")
    visible = not quiet and can_be_seen(writes_every_commit=False)
    with ClipsBar({clip.name: clip.duration_s for clip in clips}, visible=visible) as bar:
        for clip in clips:
            try:
                yield from _spoken(clip)
            except AudioError as error:
                say(f"warning: {clip.name} is skipped: {error}")
            bar.update(clip.name)


def _spoken(clip: Clip) -> Iterator[_Spoken]:
    with open_clip(clip) as recording:
        for index, speech in enumerate(recording.windows):
            yield _Spoken(f"{clip.name}#{index}", clip.language or None, speech)


def _compared(models: Models, budget: int) -> list[Configuration]:
    """The target alone, on all cores and on those that a drafter leaves it, and each drafter."""
    beside = split_cores(models.threads).cores_for(1)
    alone = [Configuration(threads) for threads in sorted({models.threads, beside}, reverse=True)]
    return [*alone, *(Configuration(models.threads, (name,), budget) for name in models.drafters)]


def _check_models(recorded: Provenance, profile: Profile) -> None:
    """InputError unless the profile is of the models that the traces are of."""
    digests = {recorded.target: recorded.target_digest, **recorded.drafters}
    for name, digest in digests.items():
        if name in profile.models and profile.models[name] != digest:
            raise InputError(f"traces and profile are of another {name}; record or measure again")
    if recorded.target != profile.plan.target:
        raise InputError(
            f"the traces are of {recorded.target}, the profile of {profile.plan.target}; use those of one target"
        )


def _drafted(
    method: UsedMethod,
    threads: int,
    drafters: Sequence[str],
    budgets: Sequence[int],
    batches: Sequence[BatchSize],
) -> Iterator[Configuration]:
    """Every drafter × budget from 1 up × core split × batch, as far as the method has them."""
    cores = [split.drafter for split in splits(threads)]
    if method == "speculative":  # who takes turns may have all cores
        cores = sorted({*cores, threads})
    if not TRAITS[method].drafts:
        return
    counted = tuple(budget for budget in budgets if budget > 0) if TRAITS[method].budget else (0,)
    grouped: Sequence[BatchSize] = batches if TRAITS[method].batch else ("word",)
    for name, budget, count, batch in product(drafters, counted, cores, grouped):
        yield Configuration(threads, (name,), budget, count, batch, method)


def _budgets(text: str | None) -> Sequence[int]:
    return range(MAX_BUDGET + 1) if text is None else numbers(text, "--budget") or ()


def _methods(text: str) -> list[UsedMethod]:
    parts = names(text) or ()
    if unknown := [part for part in parts if part not in REPLAYED]:
        raise InputError(f"{', '.join(unknown)} cannot be replayed; choose among {', '.join(REPLAYED)}")
    return [method for method in REPLAYED if method in parts]


def _batches(text: str) -> list[BatchSize]:
    parts = names(text) or ()
    if not parts or not all(part == "word" or part.isdecimal() for part in parts):
        raise InputError(f"--batch {text} is no list of batches; write word, or numbers of tokens")
    return ["word" if part == "word" else int(part) for part in parts]
