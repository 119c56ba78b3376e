"""The models that are recorded, and what they heard of a window."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from as2d.decoding.align import Marks
from as2d.decoding.stop import StopRules
from as2d.models.contract import AudioModel
from as2d.records import SAMPLE_RATE, Instruction, Task
from as2d.replay.loop import Answering
from as2d.replay.timed import Drafter, now_ms
from as2d.replay.trace import Provenance
from as2d.runtime.pair import SpeechWindow
from as2d.runtime.source import source_of

DRAFTER_CORES = 1
"""Cores that a drafter is recorded on."""


class Encoded(NamedTuple):
    """A window as one model needs it, and the milliseconds that this took."""

    audio: Any
    ms: float


@dataclass(frozen=True, slots=True)
class Heard:
    """A window of `audio_s` seconds, encoded by the target and by those drafters that can do what is asked."""

    window: str
    audio_s: float
    instruction: Instruction
    target: Encoded
    drafters: Mapping[str, Encoded]


@dataclass(frozen=True, slots=True)
class Models:
    """A target and its drafters, all by name, on so many cores together."""

    name: str
    target: AudioModel
    drafters: Mapping[str, Drafter]
    threads: int

    def provenance(self, corpus: str, task: Task) -> Provenance:
        """What traces of these models say of themselves; `corpus` is the digest of what they hear."""
        return Provenance(
            target=self.name,
            target_digest=self.target.identity,
            drafters={name: getattr(model, "identity", model.name) for name, model in self.drafters.items()},
            corpus=corpus,
            task=task,
            threads=self.threads,
            end_ids=self.target.end_ids,
            vocabulary_size=self.target.vocabulary.size,
        )

    def hear(self, window: str, speech: SpeechWindow, language: str | None, task: Task) -> Heard:
        """Encode a window with every model in turn: the target on all cores, each drafter on one.

        Without a language it is detected. Raises what a model raises.
        """
        start = now_ms()
        encoded = self.target.prepare(speech.samples, self.threads)
        target = Encoded(encoded, now_ms() - start)
        spoken = language or self.target.detect_language(encoded, self.threads)
        instruction = Instruction(task, spoken)
        drafters = {}
        for name, model in self.drafters.items():
            source = source_of(model)
            if source.can_draft(instruction):
                start = now_ms()
                audio = source.prepare(speech.samples, lambda: encoded, DRAFTER_CORES, instruction)
                drafters[name] = Encoded(audio, now_ms() - start)
        return Heard(window, len(speech.samples) / SAMPLE_RATE, instruction, target, drafters)

    def answering(self, heard: Heard) -> Answering:
        """What the loop knows of the target while it answers the window."""
        vocabulary = self.target.vocabulary
        limit = self.target.output_limit(heard.target.audio, heard.instruction)
        return Answering(
            StopRules(self.target.end_ids, limit),
            Marks(vocabulary.weak_tokens, vocabulary.word_starts),
            vocabulary.size,
        )
