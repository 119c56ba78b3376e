"""What a round costs besides the models' calls, in milliseconds.

* publish: one word goes into a window's buffer
* round: one round of the loop with all that is Python (look, propose, judge, truncate, learn), the stream agreeing
* realign: one search for the place of a stream that differs, beyond that
* truncate: the target's cache forgets
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from as2d.decoding.align import Cursor, Marks, follow
from as2d.decoding.as2d import decode
from as2d.decoding.stop import StopRules
from as2d.drafting.buffer import CandidateBuffer
from as2d.drafting.publication import Publisher
from as2d.models.contract import Decoder, Rows
from as2d.profiling.bench import spent_ms
from as2d.profiling.measure import timing
from as2d.profiling.profile import Timing
from as2d.records import Commit
from as2d.runtime.cores import split_cores

_SAMPLES = 15
_WORDS = 100
"""Published, and rounds decoded: as many as a window of 30 s has."""
_WORD = 2
"""Tokens of it."""
_BUDGET = 7


def measure_overheads(target: Decoder, vocabulary_size: int) -> dict[str, Timing]:
    """Time what is done around the models' calls; `target` is any open decoder of the target."""
    tokens = [Random(0).randrange(vocabulary_size) for _ in range(_WORDS * (1 + _BUDGET))]
    kinds: dict[str, Callable[[], float]] = {
        "publish": lambda: _publish(tokens),
        "round": lambda: _round(tokens, vocabulary_size),
        "realign": lambda: _realign(tokens),
        "truncate": lambda: _each(lambda: target.truncate(target.length)),
    }
    return {name: timing([kind() for _ in range(1 + _SAMPLES)][1:]) for name, kind in kinds.items()}


class _Reciter:
    """A decoder that knows its text by heart, so that decoding with it costs what the loop costs."""

    root = 0
    length = 1

    def __init__(self, text: Sequence[int]) -> None:
        self._text = text
        self.capacity = self.length + len(text)

    def forward(self, tokens: Sequence[int]) -> Rows:
        """The next tokens of the text."""
        self.length += len(tokens)
        return Rows(tuple(self._text[self.length - 1 - len(tokens) : self.length - 1]), ())

    def scores(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Never asked for by the loop."""
        raise NotImplementedError

    def truncate(self, length: int) -> None:
        """Go back in the text."""
        self.length = length

    def use_threads(self, threads: int) -> None:
        """Nothing is computed."""


def _publish(tokens: Sequence[int]) -> float:
    publisher = Publisher(CandidateBuffer(), "word")
    words = [tuple(tokens[start : start + _WORD]) for start in range(0, _WORDS * _WORD, _WORD)]

    def publish() -> None:
        for word in words:
            publisher.add(word, (0.5,) * _WORD)

    return spent_ms(publish) / _WORDS


def _round(tokens: Sequence[int], vocabulary_size: int) -> float:
    loop = _recited(tokens, vocabulary_size)
    start = perf_counter()
    rounds = sum(1 for _ in loop)
    return (perf_counter() - start) * 1000 / rounds


def _recited(tokens: Sequence[int], vocabulary_size: int) -> Iterator[Commit]:
    """The loop at work on a draft that is right."""
    buffer = CandidateBuffer()
    buffer.publish(tokens, (0.5,) * len(tokens))
    buffer.close()
    return decode(
        _Reciter(tokens),
        [buffer],
        StopRules(frozenset(), len(tokens)),
        budget=_BUDGET,
        cores=split_cores(1),
        marks=Marks(),
        vocabulary_size=vocabulary_size,
    )


def _realign(tokens: Sequence[int]) -> float:
    cursor, said, published = _word_left_out(tokens)
    return _each(lambda: follow(cursor, said, published, Marks()))


def _word_left_out(tokens: Sequence[int]) -> tuple[Cursor, list[int], tuple[int, ...]]:
    """A target that did not say a word of the stream, and the place of that word."""
    said, published = list(tokens[: _WORDS * _WORD]), tuple(tokens[: _WORDS * _WORD])
    del said[-2 * _WORD : -_WORD]
    place = len(published) - 2 * _WORD
    return Cursor(position=place, seen=place, checked=place, agreed=place), said, published


def _each(call: Callable[[], object]) -> float:
    """Milliseconds of one of many calls: a single one is too short for the clock."""
    return spent_ms(lambda: [call() for _ in range(_WORDS)]) / _WORDS
