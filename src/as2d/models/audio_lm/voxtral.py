"""Voxtral: a mode of its own for transcription, and a chat for everything else; 12.5 states a second."""

import torch

from as2d.engines.torch import Float32
from as2d.models.audio_lm.chat import ChatFamily
from as2d.models.audio_lm.family import Parts, Prompt
from as2d.models.contract import Capabilities
from as2d.records import SAMPLE_RATE, Instruction

LANGUAGES = ("en", "es", "fr", "pt", "hi", "de", "nl", "it")
_CHUNK = 30 * SAMPLE_RATE
_CHUNK_FRAMES = 3000
_LONGEST_S = 1800.0
"""The model card's limit of a transcription."""


class VoxtralFamily(ChatFamily):
    """Voxtral's prompts and ears. The audio is padded to a multiple of 30 s, each of which is heard by itself."""

    closing = ""

    def __init__(self, parts: Parts) -> None:
        known = Capabilities(
            LANGUAGES,
            ("transcribe", "translate", "ask"),
            detects_language=False,
            translates_to=LANGUAGES,
            longest_s=_LONGEST_S,
        )
        super().__init__(parts, known)

    def prompt(self, instruction: Instruction) -> Prompt:
        """Transcription is asked for by a token of its own, behind the language if that is known."""
        if instruction.task != "transcribe":
            return super().prompt(instruction)
        language = f"lang:{instruction.language}" if instruction.language else ""
        prompt = self.around("")
        return prompt._replace(after=f"{prompt.after}{language}[TRANSCRIBE]")

    def around(self, words: str) -> Prompt:
        """As mistral-common lays out one turn; models come without a template."""
        return Prompt("<s>[INST][BEGIN_AUDIO]", self.closing, f"{words}[/INST]")

    def listen(self, samples: Float32) -> torch.Tensor:
        """See `Family`."""
        parts = self._parts
        features = parts.extractor(
            samples,
            sampling_rate=SAMPLE_RATE,
            padding=True,
            truncation=False,
            pad_to_multiple_of=_CHUNK,
            return_tensors="pt",
        )
        frames = features["input_features"].reshape(len(features["input_features"][0]), -1, _CHUNK_FRAMES)
        moved = frames.transpose(0, 1).to(parts.text.device, parts.text.dtype)
        # One by one: each needs hundreds of MB.
        return torch.cat([parts.model.get_audio_features(chunk).pooler_output for chunk in moved.split(1)])
