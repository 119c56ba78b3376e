"""Qwen2-Audio: 30 s of audio, 25 states a second."""

import torch

from as2d.engines.torch import Float32
from as2d.models.audio_lm.chat import ChatFamily
from as2d.models.audio_lm.family import Parts
from as2d.models.contract import Capabilities

LANGUAGES = ("en", "zh", "de", "es", "fr", "it", "ja", "ko", "yue")
TEMPLATE = (
    "{% for message in messages %}"
    "{% if loop.first and message['role'] != 'system' %}"
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    "{% endif %}"
    "<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}<|im_end|>\n{% else %}"
    "{% for content in message['content'] %}"
    "{% if content['type'] == 'audio' %}Audio 1: <|audio_bos|><|AUDIO|><|audio_eos|>\n"
    "{% elif 'text' in content %}{{ content['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""What transformers' processor takes where the folder has none."""


class Qwen2AudioFamily(ChatFamily):
    """Qwen2-Audio's prompts and ears."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(
            parts,
            Capabilities(
                LANGUAGES,
                ("transcribe", "translate", "ask"),
                detects_language=False,
                translates_to=("en", "zh", "de", "es", "fr", "it", "ja"),
                longest_s=float(parts.extractor.chunk_length),
            ),
        )

    def listen(self, samples: Float32) -> torch.Tensor:
        """See `Family`."""
        inner = self._parts.model.model
        frames, mask = self.features(samples)
        lengths, states = inner.audio_tower._get_feat_extract_output_lengths(mask.sum(-1))
        positions = torch.arange((frames.shape[-1] - 2) // 2 + 1, device=frames.device)
        unseen = (positions >= lengths[0]).expand(1, 1, len(positions), -1)
        blind = torch.zeros(unseen.shape, dtype=frames.dtype, device=frames.device)
        blind = blind.masked_fill(unseen, torch.finfo(frames.dtype).min)
        heard = inner.audio_tower(frames, attention_mask=blind).last_hidden_state
        projected: torch.Tensor = inner.multi_modal_projector(heard)[0, : int(states[0])]
        return projected
