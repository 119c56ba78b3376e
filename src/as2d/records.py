"""The frozen values that travel between the parts: instructions, commits and results."""

from dataclasses import dataclass
from typing import Literal, get_args

Task = Literal["transcribe", "translate", "ask"]
"""ask: answer a question about what is said."""
SpeechTask = Literal["transcribe", "translate"]
"""A task that needs no question."""
UsedMethod = Literal[
    "as2d",
    "target-only",
    "speculative",
    "specasr",
    "lookahead",
    "as2d-without-decoupling",
    "as2d-without-budget",
]
"""A way to decode; all give the same tokens."""
Method = Literal["auto", UsedMethod]
"""auto: the faster of as2d and target-only."""
Origin = Literal["accepted", "corrected", "bonus", "alone"]
FinishReason = Literal["stop", "length", "repetition", "no_speech"]

METHODS: tuple[UsedMethod, ...] = get_args(UsedMethod)
"""Every way to decode."""

SAMPLE_RATE = 16_000
"""Samples a second of all audio past `as2d.audio`."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """What a model is asked to do with one window of audio.

    `language` is the one spoken, an ISO 639-1 code as the model's capability table lists it; a model that detects
    languages may be asked with None where a contract says so, otherwise it is resolved. `to` is the language of a
    translation (None: the model's first), `question` what is asked, and `context` text that helps to hear, such as
    names.
    """

    task: Task = "transcribe"
    language: str | None = None
    to: str | None = None
    question: str | None = None
    context: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """The tokens that one round committed, and how the round came by them.

    `origins[i]` says where `tokens[i]` came from: a candidate that the target accepted, the target's correction of a
    rejected candidate, the bonus token after a fully accepted block, or the target alone (no candidate was ready).
    `source` is the index of the source that the candidates came from. `finish_reason` is set on the last commit of a
    window and None before. `switched_off` names the sources that bring too little and are ignored from here on,
    `resync` those that are to go on from the text committed so far.
    """

    tokens: tuple[int, ...]
    origins: tuple[Origin, ...]
    proposed: int
    accepted: int
    source: int | None = None
    finish_reason: FinishReason | None = None
    switched_off: tuple[int, ...] = ()
    resync: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Positions that the target computed in this round (K = 1 + candidates)."""
        return 1 + self.proposed


@dataclass(frozen=True, slots=True)
class Event(Commit):
    """A commit as a request gives it out: its window, when it came, and the text that it completed.

    `window` counts the windows with speech from 0, and `end_s` is where this one ends in the recording. `at_ms` counts
    from the request's arrival. `text` never holds part of a character; joined, the texts are the result's text.
    """

    window: int = 0
    end_s: float = 0.0
    at_ms: float = 0.0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """How to answer a request; `language` to `context` as in `Instruction`.

    `budget` caps the candidates a round (0…24; None: the configured one); specasr and as2d-without-budget have a rule
    of their own instead. `batch` is how many tokens a drafter that runs beside the target publishes together: each
    word, or n tokens. `any_language` drafts even in languages that the drafter does not speak, which is exact and
    slow: for tests and measurements. `resync` lets a drafter of as2d that has fallen behind or lost its place go on
    from the committed text; this leaves the paper's method, the answer stays the same.
    """

    method: Method = "auto"
    language: str | None = None
    task: Task = "transcribe"
    to: str | None = None
    question: str | None = None
    context: str = ""
    budget: int | None = None
    batch: Literal["word"] | int = "word"
    any_language: bool = False
    resync: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of speech and its text; times are exact sample positions over the sample rate."""

    start_s: float
    end_s: float
    text: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    """What a request cost. Times are milliseconds, summed over the windows of the request.

    `decode_ms` runs from the first root ready to the target's end; `producer_done_ms` until the producer has stopped
    too (the resource-complete clock). `coverage` is accepted / useful tokens, `decode_tok_s` useful tokens a second of
    `decode_ms`; useful tokens exclude the prompt and end-of-text.
    """

    encode_ms: float = 0.0
    decode_ms: float = 0.0
    producer_done_ms: float = 0.0
    wall_ms: float = 0.0
    decode_tok_s: float = 0.0
    rounds: int = 0
    proposed: int = 0
    accepted: int = 0
    coverage: float = 0.0
    k1_rounds: int = 0


@dataclass(frozen=True, slots=True)
class SourceStats:
    """What one drafter did for a request.

    `windows` counts those that it drafted, `switched_off` those of them in which it brought too little and was ended.
    `fault` is the first thing that went wrong with it; that costs time only.
    """

    name: str
    proposed: int = 0
    accepted: int = 0
    windows: int = 0
    switched_off: int = 0
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """When a request came and was answered: `arrived_at` in seconds since 1970, the others milliseconds from there.

    `queued_ms` is when its work began; the tokens' times are None where there was no token.
    """

    arrived_at: float
    queued_ms: float
    first_token_ms: float | None
    last_token_ms: float | None


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A window of a live recording that had to be prepared anew, and why."""

    start_s: float
    end_s: float
    why: str


@dataclass(frozen=True, slots=True)
class View:
    """What of a live recording a request looked at, in seconds of the recording.

    What was asked for is widened to whole windows, from `start_s` to `end_s`. Of those with speech, `reused` had been
    prepared before and `prepared` were prepared for this request; `rebuilt` are those of the latter that had been
    prepared once already.
    """

    asked_start_s: float
    asked_end_s: float
    start_s: float
    end_s: float
    reused: int = 0
    prepared: int = 0
    rebuilt: tuple[Rebuilt, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one request. `tokens` are the useful target tokens of all windows, in order.

    `sources` are the drafters that could have been used, in the order in which they were named. `configuration` names
    what `as2d tune` chose, where auto used that, such as "self b5". A session's request has a `timing`, one for a live
    recording a `view`.
    """

    text: str
    language: str | None
    duration_s: float
    tokens: tuple[int, ...]
    segments: tuple[Segment, ...]
    method: UsedMethod
    exact: bool
    finish_reason: FinishReason
    truncated: bool
    warnings: tuple[str, ...]
    stats: Stats
    sources: tuple[SourceStats, ...] = ()
    configuration: str | None = None
    timing: Timing | None = None
    view: View | None = None
