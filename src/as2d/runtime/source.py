"""What can draft a window beside the target: a smaller audio model, or a recogniser that gives text."""

from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from as2d.audio import windows
from as2d.drafting.buffer import CandidateBuffer
from as2d.drafting.chunks import free_run_chunks
from as2d.drafting.prefix import PrefixDrafter
from as2d.drafting.producer import free_run
from as2d.drafting.publication import BatchSize, Publisher
from as2d.drafting.resync import Requests, draft_and_resync
from as2d.errors import InputError
from as2d.models.contract import AudioModel, SharesEncoder, Vocabulary, prepare_for
from as2d.models.recognisers.contract import Recogniser
from as2d.records import SAMPLE_RATE, Instruction

Float32 = NDArray[np.float32]
Encoded = Callable[[], Any]
"""Gives the target's prepared audio of the window; waits until there is one."""


class Job(NamedTuple):
    """What a source is to draft, in whose tokens, where to, and on how many cores."""

    instruction: Instruction
    target: Vocabulary
    batch: BatchSize
    requests: Requests | None
    """Texts to go on from; None unless the producer is to catch up."""
    buffer: CandidateBuffer
    stop: Event
    threads: int = 1


class Source(Protocol):
    """Drafts windows. It sees the audio and the instruction, and the target's text only where `requests` say it."""

    @property
    def name(self) -> str:
        """What messages call it."""

    def can_draft(self, instruction: Instruction) -> bool:
        """Whether it speaks the language, which is resolved, and does the task."""

    def waits(self, instruction: Instruction) -> bool:
        """Whether it has nothing to do before the target has encoded a window. The language may be unknown."""

    def prepare(self, samples: Float32, encoded: Encoded, threads: int, instruction: Instruction) -> Any:
        """Encode one window of mono audio at 16 kHz on that many cores. The instruction's language may be unknown."""

    def draft(self, prepared: Any, job: Job) -> None:
        """Publish until there is no more to say or the job is stopped."""

    def open(
        self, prepared: Any, instruction: Instruction, target: Vocabulary, threads: int, /
    ) -> PrefixDrafter:
        """What drafts on from the target's text. InputError from a source that cannot."""


def source_of(model: AudioModel | Recogniser | Source) -> Source:
    """The model as a source; what is one already stays as it is."""
    if hasattr(model, "can_draft"):
        return cast(Source, model)
    if hasattr(model, "prepare"):
        return DrafterSource(cast(AudioModel, model))
    return RecogniserSource(model)


class _Parts(tuple[Any, ...]):
    """A window in parts, each prepared by itself."""

    __slots__ = ()


class DrafterSource:
    """An audio model that drafts token by token. One that shares the target's encoder is prepared from its output."""

    def __init__(self, model: AudioModel) -> None:
        self._model = model
        self.name = model.name

    def can_draft(self, instruction: Instruction) -> bool:
        """Whether the model is capable of it."""
        return _can(self._model, instruction)

    def waits(self, instruction: Instruction) -> bool:  # noqa: ARG002 (it encodes in any language)
        """Whether it shares the target's encoder."""
        return isinstance(self._model, SharesEncoder)

    def prepare(self, samples: Float32, encoded: Encoded, threads: int, instruction: Instruction) -> Any:
        """What the model opens decoders on."""
        if isinstance(self._model, SharesEncoder):
            return self._model.share(encoded())
        parts = [
            prepare_for(self._model, instruction, part, threads)
            for part in _parts(samples, self._model.capabilities.longest_s)
        ]
        return parts[0] if len(parts) == 1 else _Parts(tuple(parts))

    def draft(self, prepared: Any, job: Job) -> None:
        """Free-run from nothing, and from the committed text where the job's requests say it.

        A window that is longer than the model can hear is drafted part by part, without catching up.
        """
        if isinstance(prepared, _Parts):
            for part in prepared:
                if not job.stop.is_set():
                    self.draft(part, job._replace(requests=None))
            return
        drafter = self.open(prepared, job.instruction, job.target, job.threads)

        def draft(committed: tuple[int, ...], halted: Callable[[], bool]) -> None:
            drafter.rewind(committed)
            free_run(drafter, Publisher(job.buffer, job.batch), halted)

        if job.requests is None:
            draft((), job.stop.is_set)
        else:
            draft_and_resync(draft, job.buffer, job.requests, job.stop)

    def open(
        self, prepared: Any, instruction: Instruction, target: Vocabulary, threads: int
    ) -> PrefixDrafter:
        """What drafts in the given language and task, or in the model's own where it lacks them.

        InputError for a window that is longer than the model can hear.
        """
        if isinstance(prepared, _Parts):
            raise InputError(
                f"{self.name} hears {self._model.capabilities.longest_s:g} s at most and cannot draft longer windows "
                "in turn with the target; use the method as2d"
            )
        model = self._model
        spoken = _speakable(instruction, model)
        return PrefixDrafter(
            model.open(prepared, spoken, threads),
            model.vocabulary,
            target,
            end_ids=model.end_ids,
            limit=model.output_limit(prepared, spoken),
        )


class RecogniserSource:
    """A recogniser that hears the samples in chunks. It transcribes only, and cannot go on from a given text."""

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser = recogniser
        self.name = recogniser.name

    def can_draft(self, instruction: Instruction) -> bool:
        """Whether it transcribes the language."""
        return instruction.task == "transcribe" and instruction.language in self._recogniser.languages

    def waits(self, instruction: Instruction) -> bool:
        """Whether the language is not known: it is detected behind the target's encoder."""
        return instruction.language is None

    def prepare(self, samples: Float32, *_: object) -> Any:
        """The samples themselves."""
        return samples

    def draft(self, prepared: Any, job: Job) -> None:
        """Hear the chunks in the job's language, or in its own where it lacks that."""
        known, language = self._recogniser.languages, job.instruction.language
        free_run_chunks(
            self._recogniser,
            language if language in known else known[0],
            prepared,
            job.target,
            job.buffer,
            job.stop,
        )

    def open(self, *_: object) -> PrefixDrafter:
        """Refused with InputError: it gives the text of what it hears, and of nothing else."""
        raise InputError(
            f"the recogniser {self.name} cannot draft from a given text; use the method as2d, or an audio model"
        )


def _parts(samples: Float32, longest_s: float) -> list[Float32]:
    """The window, or where it is longer than that, its parts with speech, cut at pauses."""
    longest = int(longest_s * SAMPLE_RATE)
    if len(samples) <= longest:
        return [samples]
    return [window.samples for window in windows([samples], longest) if window.speech]


def _can(model: AudioModel, instruction: Instruction) -> bool:
    """Whether it is in the model's capability table; a language that nobody knows is in every one."""
    known = model.capabilities
    return (
        instruction.task in known.tasks
        and instruction.language in (None, *known.languages)
        and (instruction.task != "translate" or instruction.to in (None, *known.translates_to))
    )


def _speakable(instruction: Instruction, drafter: AudioModel) -> Instruction:
    """The instruction as the drafter can take it: in its own language and task where it lacks the ones asked for."""
    known = drafter.capabilities
    spoken = (
        instruction.language if instruction.language in known.languages else next(iter(known.languages), None)
    )
    asked = replace(instruction, language=spoken, context=instruction.context if known.context else "")
    return asked if _can(drafter, asked) else Instruction(known.tasks[0], spoken)
