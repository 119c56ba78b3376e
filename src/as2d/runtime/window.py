"""Decode one window, and record what it cost."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from threading import Event
from time import perf_counter
from typing import Literal, NamedTuple

from as2d.decoding.align import Marks
from as2d.decoding.as2d import decode
from as2d.decoding.stop import StopRules
from as2d.decoding.target_only import decode_alone
from as2d.drafting.publication import BatchSize
from as2d.errors import CancelledError
from as2d.models.contract import Decoder
from as2d.records import Commit, Instruction
from as2d.runtime.draft import Draft, Drafts
from as2d.runtime.pair import Chosen, Pair, PreparedSource, PreparedWindow, SpeechWindow


@dataclass(frozen=True, slots=True)
class Decoding:
    """How to decode: the method, the most candidates a round, tokens published together, whether sources draft what
    they do not speak, whether they go on from the committed text when they have lost their place, and which of them
    draft (None: all)."""

    method: Literal["as2d", "target-only"]
    budget: int
    batch: BatchSize
    any_language: bool
    resync: bool = False
    chosen: Chosen | None = None


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Whether a producer ran to draft a window, and what went wrong with it."""

    name: str
    drafted: bool
    fault: str | None


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """One decoded window, from sample `start` to `end`. Times are milliseconds.

    `decode_ms` runs from the first root ready to the target's end, `producer_done_ms` until all producers have stopped
    too. `sources` are the pair's, by the indices that commits name; none where nobody was to draft.
    """

    start: int
    end: int
    language: str
    commits: tuple[Commit, ...]
    encode_ms: float
    decode_ms: float
    producer_done_ms: float
    sources: tuple[SourceRecord, ...]

    @property
    def drafted(self) -> bool:
        """Whether anybody drafted."""
        return any(source.drafted for source in self.sources)

    @property
    def faults(self) -> tuple[str, ...]:
        """What went wrong with any source."""
        return tuple(source.fault for source in self.sources if source.fault)


def run_window(
    pair: Pair,
    window: SpeechWindow | PreparedWindow,
    instruction: Instruction,
    decoding: Decoding,
    cancelled: Event,
) -> Generator[Commit, None, WindowRecord]:
    """Give out the commits of one window as they come, and return its record.

    An instruction without language has it detected. Raises CancelledError once `cancelled` is set, at the next
    commit. However the generator ends, the producers have been stopped by then.
    """
    if isinstance(window, PreparedWindow):
        instruction = _resolved(instruction, window)
    with _start_drafts(pair, window, instruction, decoding) as drafts:
        arrived = perf_counter()
        prepared = _prepared(pair, window, instruction, drafts)
        encoded = perf_counter()
        if instruction.language is None:
            instruction = _resolved(instruction, prepared)
            drafts.resolve(instruction, _speakers(pair, instruction, decoding))
        opened = _open(pair, prepared, instruction, drafting=len(drafts.wanted))
        first_root = perf_counter()
        commits: list[Commit] = []
        for commit in _decode(pair, opened, drafts, decoding):
            if cancelled.is_set():
                raise CancelledError("the request was cancelled")
            drafts.follow(commit)
            commits.append(commit)
            yield commit
        ended = perf_counter()
    return WindowRecord(
        start=prepared.start,
        end=prepared.end,
        language=instruction.language or prepared.language,
        commits=tuple(commits),
        encode_ms=_ms(encoded - arrived),
        decode_ms=_ms(ended - first_root),
        producer_done_ms=_ms(max(ended, drafts.done_at) - first_root),
        sources=_source_records(pair, prepared, drafts, decoding),
    )


class _Opened(NamedTuple):
    decoder: Decoder
    rules: StopRules


def _resolved(instruction: Instruction, prepared: PreparedWindow) -> Instruction:
    return Instruction(instruction.task, instruction.language or prepared.language)


def _is_drafted(decoding: Decoding) -> bool:
    return decoding.method == "as2d" and decoding.budget > 0


def _speakers(pair: Pair, instruction: Instruction, decoding: Decoding) -> frozenset[int]:
    """The chosen sources that can draft the instruction, or may be able to once its language is known."""
    anybody = decoding.any_language or instruction.language is None
    chosen = decoding.chosen(instruction) if decoding.chosen else range(len(pair.sources))
    return frozenset(index for index in chosen if anybody or pair.sources[index].can_draft(instruction))


def _start_drafts(
    pair: Pair, window: SpeechWindow | PreparedWindow, instruction: Instruction, decoding: Decoding
) -> Drafts:
    """Producers of all sources but those that are already known not to draft; told what to, if that is known."""
    if not _is_drafted(decoding):
        return Drafts({})
    speakers = _speakers(pair, instruction, decoding)
    drafts = Drafts(
        {
            index: Draft(
                pair.sources[index], part, pair.target.vocabulary, decoding.batch, resync=decoding.resync
            )
            for index, part in _parts(pair, window).items()
            if index in speakers
        }
    )
    if instruction.language:
        drafts.resolve(instruction, speakers)
    return drafts


def _parts(
    pair: Pair, window: SpeechWindow | PreparedWindow
) -> Mapping[int, SpeechWindow] | Mapping[int, PreparedSource]:
    """What each source drafts from; a source that was not prepared is left out."""
    if isinstance(window, SpeechWindow):
        return dict.fromkeys(range(len(pair.sources)), window)
    prepared = zip(range(len(pair.sources)), window.sources, strict=False)  # perhaps prepared by another pair
    return {index: part for index, part in prepared if part.audio is not None}


def _prepared(
    pair: Pair, window: SpeechWindow | PreparedWindow, instruction: Instruction, drafts: Drafts
) -> PreparedWindow:
    if isinstance(window, PreparedWindow):
        return window
    busy = sum(not pair.sources[index].waits(instruction) for index in drafts.wanted)
    threads = pair.cores.cores_for(busy)
    target = pair.target.prepare(window.samples, threads)
    drafts.hear(target)
    language = instruction.language or pair.target.detect_language(target, threads)
    return PreparedWindow(window.start, window.end, target, language)


def _open(pair: Pair, prepared: PreparedWindow, instruction: Instruction, *, drafting: int) -> _Opened:
    decoder = pair.target.open(prepared.target, instruction, pair.cores.cores_for(drafting))
    limit = pair.target.output_limit(prepared.target, instruction)
    return _Opened(decoder, StopRules(pair.target.end_ids, limit))


def _decode(pair: Pair, opened: _Opened, drafts: Drafts, decoding: Decoding) -> Iterator[Commit]:
    if not drafts.wanted:
        return decode_alone(opened.decoder, opened.rules, pair.cores.alone)
    vocabulary = pair.target.vocabulary
    return decode(
        opened.decoder,
        drafts.buffers(len(pair.sources)),
        opened.rules,
        budget=decoding.budget,
        cores=pair.cores,
        marks=Marks(vocabulary.weak_tokens, vocabulary.word_starts),
        vocabulary_size=vocabulary.size,
        resync=decoding.resync,
    )


def _source_records(
    pair: Pair, prepared: PreparedWindow, drafts: Drafts, decoding: Decoding
) -> tuple[SourceRecord, ...]:
    if not _is_drafted(decoding):
        return ()
    earlier = {index: part.fault for index, part in enumerate(prepared.sources)}
    return tuple(
        SourceRecord(source.name, index in drafts.wanted, drafts.fault(index) or earlier.get(index))
        for index, source in enumerate(pair.sources)
    )


def _ms(seconds: float) -> float:
    return seconds * 1000
