"""One decode of one window, and what it did."""

from collections.abc import Sequence
from threading import Event
from time import perf_counter
from typing import NamedTuple, TypeVar

from as2d.decoding.tally import Tally
from as2d.models.contract import AudioModel
from as2d.records import Instruction
from as2d.runtime.pair import Pair, PreparedWindow, SpeechWindow
from as2d.runtime.window import Decoding, WindowRecord, run_window
from benchmarks.figures import Drafting

CORES = 2
"""Cores of the contenders that are given more than one."""

T = TypeVar("T")


def rotated(items: Sequence[T], by: int) -> list[T]:
    """The items, beginning with another one for each `by`."""
    first = by % len(items)
    return [*items[first:], *items[:first]]


class Run(NamedTuple):
    """One decode: its record, the tokens without the end, and the milliseconds of the whole call."""

    record: WindowRecord
    tokens: tuple[int, ...]
    call_ms: float


def run_to_end(pair: Pair, window: SpeechWindow | PreparedWindow, language: str, decoding: Decoding) -> Run:
    """Decode a window of that language."""
    start = perf_counter()
    run = run_window(pair, window, Instruction(language=language), decoding, Event())
    while True:
        try:
            next(run)
        except StopIteration as stop:
            record: WindowRecord = stop.value
            return Run(record, _useful(pair.target, record), (perf_counter() - start) * 1000)


def _useful(target: AudioModel, record: WindowRecord) -> tuple[int, ...]:
    tokens = (token for commit in record.commits for token in commit.tokens)
    return tuple(token for token in tokens if token not in target.end_ids)


def summed(runs: Sequence[Run]) -> Drafting:
    """What the sources did in all the runs."""
    tally = Tally.of(commit for run in runs for commit in run.record.commits)
    return Drafting(
        committed=tally.tokens,
        useful=tally.useful,
        proposed=tally.proposed,
        accepted=tally.accepted,
        rounds=tally.rounds,
        k1_rounds=tally.k1_rounds,
        drafted=any(run.record.drafted for run in runs),
        faults=tuple(fault for run in runs for fault in run.record.faults),
    )
