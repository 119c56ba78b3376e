"""Decode one window, and record what it cost."""

from collections.abc import Generator, Iterator
from contextlib import nullcontext
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
from as2d.runtime.draft import Draft
from as2d.runtime.pair import Pair, PreparedWindow, SpeechWindow


@dataclass(frozen=True, slots=True)
class Decoding:
    """How to decode: the method, the most candidates a round, tokens published together, and whether the drafter
    drafts what it does not speak."""

    method: Literal["as2d", "target-only"]
    budget: int
    batch: BatchSize
    any_language: bool


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """One decoded window, from sample `start` to `end`. Times are milliseconds.

    `decode_ms` runs from the first root ready to the target's end, `producer_done_ms` until the producer has stopped
    too. `drafted` says whether a producer ran to draft this window, `fault` what went wrong with it.
    """

    start: int
    end: int
    language: str
    commits: tuple[Commit, ...]
    encode_ms: float
    decode_ms: float
    producer_done_ms: float
    drafted: bool
    fault: str | None


def run_window(
    pair: Pair,
    window: SpeechWindow | PreparedWindow,
    instruction: Instruction,
    decoding: Decoding,
    cancelled: Event,
) -> Generator[Commit, None, WindowRecord]:
    """Give out the commits of one window as they come, and return its record.

    An instruction without language has it detected. Raises CancelledError once `cancelled` is set, at the next
    commit. However the generator ends, the producer has been stopped by then.
    """
    draft = _start_draft(pair, window, instruction, decoding)
    with draft or nullcontext():
        arrived = perf_counter()
        prepared = _prepared(pair, window, instruction, drafting=draft is not None)
        encoded = perf_counter()
        instruction = Instruction(instruction.task, instruction.language or prepared.language)
        drafted = _resolve(draft, pair, instruction, decoding)
        commits: list[Commit] = []
        opened = _open(pair, prepared, instruction, drafting=drafted)
        first_root = perf_counter()
        for commit in _decode(pair, opened, draft if drafted else None, decoding):
            if cancelled.is_set():
                raise CancelledError("the request was cancelled")
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
        producer_done_ms=_ms(max(ended, draft.done_at if draft else ended) - first_root),
        drafted=drafted,
        fault=draft.fault if draft else prepared.fault,
    )


class _Opened(NamedTuple):
    decoder: Decoder
    rules: StopRules


def _start_draft(
    pair: Pair, window: SpeechWindow | PreparedWindow, instruction: Instruction, decoding: Decoding
) -> Draft | None:
    """A producer that has begun to encode, or None where it is already clear that nobody will draft."""
    if decoding.method != "as2d" or not decoding.budget or pair.drafter is None:
        return None
    if isinstance(window, PreparedWindow) and window.drafter is None:
        return None
    if instruction.language and not pair.can_draft(instruction, any_language=decoding.any_language):
        return None
    return Draft(pair.drafter, pair.target.vocabulary, window, decoding.batch)


def _prepared(
    pair: Pair, window: SpeechWindow | PreparedWindow, instruction: Instruction, *, drafting: bool
) -> PreparedWindow:
    if isinstance(window, PreparedWindow):
        return window
    threads = pair.cores.drafting if drafting else pair.cores.alone
    target = pair.target.prepare(window.samples, threads)
    language = instruction.language or pair.target.detect_language(target, threads)
    return PreparedWindow(window.start, window.end, target, language)


def _resolve(draft: Draft | None, pair: Pair, instruction: Instruction, decoding: Decoding) -> bool:
    """Tell the producer what to draft, or that it is not wanted for this language; whether it is."""
    if draft is None:
        return False
    wanted = pair.can_draft(instruction, any_language=decoding.any_language)
    draft.resolve(instruction if wanted else None)
    return wanted


def _open(pair: Pair, prepared: PreparedWindow, instruction: Instruction, *, drafting: bool) -> _Opened:
    threads = pair.cores.drafting if drafting else pair.cores.alone
    decoder = pair.target.open(prepared.target, instruction, threads)
    limit = pair.target.output_limit(prepared.target, instruction)
    return _Opened(decoder, StopRules(pair.target.end_ids, limit))


def _decode(pair: Pair, opened: _Opened, draft: Draft | None, decoding: Decoding) -> Iterator[Commit]:
    if draft is None:
        return decode_alone(opened.decoder, opened.rules, pair.cores.alone)
    vocabulary = pair.target.vocabulary
    return decode(
        opened.decoder,
        [draft.buffer],
        opened.rules,
        budget=decoding.budget,
        cores=pair.cores,
        marks=Marks(vocabulary.weak_tokens, vocabulary.word_starts),
        vocabulary_size=vocabulary.size,
    )


def _ms(seconds: float) -> float:
    return seconds * 1000
