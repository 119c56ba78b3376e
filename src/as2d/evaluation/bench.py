"""A bench from options to measured clips."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from as2d.configuration.drafters import AUTO, drafters_for
from as2d.errors import InputError, UnsupportedError
from as2d.evaluation.contender import Contender
from as2d.evaluation.corpora import (
    Asking,
    Clip,
    Corpus,
    Selection,
    asked_clips,
    is_wanted,
    read_corpus,
    select,
    task_options,
)
from as2d.evaluation.host import Host, describe_host
from as2d.evaluation.measuring.condense import Source
from as2d.evaluation.measuring.journal import ClipRecord, Journal, Setup
from as2d.evaluation.measuring.lineup import Drafter, Lineup, load_drafters, peer_contender
from as2d.evaluation.measuring.plan import Wishes, make_plan, reference
from as2d.evaluation.measuring.runner import Procedure, Runner
from as2d.evaluation.peers.contract import PEER_TASKS, Peer
from as2d.evaluation.peers.registry import available_peers
from as2d.evaluation.rows import SCHEMA, Row
from as2d.models.contract import AudioModel
from as2d.models.load import Precision, load_target, told_precision
from as2d.runtime.source import Source as DraftSource
from as2d.runtime.source import source_of

_NONE: tuple[tuple[Peer, ...], Mapping[str, str]] = ((), {})


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What to measure, and how."""

    model: str
    precision: Precision
    selection: Selection
    wishes: Wishes
    procedure: Procedure
    peers: bool = False
    asking: Asking = field(default_factory=Asking)

    def __post_init__(self) -> None:
        if self.peers and self.asking.task not in PEER_TASKS:
            raise InputError(
                f"other projects' decoders cannot {self.asking.told}, only {' and '.join(PEER_TASKS)}; leave out "
                "--peers, or name another --task"
            )


class Bench:
    """An open bench: `pending` are the clips of which something is still to be measured."""

    def __init__(
        self, clips: Sequence[Clip], asking: Asking, runner: Runner, journal: Journal, lineup: Lineup
    ) -> None:
        self.pending = [clip for clip in clips if not journal.is_done(clip.name)]
        self.notices = tuple(journal.notices)
        self._asking = asking
        self._runner = runner
        self._entrants = {contender.key: entrant for contender, entrant in lineup.entrants.items()}

    def measure(self) -> Iterator[tuple[str, float | None]]:
        """Measure what is missing; after each window and clip: the clip, and its seconds that are done (None: all)."""
        for clip in self.pending:
            for seconds in self._runner.measure(clip, self._asking.about(clip)):
                yield clip.name, seconds
            yield clip.name, None

    def differs(self, row: Row) -> bool:
        """Whether a row has other tokens than target-only though its contender is exact."""
        return not row.identical and self._entrants[row.contender].exact


@contextmanager
def open_bench(corpus_folder: Path, folder: Path, options: BenchOptions) -> Iterator[Bench]:
    """Load everything and begin in a folder, or go on in it.

    Raises InputError, and what loading the models raises; audio that cannot be decoded is only skipped.
    """
    corpus, host = read_corpus(corpus_folder, pieces=True), describe_host()
    target = load_target(options.model, precision=options.precision)
    _require_able(target, options.asking)
    asked = asked_clips(corpus.clips, options.asking)
    clips = select(asked, target.capabilities.languages, options.selection)
    plan = make_plan(_with_drafters(options, target), host.cores)
    with ExitStack() as closing:
        peers, missing = (
            closing.enter_context(available_peers(options.model, host.cores)) if options.peers else _NONE
        )
        compared = (*plan, *(peer_contender(peer, host.cores) for peer in peers))
        journal = closing.enter_context(
            Journal(folder, _setup(corpus, host, options, target, compared, missing))
        )
        _skip_unreadable(corpus, target, options, journal)
        drafters = load_drafters(plan, target)
        _require_drafting(drafters, options.asking)
        lineup = Lineup(target, drafters, peers, plan, host.cores)
        source = Source(host.commit, _told(host), host.versions, corpus.digest)
        runner = Runner(lineup, reference(host.cores), source, options.procedure, journal)
        yield Bench(clips, options.asking, runner, journal, lineup)


def _require_able(target: AudioModel, asking: Asking) -> None:
    """UnsupportedError for a task, or a language of translations, that the target does not have."""
    question = "?" if asking.task == "ask" else None
    target.check(replace(asking.instruction, question=question))
    known = target.capabilities.translates_to
    if asking.to and asking.to not in known:
        raise UnsupportedError(
            f"{target.name} does not translate to {asking.to!r}; use --to {' or '.join(known)}"
        )


def _require_drafting(drafters: Mapping[str, Drafter], asking: Asking) -> None:
    """InputError for a drafter that cannot do the task, such as every recogniser where it is not to transcribe."""
    for name, drafter in drafters.items():
        if not _can_draft(source_of(drafter), asking):
            raise InputError(
                f"the drafter {name} cannot {asking.told}; leave it out, or name another with --drafters"
            )


def _can_draft(source: DraftSource, asking: Asking) -> bool:
    """Whether a drafter does the task in any language; every one transcribes."""
    return asking.task == "transcribe" or source.can_draft(asking.instruction)


def _with_drafters(options: BenchOptions, target: AudioModel) -> Wishes:
    """The wishes with the drafters that come with as2d and do the task where none are asked for."""
    if options.wishes.drafters:
        return options.wishes
    sources = drafters_for(target, AUTO).sources
    able = tuple(source.name for source in sources if _can_draft(source, options.asking))
    return replace(options.wishes, drafters=able)


def _setup(
    corpus: Corpus,
    host: Host,
    options: BenchOptions,
    target: AudioModel,
    compared: tuple[Contender, ...],
    missing_peers: Mapping[str, str],
) -> Setup:
    return Setup(
        schema=SCHEMA,
        commit=host.commit,
        corpus=corpus.digest,
        cpu=host.cpu,
        versions=host.versions,
        options=_named(options, target),
        plan=tuple(contender.key for contender in compared),
        duplicates=corpus.duplicates,
        missing_peers=missing_peers,
    )


def _named(options: BenchOptions, target: AudioModel) -> dict[str, str]:
    """The options but the wishes, which the plan tells; the task where it is not to transcribe."""
    parts = (options.selection, options.procedure)
    named = {option.name: getattr(part, option.name) for part in parts for option in fields(part)}
    return {
        **task_options(options.asking),
        "model": options.model,
        "precision": told_precision(target, options.precision),
        **{name.replace("_", "-"): _told_value(value) for name, value in named.items()},
    }


def _skip_unreadable(corpus: Corpus, target: AudioModel, options: BenchOptions, journal: Journal) -> None:
    """Write down the clips that were asked for and whose files cannot be read."""
    reasons = {clip.name: reason for clip, reason in corpus.skipped}
    for clip in asked_clips((clip for clip, _ in corpus.skipped), options.asking):
        if is_wanted(clip, target.capabilities.languages, options.selection):
            journal.finish(ClipRecord(clip.name, {}, (), "", reasons[clip.name]))


def _told(host: Host) -> str:
    return f"{host.name}, {host.cpu}, {host.cores} cores, load {host.load:.2f} at the start"


def _told_value(value: object) -> str:
    if value is None:
        return "all"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
