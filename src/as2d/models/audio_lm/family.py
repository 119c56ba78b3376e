"""What differs between families of audio language models: how they are asked, and how they hear."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch

from as2d.engines.torch import CausalModel, Float32
from as2d.models.audio_lm.vocabulary import HubVocabulary
from as2d.models.contract import Capabilities
from as2d.records import Instruction

Messages = Sequence[Mapping[str, Any]]
"""A conversation as chat templates take it."""


class Prompt(NamedTuple):
    """The text before and behind the audio's tokens. `closing` begins what is behind, whatever is asked."""

    before: str
    closing: str
    after: str

    @classmethod
    def around(cls, rendered: str, placeholder: str, closing: str) -> "Prompt":
        """Split a rendered conversation at its audio."""
        before, _, behind = rendered.partition(placeholder)
        return cls(before, closing, behind.removeprefix(closing))


class Family(Protocol):
    """One family's prompts and ears."""

    @property
    def capabilities(self) -> Capabilities:
        """What its models can be asked for."""

    def prompt(self, instruction: Instruction) -> Prompt:
        """How the instruction is put to the model."""

    def listen(self, samples: Float32) -> torch.Tensor:
        """What stands in place of the audio's tokens, [A, D], for mono audio at 16 kHz."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A loaded model: what `load_audio_lm` gives to its family."""

    name: str
    model: Any
    """transformers' own, from which the family takes the encoder."""
    text: CausalModel
    vocabulary: HubVocabulary
    extractor: Any
    """transformers' feature extractor; None where the family has its own."""
    render: "Render"


class Render(Protocol):
    """The model's own chat template."""

    def __call__(self, messages: Messages) -> str:
        """The conversation as text, up to where the model is to answer."""
