"""A target and its drafter, assembled for this machine."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from as2d.models.contract import AudioModel
from as2d.records import Instruction
from as2d.runtime.cores import split_cores
from as2d.runtime.exactness import is_exact

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SpeechWindow:
    """One window of speech: mono samples at 16 kHz that begin at sample `start` of the recording."""

    start: int
    samples: Float32

    @property
    def end(self) -> int:
        """The sample position behind the window."""
        return self.start + len(self.samples)


@dataclass(frozen=True, slots=True)
class PreparedWindow:
    """A window from sample `start` to `end`, encoded by the target and, where it can draft, by the drafter.

    `language` is the detected one. `drafter` is None where nobody will draft, and `fault` says why if something failed.
    """

    start: int
    end: int
    target: Any
    language: str
    drafter: Any | None = None
    fault: str | None = None


class Pair:
    """A target, an optional drafter and the cores that they share.

    `load_drafter` is called when a drafter is first needed: decoding with the target alone never loads one.
    """

    def __init__(
        self, target: AudioModel, load_drafter: Callable[[], AudioModel] | None, threads: int
    ) -> None:
        self.target = target
        self.cores = split_cores(threads)
        self._load_drafter = load_drafter

    @property
    def has_drafter(self) -> bool:
        """Whether there is a drafter, loaded or not."""
        return self._load_drafter is not None

    @cached_property
    def drafter(self) -> AudioModel | None:
        """The drafter, loaded at the first call."""
        return self._load_drafter() if self._load_drafter else None

    @cached_property
    def exact(self) -> bool:
        """Whether decoding with a drafter is bitwise the target alone; probed at the first call."""
        return is_exact(self.target, self.cores)

    def can_draft(self, instruction: Instruction, *, any_language: bool) -> bool:
        """Whether there is a drafter for the instruction. `any_language` asks it to draft what it doesn't speak."""
        if self.drafter is None:
            return False
        known = self.drafter.capabilities
        return any_language or (instruction.language in known.languages and instruction.task in known.tasks)

    def prepare(self, window: SpeechWindow, language: str | None, *, any_language: bool) -> PreparedWindow:
        """Encode a window with both models in turn, each on all cores; without a language, detect it.

        A drafter that fails is left out, and its fault kept: an answer never depends on it.
        """
        threads = self.cores.alone
        target = self.target.prepare(window.samples, threads)
        language = language or self.target.detect_language(target, threads)
        drafter, fault = None, None
        if self.drafter and self.can_draft(Instruction(language=language), any_language=any_language):
            try:
                drafter = self.drafter.prepare(window.samples, threads)
            except Exception as error:  # whatever a drafter does, the target answers
                fault = f"{type(error).__name__}: {error}"
        return PreparedWindow(window.start, window.end, target, language, drafter, fault)
