"""`as2d tune`: choose drafter, budget, core split and batch for this machine, once, by replay."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from as2d.cli import options as o
from as2d.cli import replay
from as2d.cli.clips import CorpusFolder, Kinds, Languages, Limit, Seed
from as2d.cli.lists import names
from as2d.cli.progress import ClipsBar, can_be_seen
from as2d.cli.report import say, saying_what_is_logged
from as2d.configuration.catalogue import affordable, catalogue
from as2d.configuration.drafters import drafters_for
from as2d.configuration.explain import ablated, choices, reasons
from as2d.configuration.file import check_writable, default_file, merge_entries
from as2d.configuration.tune import OBJECTIVES, Progress, Rules, Tuning, grounds, simulate, tune
from as2d.configuration.tuned import Entry, Half, Objective
from as2d.errors import InputError
from as2d.evaluation.corpora import Selection, read_speech, select
from as2d.evaluation.plots.picture import require_drawing
from as2d.evaluation.plots.tuning import draw_tunings
from as2d.models.load import Precision
from as2d.profiling.check import check
from as2d.profiling.costs import Costs
from as2d.profiling.profile import Profile, load_profile
from as2d.profiling.subjects import load_subjects
from as2d.records import SpeechTask
from as2d.replay import trace_file
from as2d.replay.configuration import Configuration
from as2d.replay.costs import Contended
from as2d.replay.sweep import Scores
from as2d.replay.trace import Traces
from as2d.runtime.cores import available_cores

_FACTORS = (0.5, 2.0)
"""By which contention is scaled, to see whether the choice would be another."""

_Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The file to add to. Without: the one that auto uses by itself."),
]
_ObjectiveOption = Annotated[
    Objective | None,
    typer.Option(
        "--objective",
        help="throughput: tokens/s of prepared audio; latency: from samples to the answer. Without: both.",
    ),
]
_Memory = Annotated[
    float | None,
    typer.Option(
        "--memory-limit", min=0.0, metavar="MB", help="Only drafters that fit in it beside the target."
    ),
]
_Latency = Annotated[
    float | None,
    typer.Option(
        "--latency-limit", min=0.0, metavar="MS", help="95% of the windows are to be answered within."
    ),
]
_Traces = Annotated[
    Path, typer.Option(metavar="FILE", help="What is recorded; a file that is there is used and continued.")
]
_HalfOption = Annotated[
    Half | None, typer.Option("--half", help="Tune on this half of the clips, and test on the other.")
]
_Explain = Annotated[
    bool, typer.Option("--explain", help="Why: more tables, and a picture beside the file (extra bench).")
]


def command(
    corpus: CorpusFolder,
    *,
    profile: o.ProfileFile,
    out: _Out = None,
    objective: _ObjectiveOption = None,
    memory_limit: _Memory = None,
    latency_limit: _Latency = None,
    limit: Limit = None,
    kinds: Kinds = None,
    languages: Languages = None,
    seed: Seed = 0,
    traces: _Traces = Path("traces.jsonl"),
    half: _HalfOption = None,
    task: o.SpokenTask = "transcribe",
    precision: o.Precision = "auto",
    explain: _Explain = False,
    quiet: o.Quiet = False,
) -> int:
    """Choose drafter, budget, core split and batch for a machine: the choices on stdout, and in the file for auto.

    Records every window once, and replays it under each configuration with the costs of the profile. Interrupted, the
    same command goes on where it was.
    """
    destination = default_file() if out is None else out
    if explain:
        require_drawing()
    with saying_what_is_logged(quiet=quiet, verbose=False):
        measured = load_profile(profile)
        tried = measured.plan.drafters if memory_limit is None else affordable(measured, memory_limit)
        configurations = catalogue(measured.plan.threads, tried)
        check_writable(destination)
        models = _models(measured, precision)
        wanted = _Wanted(corpus, limit, kinds, languages, seed, task)
        with _kept(traces, quiet=quiet):
            known = _recorded(wanted, measured, models, traces, precision, quiet=quiet)
            rules = Rules(frozenset(measured.plan.sharing), latency_limit, half)
            study = _Study(known, configurations, measured, rules)
            objectives = OBJECTIVES if objective is None else (objective,)
            tunings, why = study.findings(objectives, explain=explain, quiet=quiet)
        typer.echo(choices(tunings) + why, nl=False)
        merge_entries(destination, [_entry(one, measured, models, known, half) for one in tunings])
    inform = _ignore if quiet else say
    inform(f"written to {destination}")
    if explain:
        picture = destination.with_suffix(".png")
        draw_tunings(tunings, picture)
        inform(f"drawn in {picture}")
    return 0


@dataclass(frozen=True)
class _Wanted:
    """The windows to tune on, and what is asked of them."""

    corpus: Path
    limit: int | None
    kinds: str | None
    languages: str | None
    seed: int
    task: SpeechTask

    @property
    def selection(self) -> Selection:
        """Which clips."""
        return Selection(names(self.kinds), names(self.languages), self.limit, self.seed)


@dataclass(frozen=True)
class _Models:
    """The models of a profile: identities by name as sessions know them, and the target's languages."""

    target: str
    drafters: Mapping[str, str]
    languages: tuple[str, ...]


