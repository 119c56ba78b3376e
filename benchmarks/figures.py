"""What the measured windows and clips add up to. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import NamedTuple, Protocol

from as2d.records import FinishReason


class Contender(StrEnum):
    """What is compared."""

    ONE_CORE = "target-only, 1 core"
    TWO_CORES = "target-only, 2 cores"
    AS2D = "AS²D, 2 cores"
    AUTO = "auto, 2 cores"
    PEER = "faster-whisper int8, 2 threads"


DECODERS = (Contender.ONE_CORE, Contender.TWO_CORES, Contender.AS2D, Contender.PEER)
"""The contenders on prepared audio."""
WHOLE = tuple(Contender)
"""The contenders from audio to text."""
BASELINES = (Contender.ONE_CORE, Contender.TWO_CORES, Contender.PEER)
"""What AS²D is compared with."""


class Timing(NamedTuple):
    """One decode of one window, in milliseconds. faster-whisper has one clock: all four are equal.

    `decode` runs from the first root ready to the target's end, `complete` until the producer has stopped too. `call`
    is the whole call, with the prompt, starting and joining the producer. `charged` is the call and the cross-attention
    of the models that it used, which faster-whisper computes inside its call.
    """

    decode: float
    complete: float
    call: float
    charged: float


CLOCKS = Timing._fields


@dataclass(frozen=True, slots=True)
class Drafting:
    """What AS²D did, summed over the repeats."""

    committed: int
    useful: int
    proposed: int
    accepted: int
    rounds: int
    k1_rounds: int
    drafted: bool
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MeasuredWindow:
    """One window under all contenders. `tokens` and `timings` (medians over the repeats) are by contender.

    `identical` says whether every run of ours gave the tokens of target-only, `peer_agrees` whether faster-whisper did.
    """

    clip: str
    language: str
    start_s: float
    end_s: float
    finish_reason: FinishReason
    identical: bool
    peer_agrees: bool
    tokens: Mapping[Contender, int]
    timings: Mapping[Contender, Timing]
    target_cross_ms: float
    drafter_cross_ms: float | None
    drafting: Drafting


def median_timing(runs: Iterable[Timing]) -> Timing:
    """The median of each clock."""
    return Timing(*(median(clock) for clock in zip(*runs, strict=True)))


def groups(windows: Sequence[MeasuredWindow]) -> dict[str, list[MeasuredWindow]]:
    """English, the other languages and all; those that have a window."""
    split = {
        "English": [window for window in windows if window.language == "en"],
        "other languages": [window for window in windows if window.language != "en"],
        "ALL": list(windows),
    }
    return {name: members for name, members in split.items() if members}


def pooled_tps(windows: Sequence[MeasuredWindow], contender: Contender, clock: str) -> float:
    """All useful tokens over all time, a second."""
    tokens = sum(window.tokens[contender] for window in windows)
    return 1000 * tokens / sum(_milliseconds(window, contender, clock) for window in windows)


def speed_up(windows: Sequence[MeasuredWindow], baseline: Contender, clock: str) -> float:
    """Pooled tokens a second of AS²D over those of the baseline."""
    return pooled_tps(windows, Contender.AS2D, clock) / pooled_tps(windows, baseline, clock)


def slow_share(windows: Sequence[MeasuredWindow], baseline: Contender, clock: str) -> float:
    """Share of windows in which AS²D takes more time a token than the baseline."""
    slow = (
        _per_token(window, Contender.AS2D, clock) > _per_token(window, baseline, clock) for window in windows
    )
    return sum(slow) / len(windows)


def total_drafting(windows: Iterable[MeasuredWindow]) -> Drafting:
    """What AS²D did in all the windows."""
    parts = [window.drafting for window in windows]
    return Drafting(
        committed=sum(part.committed for part in parts),
        useful=sum(part.useful for part in parts),
        proposed=sum(part.proposed for part in parts),
        accepted=sum(part.accepted for part in parts),
        rounds=sum(part.rounds for part in parts),
        k1_rounds=sum(part.k1_rounds for part in parts),
        drafted=any(part.drafted for part in parts),
        faults=tuple(fault for part in parts for fault in part.faults),
    )


class Spoken(Protocol):
    """What has a language."""

    @property
    def language(self) -> str:
        """Its ISO 639-1 code."""


def languages(windows: Iterable[Spoken]) -> str:
    """How many windows there are in each language, the most first."""
    counts = Counter(window.language for window in windows)
    return ", ".join(f"{language} {count}" for language, count in counts.most_common())


def share(part: int, whole: int) -> float:
    """`part` of `whole`; 0 of nothing."""
    return part / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class MeasuredClip:
    """One clip from samples to text: the median seconds of each contender."""

    clip: str
    language: str
    duration_s: float
    seconds: Mapping[Contender, float]


def total_seconds(clips: Iterable[MeasuredClip], contender: Contender) -> float:
    """Sum of the medians."""
    return sum(clip.seconds[contender] for clip in clips)


def _milliseconds(window: MeasuredWindow, contender: Contender, clock: str) -> float:
    milliseconds: float = getattr(window.timings[contender], clock)
    return milliseconds


def _per_token(window: MeasuredWindow, contender: Contender, clock: str) -> float:
    return _milliseconds(window, contender, clock) / max(1, window.tokens[contender])
