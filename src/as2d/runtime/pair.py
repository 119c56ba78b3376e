"""A target and its sources, assembled for this machine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from as2d.models.contract import AudioModel, prefix_of, prepare_for
from as2d.models.recognisers.contract import Recogniser
from as2d.records import Instruction
from as2d.runtime.cores import split_cores
from as2d.runtime.exactness import is_exact
from as2d.runtime.source import Source, source_of

Float32 = NDArray[np.float32]
Load = Callable[[], AudioModel | Recogniser | Source]
"""Loads a drafter."""
Chosen = Callable[[Instruction], frozenset[int]]
"""The sources, by index, that are to draft what is asked; where the language is unknown, those that may be."""


@dataclass(frozen=True, slots=True)
class SpeechWindow:
    """One window of speech: mono samples at 16 kHz that begin at sample `start` of the recording."""

    start: int
    samples: Float32

    @property
    def end(self) -> int:
        """The sample position behind the window."""
        return self.start + len(self.samples)


class PreparedSource(NamedTuple):
    """A window as one source needs it. `audio` is None where it will not draft; `fault` says why if something failed.

    Of the sources that there are, only recognisers keep the samples.
    """

    audio: Any | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class PreparedWindow:
    """A window from sample `start` to `end`, encoded by the target and, in the pair's order, by its sources.

    `language` is the detected one, None where the target does not say. `prefix` is what the target has read before the
    audio (`ReadsContext`).
    """

    start: int
    end: int
    target: Any
    language: str | None
    sources: tuple[PreparedSource, ...] = ()
    prefix: str = ""


class Pair:
    """A target, its sources if any, and the cores that they share.

    The sources are loaded when one is first needed: decoding with the target alone never loads any.
    """

    def __init__(
        self,
        target: AudioModel,
        load_drafters: Load | Sequence[Load] | None,
        threads: int,
        drafter_threads: int = 1,
    ) -> None:
        """Give one function that loads a drafter, several, or None. Each drafts on `drafter_threads` cores."""
        self.target = target
        self.cores = split_cores(threads, drafter_threads)
        self._loads = (load_drafters,) if callable(load_drafters) else tuple(load_drafters or ())

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The sources, loaded at the first call."""
        return tuple(source_of(load()) for load in self._loads)

    @cached_property
    def exact(self) -> bool:
        """Whether decoding with the sources is bitwise the target alone; probed at the first call."""
        return is_exact(self.target, self.cores.counts(len(self._loads)))

    def prepare(
        self,
        window: SpeechWindow,
        instruction: Instruction,
        *,
        any_language: bool,
        chosen: Chosen | None = None,
    ) -> PreparedWindow:
        """Encode a window with all models in turn, each on all cores; without a language, detect it. It serves all
        tasks.

        Of the sources, those that are `chosen` for any task (None: all) and speak the language, or `any_language`.
        """
        threads = self.cores.alone
        target = prepare_for(self.target, instruction, window.samples, threads)
        language = instruction.language or self.target.detect_language(target, threads)
        prefix = prefix_of(self.target, instruction)
        prepared = PreparedWindow(window.start, window.end, target, language, prefix=prefix)
        return self.with_sources(prepared, window, instruction, any_language=any_language, chosen=chosen)

    def with_sources(
        self,
        prepared: PreparedWindow,
        window: SpeechWindow,
        instruction: Instruction,
        *,
        any_language: bool,
        chosen: Chosen | None = None,
    ) -> PreparedWindow:
        """A window that the target has encoded, encoded by the sources as well, each on all cores; see `prepare`."""
        tasks = [
            replace(instruction, task=task, language=prepared.language)
            for task in self.target.capabilities.tasks
        ]

        def part(index: int, source: Source) -> PreparedSource:
            drafts = [task for task in tasks if chosen is None or index in chosen(task)]
            return self._prepare_source(source, window, prepared.target, drafts, any_language=any_language)

        return replace(
            prepared, sources=tuple(part(index, source) for index, source in enumerate(self.sources))
        )

    def _prepare_source(
        self,
        source: Source,
        window: SpeechWindow,
        target: Any,
        drafts: Sequence[Instruction],
        *,
        any_language: bool,
    ) -> PreparedSource:
        """A source that fails is left out, and its fault kept: an answer never depends on it."""
        try:
            can = [asked for asked in drafts if any_language or source.can_draft(asked)]
            if not can:
                return PreparedSource()
            return PreparedSource(source.prepare(window.samples, lambda: target, self.cores.alone, can[0]))
        except Exception as error:  # whatever a drafter does, the target answers
            return PreparedSource(fault=f"{type(error).__name__}: {error}")
