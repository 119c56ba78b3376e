"""A bench from options to measured clips."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

from as2d.configuration.drafters import AUTO, drafters_for
from as2d.evaluation.contender import Contender
from as2d.evaluation.corpora import Clip, Corpus, Selection, is_wanted, read_corpus, select
from as2d.evaluation.host import Host, describe_host
from as2d.evaluation.measuring.condense import Source
from as2d.evaluation.measuring.journal import ClipRecord, Journal, Setup
from as2d.evaluation.measuring.lineup import Lineup, load_drafters, peer_contender
from as2d.evaluation.measuring.plan import Wishes, make_plan, reference
from as2d.evaluation.measuring.runner import Procedure, Runner
from as2d.evaluation.peers.contract import Peer
from as2d.evaluation.peers.registry import available_peers
from as2d.evaluation.rows import SCHEMA, Row
from as2d.models.contract import AudioModel
from as2d.models.whisper.model import TargetPrecision, load_whisper

_NONE: tuple[tuple[Peer, ...], Mapping[str, str]] = ((), {})


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What to measure, and how."""

    model: str
    precision: TargetPrecision
    selection: Selection
    wishes: Wishes
    procedure: Procedure
    peers: bool = False


class Bench:
    """An open bench: `pending` are the clips of which something is still to be measured."""

    def __init__(self, clips: Sequence[Clip], runner: Runner, journal: Journal, lineup: Lineup) -> None:
        self.pending = [clip for clip in clips if not journal.is_done(clip.name)]
        self.notices = tuple(journal.notices)
        self._runner = runner
        self._entrants = {contender.key: entrant for contender, entrant in lineup.entrants.items()}

    def measure(self) -> Iterator[tuple[str, float | None]]:
        """Measure what is missing; after each window and clip: the clip, and its seconds that are done (None: all)."""
        for clip in self.pending:
            for seconds in self._runner.measure(clip):
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
    corpus, host = read_corpus(corpus_folder), describe_host()
    target = load_whisper(options.model, options.precision)
    clips = select(corpus.clips, target.capabilities.languages, options.selection)
    plan = make_plan(_with_drafters(options.wishes, target), host.cores)
    with ExitStack() as closing:
        peers, missing = (
            closing.enter_context(available_peers(options.model, host.cores)) if options.peers else _NONE
        )
        compared = (*plan, *(peer_contender(peer, host.cores) for peer in peers))
        journal = closing.enter_context(Journal(folder, _setup(corpus, host, options, compared, missing)))
        _skip_unreadable(corpus, target, options.selection, journal)
        lineup = Lineup(target, load_drafters(plan, target), peers, plan, host.cores)
        source = Source(host.commit, _told(host), host.versions, corpus.digest)
        runner = Runner(lineup, reference(host.cores), source, options.procedure, journal)
        yield Bench(clips, runner, journal, lineup)


def _with_drafters(wishes: Wishes, target: AudioModel) -> Wishes:
    """The wishes with the drafters that come with as2d where none are asked for."""
    if wishes.drafters:
        return wishes
    return replace(wishes, drafters=tuple(source.name for source in drafters_for(target, AUTO).sources))


def _setup(
    corpus: Corpus,
    host: Host,
    options: BenchOptions,
    compared: tuple[Contender, ...],
    missing_peers: Mapping[str, str],
) -> Setup:
    return Setup(
        schema=SCHEMA,
        commit=host.commit,
        corpus=corpus.digest,
        cpu=host.cpu,
        versions=host.versions,
        options=_named(options),
        plan=tuple(contender.key for contender in compared),
        duplicates=corpus.duplicates,
        missing_peers=missing_peers,
    )


def _named(options: BenchOptions) -> dict[str, str]:
    """The options but the wishes, which the plan tells."""
    parts = (options.selection, options.procedure)
    named = {field.name: getattr(part, field.name) for part in parts for field in fields(part)}
    return {
        "model": options.model,
        "precision": options.precision,
        **{name.replace("_", "-"): _told_value(value) for name, value in named.items()},
    }


def _skip_unreadable(corpus: Corpus, target: AudioModel, selection: Selection, journal: Journal) -> None:
    """Write down the clips that were asked for and whose files cannot be read."""
    for clip, reason in corpus.skipped:
        if is_wanted(clip, target.capabilities.languages, selection):
            journal.finish(ClipRecord(clip.name, {}, (), "", reason))


def _told(host: Host) -> str:
    return f"{host.name}, {host.cpu}, {host.cores} cores, load {host.load:.2f} at the start"


def _told_value(value: object) -> str:
    if value is None:
        return "all"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
