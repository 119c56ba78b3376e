"""Qwen2.5-Omni's thinker: hears, and writes."""

import torch

from as2d.engines.torch import Float32
from as2d.models.audio_lm.chat import ChatFamily
from as2d.models.audio_lm.family import Parts
from as2d.models.contract import Capabilities
from as2d.records import SAMPLE_RATE

LANGUAGES = (
    "en",
    "zh",
    "ar",
    "de",
    "es",
    "fr",
    "id",
    "it",
    "ja",
    "ko",
    "nl",
    "pl",
    "pt",
    "ru",
    "th",
    "tr",
    "vi",
)
"""What it can be asked to hear and to translate to, besides others that nobody measured."""

_SILENCE = SAMPLE_RATE // 10
"""Behind the audio, so that its last frames are those of audio that is padded to 300 s, which would take longer."""


class Qwen25OmniFamily(ChatFamily):
    """The thinker's prompts and ears: 25 states a second, attention within 2 s. Its positions are 3-D, but for audio
    and text all three are the same, so that they count on."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(
            parts,
            Capabilities(
                LANGUAGES,
                ("transcribe", "translate", "ask"),
                detects_language=False,
                translates_to=LANGUAGES,
                longest_s=float(parts.extractor.chunk_length),
            ),
        )

    def listen(self, samples: Float32) -> torch.Tensor:
        """See `Family`."""
        longest = self._parts.extractor.n_samples
        frames, mask = self.features(samples, min(longest, len(samples) + _SILENCE))
        heard = self._parts.model.get_audio_features(frames, feature_attention_mask=mask)
        states: torch.Tensor = heard.last_hidden_state
        return states
