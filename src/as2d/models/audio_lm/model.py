"""An audio language model as an `AudioModel`: what it hears is computed once, and any question put behind it."""

from dataclasses import dataclass

import numpy as np
import torch

from as2d.engines.torch import Float32, KeyValues, empty, opened, use_threads
from as2d.errors import InputError
from as2d.models.audio_lm.decoder import AudioLmDecoder
from as2d.models.audio_lm.family import Family, Parts, Prompt
from as2d.models.audio_lm.instructions import checked, require_length
from as2d.models.whisper.prompt import output_limit
from as2d.records import SAMPLE_RATE, Instruction

_SHORTEST = SAMPLE_RATE // 10
"""Shorter audio is padded with silence to it: some encoders give nothing for a few frames."""
_LONGEST_ANSWER = 512
"""An answer to a question need not be shorter than what is said."""


@dataclass(frozen=True, slots=True)
class AudioLmPrepared:
    """All that was computed up to the end of the audio. `before` is the text before it, for which alone it is good.

    `model` is the identity of the one model that can go on from it.
    """

    model: str
    samples: int
    before: str
    held: KeyValues


class AudioLm:
    """Implements `AudioModel` for any family."""

    def __init__(self, parts: Parts, family: Family, identity: str, end_ids: frozenset[int]) -> None:
        self.name = parts.name
        self.identity = identity
        self.vocabulary = parts.vocabulary
        self.end_ids = end_ids
        self.capabilities = family.capabilities
        self._text = parts.text
        self._family = family

    def prepare(self, samples: Float32, threads: int) -> AudioLmPrepared:
        """Encode one window of mono audio at 16 kHz, for every instruction without context.

        InputError for more than is heard at once.
        """
        return self._prepare(Instruction(), samples, threads)

    def detect_language(self, prepared: AudioLmPrepared, threads: int) -> str | None:  # noqa: ARG002
        """None: models that are asked in words need not know it."""
        return None

    def check(self, instruction: Instruction) -> Instruction:
        """The instruction in language codes. UnsupportedError or InputError for what the model cannot do."""
        self.vocabulary.require_plain(f"{instruction.question or ''} {instruction.context}")
        return checked(instruction, self.capabilities, self.name)

    def open(self, prepared: AudioLmPrepared, instruction: Instruction, threads: int) -> AudioLmDecoder:
        """A decoder after all but the last prompt token.

        Raises UnsupportedError for what the model lacks, InputError for audio that was prepared by another model or
        after another context and for a prompt that does not fit.
        """
        behind = self._behind(prepared, instruction)
        return self._open(prepared, behind, self._limit(prepared, len(behind), instruction), threads)

    def output_limit(self, prepared: AudioLmPrepared, instruction: Instruction) -> int:
        """The most useful tokens, scaled to the audio's duration. InputError for a prompt that does not fit."""
        return self._limit(prepared, len(self._behind(prepared, instruction)), instruction)

    def prompt(self, instruction: Instruction) -> Prompt:
        """The text around the audio, for a checked instruction."""
        return self._family.prompt(self.check(instruction))

    def _prepare(self, instruction: Instruction, samples: Float32, threads: int) -> AudioLmPrepared:
        require_length(len(samples), self.capabilities, self.name)
        use_threads(threads)
        before, closing, _ = self._family.prompt(instruction)
        padded = np.pad(samples, (0, max(0, _SHORTEST - len(samples))))
        encode, embed = self.vocabulary.encode_prompt, self._text.embed
        with torch.inference_mode():
            heard = self._family.listen(padded)
            embedded = torch.cat([embed(encode(before)), heard.to(self._text.dtype), embed(encode(closing))])
        state = empty(self._text, len(embedded), threads)
        state.prefill(embedded)
        return AudioLmPrepared(self.identity, len(samples), before, state.kept())

    def _behind(self, prepared: AudioLmPrepared, instruction: Instruction) -> tuple[int, ...]:
        """The prompt's tokens that are not computed yet."""
        self._require_own(prepared)
        prompt = self.prompt(instruction)
        if prompt.before != prepared.before:
            raise InputError(
                "the audio was prepared for another context, which comes before it; prepare it again"
            )
        return self.vocabulary.encode_prompt(prompt.after)

    def _require_own(self, prepared: object) -> None:
        if not isinstance(prepared, AudioLmPrepared) or prepared.model != self.identity:
            raise InputError("the audio was prepared by another model; prepare it again with this one")

    def _limit(self, prepared: AudioLmPrepared, behind: int, instruction: Instruction) -> int:
        room = self._text.longest - prepared.held.length - behind
        limit = output_limit(prepared.samples / SAMPLE_RATE, self._text.longest - room, self._text.longest)
        return max(limit, min(_LONGEST_ANSWER, room)) if instruction.task == "ask" else limit

    def _open(
        self, prepared: AudioLmPrepared, behind: tuple[int, ...], limit: int, threads: int
    ) -> AudioLmDecoder:
        """A decoder with room for `limit` tokens behind the prompt."""
        capacity = prepared.held.length + len(behind) + limit
        state = opened(self._text, prepared.held, capacity, threads)
        if len(behind) > 1:
            state.prefill(self._text.embed(behind[:-1]))
        return AudioLmDecoder(state, behind[-1])