def _models(measured: Profile, precision: Precision) -> _Models:
    """InputError where the profile is of others, or has no drafter to choose."""
    plan = measured.plan
    if not plan.drafters:
        raise InputError(
            "the profile has no drafter, so there is nothing to choose; run `as2d profile` with one"
        )
    subjects = load_subjects(plan.target, plan.drafters, precision)
    check(measured, subjects.target, subjects.drafters, trusted=True)
    sources = drafters_for(subjects.target, plan.drafters).sources
    identities = {name: source.identity for name, source in zip(plan.drafters, sources, strict=True)}
    return _Models(subjects.target.identity, identities, subjects.target.capabilities.languages)


def _recorded(
    wanted: _Wanted,
    measured: Profile,
    models: _Models,
    file: Path,
    precision: Precision,
    *,
    quiet: bool,
) -> Traces:
    """The traces of the windows that are wanted; those that the file lacks are recorded. InputError for none."""
    replay.record(
        wanted.corpus,
        out=file,
        limit=wanted.limit,
        kinds=wanted.kinds,
        languages=wanted.languages,
        seed=wanted.seed,
        model=measured.plan.target,
        drafter=list(measured.plan.drafters),
        precision=precision,
        task=wanted.task,
        quiet=quiet,
    )
    clips = {
        clip.name for clip in select(read_speech(wanted.corpus).clips, models.languages, wanted.selection)
    }
    known = trace_file.read([file])
    windows = tuple(one for one in known.windows if one.window.rpartition("#")[0] in clips)
    if not windows:
        raise InputError("none of the clips has speech; take others")
    return Traces(known.provenance, windows)


@dataclass(frozen=True)
class _Study:
    """What is replayed, under what, and what may be chosen."""

    traces: Traces
    configurations: Sequence[Configuration]
    measured: Profile
    rules: Rules

    def findings(
        self, objectives: Sequence[Objective], *, explain: bool, quiet: bool
    ) -> tuple[list[Tuning], str]:
        """What is chosen for each objective, and the reasons as Markdown, if they are asked for."""
        factors = (1.0, *_FACTORS) if explain else (1.0,)
        parts = {
            _part(objective, factor): len(self.traces.windows)
            for objective in objectives
            for factor in factors
        }
        tunings: list[Tuning] = []
        why = ""
        with ClipsBar(parts, visible=not quiet and can_be_seen(writes_every_commit=False)) as bar:
            for objective in objectives:
                by_factor = {factor: self._tuned(objective, factor, bar) for factor in factors}
                tunings += by_factor[1.0]
                if explain:
                    why += self._reasons(objective, by_factor)
        return tunings, why

    def _tuned(self, objective: Objective, factor: float, bar: ClipsBar) -> list[Tuning]:
        scores = self._simulated(
            self.configurations,
            objective,
            factor,
            progress=lambda done: bar.update(_part(objective, factor), done),
        )
        return list(tune(self.traces.windows, scores, objective, self.rules))

    def _reasons(self, objective: Objective, by_factor: Mapping[float, list[Tuning]]) -> str:
        tunings = by_factor[1.0]
        compared = tuple(dict.fromkeys(one for tuning in tunings for one in ablated(tuning)))
        scores = self._simulated(compared, objective, 1.0, progress=_ignore)
        return "".join(
            reasons(tuning, {factor: others[index] for factor, others in by_factor.items()}, scores)
            for index, tuning in enumerate(tunings)
        )

    def _simulated(
        self, configurations: Sequence[Configuration], objective: Objective, factor: float, progress: Progress
    ) -> Scores:
        costs = Contended(Costs(self.measured), factor)
        return simulate(
            self.traces, configurations, costs, objective, workers=available_cores(), progress=progress
        )


def _part(objective: Objective, factor: float) -> str:
    return objective if factor == 1 else f"{objective}, contention × {factor:g}"


def _entry(tuning: Tuning, measured: Profile, models: _Models, traces: Traces, half: Half | None) -> Entry:
    provenance, tested = traces.provenance, tuning.test[tuning.chosen]
    return Entry(
        machine=measured.machine,
        threads=measured.plan.threads,
        target=(measured.plan.target, models.target),
        drafters=models.drafters,
        task=provenance.task,
        objective=tuning.objective,
        group=tuning.group,
        choice=tuning.choice,
        grounds=grounds(tuning.scores, tuning.chosen, tuning.clock),
        test=grounds(tuning.test, tuning.chosen, tuning.clock) if tested else None,
        corpus=provenance.corpus,
        half=half,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


@contextmanager
def _kept(file: Path, *, quiet: bool) -> Iterator[None]:
    """Say how an interrupted command goes on."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet:
            say(f"what is recorded is kept in {file}; the same command goes on from there")
        raise


def _ignore(_: object) -> None:
    """Say nothing."""
