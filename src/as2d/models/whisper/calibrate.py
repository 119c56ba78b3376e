"""Calibrating the low-rank output head: the final hidden states of a model over its own greedy transcripts.

The states are those of the full 8-bit decoder that hears every position, whatever a drafter does more cheaply.
"""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from as2d.errors import InputError
from as2d.models.whisper.build import DecoderPlan, derive
from as2d.models.whisper.low_rank import Calibration
from as2d.models.whisper.model import WhisperModel, WhisperPrepared
from as2d.records import Instruction

Float32 = NDArray[np.float32]

# One core, so that a calibration does not depend on how many a machine has.
_THREADS = 1


class SpokenWindow(NamedTuple):
    """Up to 30 s of mono samples at 16 kHz, and their language; None to have it detected."""

    samples: Float32
    language: str | None


def is_for_calibration(clip: str) -> bool:
    """Whether a clip of that id belongs to the half to calibrate with; drafters are measured on the other half.

    It does where the first hexadecimal digit of the id's SHA-1 is even.
    """
    return int(hashlib.sha1(clip.encode(), usedforsecurity=False).hexdigest()[0], 16) % 2 == 0


def calibrate(model: WhisperModel, windows: Iterable[SpokenWindow]) -> Calibration:
    """The calibration over all positions of the windows' transcripts, the one that says the end included.

    A window whose transcript does not end by itself is left out: a loop says nothing about speech. InputError when
    none is left.
    """
    teacher = _Teacher(model)
    states = [found for window in windows if (found := teacher.states(window)) is not None]
    if not states:
        raise InputError(
            "no window has a transcript that ends by itself; calibrate with recordings of speech"
        )
    return Calibration.of(np.concatenate(states))


class _Teacher:
    """A model, and the same model with its hidden states let out."""

    def __init__(self, model: WhisperModel) -> None:
        self._model = model
        self._watched = WhisperModel(derive(model.parts, DecoderPlan("int8", drafts=True, low_rank=True)))

    def states(self, window: SpokenWindow) -> Float32 | None:
        """The hidden states [n, D] at the positions that say the transcript and its end; None without an end."""
        prepared = self._model.prepare(window.samples, _THREADS)
        language = window.language or self._model.detect_language(prepared, _THREADS)
        instruction = Instruction(language=language)
        said = self._transcript(prepared, instruction)
        if said is None:
            return None
        decoder = self._watched.open(prepared, instruction, _THREADS)
        return decoder.hidden([decoder.root, *said])

    def _transcript(self, prepared: WhisperPrepared, instruction: Instruction) -> list[int] | None:
        """The model's own greedy tokens without the end; None where it reaches the limit first."""
        decoder = self._model.open(prepared, instruction, _THREADS)
        token = decoder.root
        said: list[int] = []
        for _ in range(self._model.output_limit(prepared, instruction)):
            (token,) = decoder.forward([token]).greedy
            if token in self._model.end_ids:
                return said
            said.append(token)
        return None
