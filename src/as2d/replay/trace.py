"""Traces: what the target says of a window, and what each drafter writes of it by itself, recorded once.

A trace holds no cost of a configuration: which candidates a round verifies follows from the times that `simulator`
computes. Everything here is a value; `trace_file` reads and writes them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from as2d.decoding.align import Marks
from as2d.decoding.stop import StopRules
from as2d.drafting.words import Word
from as2d.records import FinishReason, Task
from as2d.replay.loop import Answering


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a drafter: how long it took when recorded (alone, one core), and the words that it completed."""

    ms: float
    words: tuple[Word, ...]


class Continuation(NamedTuple):
    """What a drafter writes on from a part of the answer: so many of the next tokens, up to the longest draft.

    Behind them it writes another token, unless it `ends` there.
    """

    agreed: int
    ends: bool


@dataclass(frozen=True, slots=True)
class Stream:
    """What one drafter writes of a window, in the target's tokens, when nobody stops it; one step at least.

    `chunks`: a recogniser, whose steps are chunks of
    audio; each is published as it is, whatever batch is asked for. `waits`: it hears what the target has encoded.
    `open_ms` and `encode_ms` are what its prompt and its encoder took when recorded, on one core. `continuations` are
    for methods that draft from the target's text: one for each number of committed tokens; a recogniser has none.
    """

    steps: tuple[Step, ...]
    chunks: bool
    waits: bool
    open_ms: float
    encode_ms: float
    continuations: tuple[Continuation, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowTrace:
    """One window: the target's answer, end included, and the streams of those drafters that can draft it, by name.

    `limit` is the most tokens that there is room for. `token_ms` is what each token took when recorded, by the target
    alone; `open_ms` and `encode_ms` are its prompt and encoder. `marks` knows the tokens that occur in this window.
    """

    window: str
    language: str
    audio_s: float
    limit: int
    tokens: tuple[int, ...]
    finish_reason: FinishReason
    token_ms: tuple[float, ...]
    open_ms: float
    encode_ms: float
    marks: Marks
    streams: Mapping[str, Stream]

    @property
    def useful(self) -> int:
        """Tokens without the end."""
        return len(self.tokens) - (self.finish_reason == "stop")


@dataclass(frozen=True, slots=True)
class Provenance:
    """What recorded the traces: the models' digests by name, and that of the corpus; what was asked.

    `threads` are the cores that the target was recorded on.
    """

    target: str
    target_digest: str
    drafters: Mapping[str, str]
    corpus: str
    task: Task
    threads: int
    end_ids: frozenset[int]
    vocabulary_size: int

    def answering(self, window: WindowTrace) -> Answering:
        """What the loop knows of the target while it answers a window."""
        return Answering(StopRules(self.end_ids, window.limit), window.marks, self.vocabulary_size)


@dataclass(frozen=True, slots=True)
class Traces:
    """All windows of a corpus, recorded by the same models."""

    provenance: Provenance
    windows: tuple[WindowTrace, ...]


def marks_among(marks: Marks, tokens: Sequence[int]) -> Marks:
    """The marks of these tokens only."""
    found = frozenset(tokens)
    return Marks(marks.weak & found, marks.word_starts & found)
