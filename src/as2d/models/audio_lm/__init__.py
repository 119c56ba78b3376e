"""Audio language models on torch: a language model that reads what an audio encoder hears, one family a module."""

from as2d.models.audio_lm.load import AUDIO_LM_FAMILIES, load_audio_lm

__all__ = ["AUDIO_LM_FAMILIES", "load_audio_lm"]
