"""A long recording paced in real time: how late its text is, and what that takes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter, process_time
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from as2d.evaluation.measuring.alone import TargetAlone
from as2d.evaluation.process import memory_mb
from as2d.models.contract import AudioModel
from as2d.records import SAMPLE_RATE, Instruction, Method
from as2d.session.live_text import LiveEvent
from as2d.session.pacing import LiveBlock, run_live
from as2d.session.session import Session


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The block in seconds, how much faster than real time, who drafts, and how to decode."""

    block_s: float = 4.0
    speed: float = 1.0
    drafter: str | None = None
    method: Method = "auto"
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the window from `start_s` to `end_s`, `lag_ms` late.

    `expected` are the tokens that the target alone gives for exactly that window; of stable texts, once they are known.
    """

    kind: Literal["stable", "tentative"]
    start_s: float
    end_s: float
    lag_ms: float
    tokens: tuple[int, ...]
    exact: bool
    expected: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A block that ended at `end_s`, how long it took, what had arrived by then, and the memory in MB."""

    end_s: float
    service_ms: float
    backlog_s: float
    widened: bool
    memory_mb: float | None


@dataclass(frozen=True, slots=True)
class Pace:
    """What a stream took: seconds of its audio and of the clock, and of processor time; what waited at its end."""

    audio_s: float
    wall_s: float
    cpu_s: float
    end_backlog_s: float


class Stream:
    """The bench. `texts` and `blocks` are those so far; `pace` is known at the end."""

    def __init__(
        self, target: AudioModel, samples: NDArray[np.float32], options: StreamOptions, cores: int
    ) -> None:
        """`samples` are the recording, mono at 16 kHz."""
        self.texts: list[Text] = []
        self.blocks: list[Block] = []
        self.pace: Pace | None = None
        self._target = target
        self._samples = samples
        self._options = options
        self._cores = cores

    def measure(self) -> Iterator[float]:
        """Stream the recording, and tell after each block how many seconds are done. Once."""
        options = self._options
        with Session(self._target, options.drafter, threads=self._cores) as session:
            items = run_live(
                session,
                [self._samples],
                options.block_s,
                options.speed,
                method=options.method,
                language=options.language,
            )
            began, cpu = perf_counter(), process_time()
            for item in items:
                if isinstance(item, LiveEvent | LiveBlock):
                    self._note(item)
                else:
                    self.pace = Pace(
                        item.audio_s, perf_counter() - began, process_time() - cpu, item.backlog_s
                    )
                yield self.blocks[-1].end_s if self.blocks else 0.0

    def compare(self) -> None:
        """Decode the windows of all stable texts with the target alone; that takes as long as it takes."""
        alone, instruction = (
            TargetAlone(self._target, self._cores),
            Instruction(language=self._options.language),
        )
        self.texts = [
            replace(text, expected=alone.tokens(self._window(text), instruction))
            if text.kind == "stable"
            else text
            for text in self.texts
        ]

    def _note(self, item: LiveEvent | LiveBlock) -> None:
        if isinstance(item, LiveBlock):
            self.blocks.append(Block(item.end_s, item.service_ms, item.backlog_s, item.widened, memory_mb()))
        else:
            lag_ms = item.lag_ms or 0.0  # a stream that is paced notes all arrivals
            self.texts.append(Text(item.kind, item.start_s, item.end_s, lag_ms, item.tokens, item.exact))

    def _window(self, text: Text) -> NDArray[np.float32]:
        return self._samples[round(text.start_s * SAMPLE_RATE) : round(text.end_s * SAMPLE_RATE)]
