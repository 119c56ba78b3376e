"""What families share that are asked in words behind the audio."""

import torch

from as2d.engines.torch import Float32
from as2d.models.audio_lm.family import Messages, Parts, Prompt
from as2d.models.audio_lm.instructions import request
from as2d.models.contract import Capabilities
from as2d.records import SAMPLE_RATE, Instruction


class ChatFamily:
    """A conversation of one turn: the audio, then the request in words, as the model's chat template lays them out.

    `placeholder` stands for the audio in it, and `closing` behind it whatever is asked.
    """

    placeholder, closing = "<|AUDIO|>", "<|audio_eos|>"

    def __init__(self, parts: Parts, capabilities: Capabilities) -> None:
        self.capabilities = capabilities
        self._parts = parts

    def prompt(self, instruction: Instruction) -> Prompt:
        """The audio first, so that what is prepared serves every request."""
        return self.around(self.words(instruction))

    def words(self, instruction: Instruction) -> str:
        """The instruction in words."""
        return request(instruction, self.capabilities)

    def messages(self, words: str) -> Messages:
        """The conversation."""
        parts = [{"type": "audio", "audio": ""}, {"type": "text", "text": words}]
        return [{"role": "user", "content": parts}]

    def around(self, words: str) -> Prompt:
        """The text around the audio in the conversation."""
        return Prompt.around(self._parts.render(self.messages(words)), self.placeholder, self.closing)

    def features(self, samples: Float32, length: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-mel frames [1, bins, frames] and their mask [1, frames].

        The samples are padded to `length`, or to the extractor's own.
        """
        parts = self._parts
        features = parts.extractor(
            [samples],
            sampling_rate=SAMPLE_RATE,
            padding="max_length",
            max_length=length,
            return_attention_mask=True,
            return_tensors="pt",
        )
        frames = features["input_features"].to(parts.text.device, parts.text.dtype)
        return frames, features["attention_mask"].to(parts.text.device)
