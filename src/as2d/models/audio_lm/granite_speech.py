"""Granite Speech: transcribes and translates; 10 states a second."""

from collections.abc import Mapping
from typing import Any

import torch
from transformers.audio_utils import mel_filter_bank

from as2d.engines.torch import Float32
from as2d.models.audio_lm.chat import ChatFamily
from as2d.models.audio_lm.family import Messages, Parts
from as2d.models.audio_lm.languages import NAMES
from as2d.models.contract import Capabilities
from as2d.records import SAMPLE_RATE, Instruction

LANGUAGES = ("en", "fr", "de", "es", "pt")
_SYSTEM = (
    "Knowledge Cutoff Date: April 2024.\nToday's Date: April 9, 2025.\nYou are Granite, developed by IBM. You are a "
    "helpful AI assistant"
)
"""The model card's. The template's own names the day, so that what is prepared today could not be used tomorrow."""
_FFT, _WINDOW, _HOP, _BINS = 512, 400, 160, 80


class GraniteSpeechFamily(ChatFamily):
    """Granite Speech's prompts and ears."""

    placeholder, closing = "<|audio|>", ""

    def __init__(self, parts: Parts) -> None:
        known = Capabilities(
            LANGUAGES,
            ("transcribe", "translate"),
            detects_language=False,
            translates_to=(*LANGUAGES, "it", "ja", "zh"),
        )
        super().__init__(parts, known)
        bank = mel_filter_bank(_FFT // 2 + 1, _BINS, 0.0, SAMPLE_RATE / 2, SAMPLE_RATE, mel_scale="htk")
        self._bank = torch.from_numpy(bank).float()

    def words(self, instruction: Instruction) -> str:
        """As the model card words them; the language spoken is never named."""
        if instruction.task == "translate":
            to = NAMES[instruction.to or self.capabilities.translates_to[0]]
            return f"can you translate the speech to {to}?"
        return "can you transcribe the speech into a written format?"

    def messages(self, words: str) -> Messages:
        """The placeholder is part of the words."""
        system: Mapping[str, Any] = {"role": "system", "content": _SYSTEM}
        return [system, {"role": "user", "content": self.placeholder + words}]

    def listen(self, samples: Float32) -> torch.Tensor:
        """See `Family`."""
        text = self._parts.text
        features = log_mel(torch.from_numpy(samples), self._bank)
        heard = self._parts.model.get_audio_features(features[None].to(text.device, text.dtype))
        states: torch.Tensor = heard.pooler_output[0]
        return states


def log_mel(samples: torch.Tensor, bank: torch.Tensor) -> torch.Tensor:
    """Two log-mel frames beside each other in a row, [frames // 2, 160]: what transformers computes with torchaudio."""
    spectrum = torch.stft(samples, _FFT, _HOP, _WINDOW, torch.hann_window(_WINDOW), return_complex=True)
    logs = (bank.T @ spectrum.abs().square()).T.clip(min=1e-10).log10()
    scaled = torch.maximum(logs, logs.max() - 8) / 4 + 1
    even = scaled[: len(scaled) // 2 * 2]
    return even.reshape(-1, 2 * _BINS)
