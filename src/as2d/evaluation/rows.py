"""What a bench writes: a run is one timed decode, a row is one window under one contender. Pure values, and JSON.

Times are milliseconds. Whatever a machine does not tell (frequency, temperature, energy) is None.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from as2d.records import FinishReason, Origin

SCHEMA = 1
"""Of `runs.jsonl`, `windows.jsonl` and `summary.json`; raised with every change that old readers cannot bear."""


@dataclass(frozen=True, slots=True)
class Span:
    """One call of a model: from `start` to `end` after the first root was ready, `width` tokens wide."""

    start: float
    end: float
    width: int


@dataclass(frozen=True, slots=True)
class Step:
    """One commit, `at` which time after the first root, and where each of its tokens came from."""

    at: float
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class TimeLine:
    """Everything that happened in one decode, for a picture."""

    drafting: tuple[Span, ...]
    verifying: tuple[Span, ...]
    commits: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One timed decode of one window on prepared audio.

    `decode_ms` runs from the first root ready to the target's end, `producer_done_ms` until every producer has stopped
    too, `call_ms` is the whole call, with the prompt and the producers' start and end: the response latency.
    `draft_ms` and `verify_ms` are the time in which a drafter or the target computed; `overlap_ms` that in which both
    did. `cpu_s` is the processor time of the whole process. `widths` counts the rounds of each width K.
    """

    window: str
    contender: str
    repetition: int
    tokens: tuple[int, ...]
    finish_reason: FinishReason
    decode_ms: float
    producer_done_ms: float
    call_ms: float
    draft_ms: float
    verify_ms: float
    overlap_ms: float
    cpu_s: float
    rounds: int
    proposed: int
    accepted: int
    widths: Mapping[int, int]
    faults: tuple[str, ...] = ()
    peak_memory_mb: float | None = None
    cpu_mhz: float | None = None
    temperature_c: float | None = None
    energy_j: float | None = None
    time_line: TimeLine | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One window under one contender: the medians of its runs, each figure by itself.

    `window` is "CLIP#n", from `start_s` to `end_s` of the clip. `method`, `drafter`, `budget`, `cores` and
    `drafter_cores` are the contender's. `tokens` are the useful ones (without end-of-text), `text` what they say.
    `identical` says that every run gave exactly the tokens of target-only. `slow` windows are those that take longer
    than target-only on all cores. `commit`, `host`, `versions` and `corpus` say what measured what.
    """

    schema: int
    commit: str
    host: str
    versions: Mapping[str, str]
    corpus: str
    window: str
    clip: str
    kind: str
    language: str
    start_s: float
    end_s: float
    method: str
    drafter: str | None
    budget: int | None
    cores: int
    drafter_cores: int
    contender: str
    tokens: tuple[int, ...]
    text: str
    identical: bool
    finish_reason: FinishReason
    looped: bool
    capped: bool
    repetitions: int
    decode_ms: float
    decode_ms_runs: tuple[float, ...]
    producer_done_ms: float
    call_ms: float
    draft_ms: float
    verify_ms: float
    overlap_ms: float
    cpu_s: float
    rounds: float
    proposed: float
    accepted: float
    widths: Mapping[int, float]
    """Mean rounds of each width."""
    faults: tuple[str, ...]
    peak_memory_mb: float | None
    cpu_mhz: float | None
    temperature_c: float | None
    energy_j: float | None
    time_line: TimeLine | None = None
