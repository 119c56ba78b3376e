"""The native loop as the simulation drives it, and a target that knows its answer."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from as2d.decoding.align import Marks
from as2d.decoding.as2d import decode
from as2d.decoding.confidence import LONGEST_DRAFT, THRESHOLD
from as2d.decoding.speculative import SerialDrafter, Turns, decode_speculative
from as2d.decoding.stop import StopRules
from as2d.decoding.target_only import decode_alone
from as2d.drafting.buffer import CandidateBuffer
from as2d.errors import InputError
from as2d.models.contract import Decoder, Rows
from as2d.records import Commit
from as2d.replay.configuration import Configuration

Verified = Callable[[Sequence[int], int, int], None]
"""Told of each call of the target: its tokens, those of the answer that precede them, and the cores."""

_UNKNOWN = -1


class Answering(NamedTuple):
    """What the loop knows of the target and its vocabulary."""

    rules: StopRules
    marks: Marks
    vocabulary_size: int


def native_loop(
    configuration: Configuration, answering: Answering, target: Decoder, buffers: Sequence[CandidateBuffer]
) -> Iterator[Commit]:
    """What decodes a window under a configuration with these drafters' buffers; with none, the target alone."""
    if not buffers:
        return decode_alone(target, answering.rules, configuration.threads)
    cuts = configuration.method == "as2d-without-budget"
    return decode(
        target,
        buffers,
        answering.rules,
        budget=LONGEST_DRAFT if cuts else configuration.budget,
        cores=configuration.cores,
        marks=answering.marks,
        vocabulary_size=answering.vocabulary_size,
        threshold=THRESHOLD if cuts else 0.0,
        floor=configuration.floor,
    )


def loop_in_turn(
    configuration: Configuration, answering: Answering, target: Decoder, drafter: SerialDrafter
) -> Iterator[Commit]:
    """What decodes a window in turn with its first drafter."""
    return decode_speculative(
        target,
        Turns(drafter, 0, configuration.threads),
        answering.rules,
        budget=configuration.budget,
        vocabulary_size=answering.vocabulary_size,
    )


class KnownTarget:
    """Implements `Decoder` by a recorded answer.

    Behind a candidate that the target would not have said, its rows are unknown; nothing reads them.
    """

    def __init__(self, answer: tuple[int, ...], limit: int, verified: Verified) -> None:
        """`limit` is how many tokens an answer may have."""
        self._answer = answer
        self._verified = verified
        self._threads = 0
        self.root = _UNKNOWN
        self.length = 0
        self.capacity = limit

    def forward(self, tokens: Sequence[int]) -> Rows:
        """The answer's next tokens."""
        self._verified(tokens, self.length, self._threads)
        known = self._answer[self.length : self.length + len(tokens)]
        self.length += len(tokens)
        return Rows(known + (_UNKNOWN,) * (len(tokens) - len(known)), ())

    def scores(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Refused with InputError: no rows were recorded."""
        raise InputError(f"a trace has no scores for {len(tokens)} tokens; ask the model itself")

    def truncate(self, length: int) -> None:
        """Forget every position from `length` on."""
        self.length = length

    def use_threads(self, threads: int) -> None:
        """Verify on that many cores."""
        self._threads = threads
