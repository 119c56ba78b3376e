"""Decode one window, and record what it cost."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from time import perf_counter
from typing import NamedTuple

from as2d.decoding.align import Marks
from as2d.decoding.as2d import decode
from as2d.decoding.confidence import LONGEST_DRAFT, THRESHOLD
from as2d.decoding.lookahead import decode_lookahead
from as2d.decoding.methods import TRAITS
from as2d.decoding.specasr import decode_specasr
from as2d.decoding.speculative import Turns, decode_speculative
from as2d.decoding.stop import StopRules
from as2d.decoding.target_only import decode_alone
from as2d.drafting.buffer import CandidateBuffer
from as2d.drafting.publication import BatchSize
from as2d.errors import CancelledError, InputError
from as2d.models.contract import Decoder, prefix_of, prepare_for
from as2d.records import Commit, Instruction, UsedMethod
from as2d.runtime.draft import Draft, Drafts, Manner
from as2d.runtime.pair import Chosen, Pair, PreparedSource, PreparedWindow, SpeechWindow
from as2d.runtime.serial import SerialDraft

PREVIOUS_TEXT = "previous text"
"""The name of the source that is an earlier answer to part of the same audio."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How to decode: the method, the most candidates a round (unless the method has a rule for that), tokens published
    together, whether sources draft what they do not speak, whether they go on from the committed text when they have
    lost their place (as2d), which of them draft (None: all), and how likely all candidates of a round must be to be
    accepted (as2d; see `decoding.floor`).

    `hypothesis` is what was said of the same audio when there was less of it. For methods that follow what sources
    publish it is one more source, complete from the start, which takes no core; all others ignore it.
    """

    method: UsedMethod
    budget: int
    batch: BatchSize
    any_language: bool
    resync: bool = False
    chosen: Chosen | None = None
    hypothesis: tuple[int, ...] = ()
    floor: float = 0.0

    @property
    def recalled(self) -> tuple[int, ...]:
        """The hypothesis, if the method uses any."""
        return () if not self.drafts or TRAITS[self.method].writes_on else self.hypothesis

    @property
    def drafts(self) -> bool:
        """Whether anybody is to draft."""
        traits = TRAITS[self.method]
        return traits.drafts and (self.budget > 0 or not traits.budget)

    @property
    def serial(self) -> bool:
        """Whether target and drafter take turns."""
        return self.drafts and TRAITS[self.method].serial


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Whether a source was there to draft a window, and what went wrong with it."""

    name: str
    drafted: bool
    fault: str | None


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """One decoded window, from sample `start` to `end`. Times are milliseconds.

    `decode_ms` runs from the first root ready to the target's end, `producer_done_ms` until all producers have stopped
    too. A serial drafter's first root is ready then as well, and its encoding is part of `encode_ms`. `sources` are the
    pair's, by the indices that commits name, and behind them the previous text if there was one; none where nobody was
    to draft.
    """

    start: int
    end: int
    language: str | None
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
    commit, and InputError for a window that was prepared for another context, and for several sources where the method
    has one. However the generator ends, the producers have been stopped by then.
    """
    if isinstance(window, PreparedWindow):
        _check_prefix(pair, window, instruction)
        instruction = _resolved(instruction, window)
    with _start_drafts(pair, window, instruction, decoding) as drafts:
        arrived = perf_counter()
        prepared = _prepared(pair, window, instruction, drafts, decoding)
        encoded = perf_counter()
        if instruction.language is None:
            instruction = _resolved(instruction, prepared)
            drafts.resolve(instruction, _speakers(pair, instruction, decoding))
        opened = _open(pair, prepared, instruction, drafting=len(drafts.wanted))
        serial = _open_serial(pair, prepared, instruction, decoding)
        first_root = perf_counter()
        commits: list[Commit] = []
        for commit in _decode(pair, opened, drafts, serial, decoding):
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
        sources=_source_records(pair, prepared, drafts, serial, decoding) if decoding.drafts else (),
    )


class _Opened(NamedTuple):
    decoder: Decoder
    rules: StopRules


def _check_prefix(pair: Pair, window: PreparedWindow, instruction: Instruction) -> None:
    if window.prefix != prefix_of(pair.target, instruction):
        raise InputError(
            "the audio was prepared for another context, which comes before it; prepare it again"
        )


def _resolved(instruction: Instruction, prepared: PreparedWindow) -> Instruction:
    return replace(instruction, language=instruction.language or prepared.language)


def _speakers(pair: Pair, instruction: Instruction, decoding: Decoding) -> frozenset[int]:
    """The chosen sources that can draft the instruction, or may be able to once its language is known."""
    anybody = decoding.any_language or instruction.language is None
    chosen = decoding.chosen(instruction) if decoding.chosen else range(len(pair.sources))
    speakers = frozenset(index for index in chosen if anybody or pair.sources[index].can_draft(instruction))
    if len(speakers) > 1 and instruction.language and TRAITS[decoding.method].writes_on:
        names = ", ".join(pair.sources[index].name for index in sorted(speakers))
        raise InputError(f"the method {decoding.method} has one drafter, not several ({names}); choose one")
    return speakers


def _start_drafts(
    pair: Pair, window: SpeechWindow | PreparedWindow, instruction: Instruction, decoding: Decoding
) -> Drafts:
    """Producers of all sources but those that are already known not to draft; told what to, if that is known."""
    if not decoding.drafts or decoding.serial:
        return Drafts({})
    speakers = _speakers(pair, instruction, decoding)
    resync = decoding.resync or decoding.method == "lookahead"
    manner = Manner(pair.target.vocabulary, decoding.batch, pair.cores.drafter, resync)
    drafts = Drafts(
        {
            index: Draft(pair.sources[index], part, manner, instruction)
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
    return _prepared_parts(pair, window)


def _prepared_parts(pair: Pair, window: PreparedWindow) -> Mapping[int, PreparedSource]:
    prepared = zip(range(len(pair.sources)), window.sources, strict=False)  # perhaps prepared by another pair
    return {index: part for index, part in prepared if part.audio is not None}


def _prepared(
    pair: Pair,
    window: SpeechWindow | PreparedWindow,
    instruction: Instruction,
    drafts: Drafts,
    decoding: Decoding,
) -> PreparedWindow:
    if isinstance(window, PreparedWindow):
        return window
    if decoding.serial:
        return _prepared_in_turn(pair, window, instruction, decoding)
    busy = sum(not pair.sources[index].waits(instruction) for index in drafts.wanted)
    threads = pair.cores.cores_for(busy)
    target = prepare_for(pair.target, instruction, window.samples, threads)
    drafts.hear(target)
    language = instruction.language or pair.target.detect_language(target, threads)
    prefix = prefix_of(pair.target, instruction)
    return PreparedWindow(window.start, window.end, target, language, prefix=prefix)


def _prepared_in_turn(
    pair: Pair, window: SpeechWindow, instruction: Instruction, decoding: Decoding
) -> PreparedWindow:
    """The window as the target and the one source need it, each encoded on all cores."""

    def chosen(asked: Instruction) -> frozenset[int]:
        return _speakers(pair, asked, decoding) if asked.task == instruction.task else frozenset()

    return pair.prepare(window, instruction, any_language=decoding.any_language, chosen=chosen)


def _open(pair: Pair, prepared: PreparedWindow, instruction: Instruction, *, drafting: int) -> _Opened:
    decoder = pair.target.open(prepared.target, instruction, pair.cores.cores_for(drafting))
    limit = pair.target.output_limit(prepared.target, instruction)
    return _Opened(decoder, StopRules(pair.target.end_ids, limit))


def _open_serial(
    pair: Pair, prepared: PreparedWindow, instruction: Instruction, decoding: Decoding
) -> SerialDraft | None:
    """The one source that drafts in turn with the target, if there is one that was prepared."""
    if not decoding.serial:
        return None
    parts = _prepared_parts(pair, prepared)
    for index in _speakers(pair, instruction, decoding) & parts.keys():
        source, threads = pair.sources[index], pair.cores.drafter
        audio, vocabulary = parts[index].audio, pair.target.vocabulary
        return SerialDraft(index, partial(source.open, audio, instruction, vocabulary, threads))
    return None


def _decode(
    pair: Pair, opened: _Opened, drafts: Drafts, serial: SerialDraft | None, decoding: Decoding
) -> Iterator[Commit]:
    if serial:
        return _decode_in_turn(pair, opened, serial, decoding)
    if not (drafts.wanted or decoding.recalled):
        return decode_alone(opened.decoder, opened.rules, pair.cores.alone)
    buffers, vocabulary = drafts.buffers(len(pair.sources)), pair.target.vocabulary
    if decoding.method == "lookahead":
        (source,) = drafts.wanted
        return decode_lookahead(
            opened.decoder,
            buffers[source],
            opened.rules,
            source=source,
            budget=decoding.budget,
            cores=pair.cores,
            vocabulary_size=vocabulary.size,
        )
    cuts = decoding.method == "as2d-without-budget"
    return decode(
        opened.decoder,
        [*buffers, *_recalled(decoding)],
        opened.rules,
        budget=LONGEST_DRAFT if cuts else decoding.budget,
        cores=pair.cores,
        marks=Marks(vocabulary.weak_tokens, vocabulary.word_starts),
        vocabulary_size=vocabulary.size,
        resync=decoding.resync,
        threshold=THRESHOLD if cuts else 0.0,
        floor=decoding.floor,
    )


def _recalled(decoding: Decoding) -> list[CandidateBuffer]:
    """The previous text as a complete stream, if there is one."""
    tokens = decoding.recalled
    if not tokens:
        return []
    buffer = CandidateBuffer()
    buffer.publish(tokens, (1.0,) * len(tokens))
    buffer.close()
    return [buffer]


def _decode_in_turn(pair: Pair, opened: _Opened, serial: SerialDraft, decoding: Decoding) -> Iterator[Commit]:
    turns = Turns(serial, serial.source, pair.cores.alone)
    size = pair.target.vocabulary.size
    if decoding.method == "specasr":
        return decode_specasr(opened.decoder, turns, opened.rules, vocabulary_size=size)
    return decode_speculative(
        opened.decoder, turns, opened.rules, budget=decoding.budget, vocabulary_size=size
    )


def _source_records(
    pair: Pair, prepared: PreparedWindow, drafts: Drafts, serial: SerialDraft | None, decoding: Decoding
) -> tuple[SourceRecord, ...]:
    faults = {index: part.fault for index, part in enumerate(prepared.sources)}
    drafting = drafts.wanted
    if serial:
        faults[serial.source] = serial.fault
        drafting = drafting | {serial.source}
    records = (
        SourceRecord(source.name, index in drafting, drafts.fault(index) or faults.get(index))
        for index, source in enumerate(pair.sources)
    )
    recalled = [SourceRecord(PREVIOUS_TEXT, drafted=True, fault=None)] if decoding.recalled else []
    return (*records, *recalled)


def _ms(seconds: float) -> float:
    return seconds * 1000
