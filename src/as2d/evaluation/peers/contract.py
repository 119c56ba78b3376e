"""What every peer offers, and the model that it computes with."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from as2d.models.store import Files, resolve
from as2d.models.whisper.checkpoint import WhisperWeights
from as2d.models.whisper.formats import read_weights
from as2d.models.whisper.mel import log_mel
from as2d.models.whisper.prompt import prompt_tokens, refuse_what_whisper_lacks
from as2d.models.whisper.tokenizer import WhisperVocabulary
from as2d.records import Instruction, Task

Float32 = NDArray[np.float32]

PEER_TASKS: tuple[Task, ...] = ("transcribe", "translate")
"""What peers can be asked, all of them being Whisper."""


class Peer(Protocol):
    """A decoder of another project on the weights of an as2d model: greedy, no timestamps, no fallback.

    `decode` is what a bench times. Of every peer it holds the prompt, the cross-attention of the audio (which as2d
    has ready before its clock starts), the tokens one by one, and whatever the library does around them.
    What either call raises takes the peer out of the bench, with that as the reason.
    """

    @property
    def name(self) -> str:
        """The project, and the precision or method."""

    def prepare(self, samples: Float32) -> Any:
        """One window of mono audio at 16 kHz, encoded from the very features that as2d's encoder gets."""

    def decode(self, prepared: Any, instruction: Instruction, limit: int) -> tuple[int, ...]:
        """The useful tokens in the model's own vocabulary, without end-of-text, at most `limit`.

        The instruction is to transcribe or to translate to English, and names the language.
        """


@dataclass(frozen=True, slots=True)
class PeerModel:
    """An as2d model as its peers need it."""

    files: Files
    weights: WhisperWeights
    vocabulary: WhisperVocabulary

    def features(self, samples: Float32) -> Float32:
        """The log-mel spectrogram [1, n_mels, frames] of one window."""
        return np.ascontiguousarray(log_mel(samples, self.weights.config.n_mels)[None])

    def prompt(self, instruction: Instruction) -> tuple[int, ...]:
        """The tokens before the text. UnsupportedError for what Whisper cannot do."""
        refuse_what_whisper_lacks(instruction)
        return prompt_tokens(
            self.vocabulary, multilingual=self.weights.config.multilingual, instruction=instruction
        )


def load_peer_model(name: str) -> PeerModel:
    """The files, weights and tokens of a known model or folder; raises what `resolve` and `read_weights` raise."""
    files = resolve(name)
    weights = read_weights(files)
    return PeerModel(files, weights, WhisperVocabulary(files.tokenizer, weights.config.vocab))
