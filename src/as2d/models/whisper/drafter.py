"""Whisper as drafter, made cheap where a drafter may be wrong: it need not give a model's own transcript, only one that
is close.

A smaller Whisper has 8-bit weights, an output projection cut to the most frequent tokens, no audio padding beyond what
keeps Whisper from looping, and cross-attention over pairs of positions. The target's own decoder, which needs no
encoder, has 4-bit weights, a low-rank output projection, and cross-attention over every third position.
"""

from os import PathLike

import numpy as np
from numpy.typing import NDArray

from as2d.models.whisper.build import DecoderPlan, WhisperParts, assemble, derive
from as2d.models.whisper.decoder import CrossAttention
from as2d.models.whisper.model import WhisperModel, WhisperPrepared
from as2d.records import SAMPLE_RATE

Float32 = NDArray[np.float32]

HEAD_SIZE = 16_000
"""Ids that a drafter can say. A byte-pair vocabulary numbers its tokens in the order in which they were merged, the
most frequent first; the first 16,000 cover 95% of the tokens of English speech."""

POOLED = 2
"""Encoder positions that are averaged to one for cross-attention; three lose acceptance (docs/decisions.md)."""

THINNED = 3
"""Of the target's own positions every third one is kept: averaging them ruins a decoder that was made for all."""

_POSITIONS_A_SECOND = 50
_MARGIN = 50
"""Positions that a smaller Whisper keeps behind the audio; with none, its last words suffer."""
_SHARED_MARGIN = 250
"""The same of the target's own positions, which are of padded audio: with fewer it loops on some clips."""


class WhisperDrafter(WhisperModel):
    """A Whisper model that prepares audio the cheap way."""

    def prepare(self, samples: Float32, threads: int) -> WhisperPrepared:
        """Encode up to 30 s of mono audio at 16 kHz, padded as little as Whisper bears, and pool positions."""
        states = self.encode(samples, threads, self._positions(len(samples)))
        pooled = _pool(states[: _audio_positions(len(samples)) + _MARGIN])
        return WhisperPrepared(len(samples), pooled, self.attend(pooled, threads))

    def _positions(self, samples: int) -> int:
        """Positions to encode: shorter padding makes Whisper loop (docs/decisions.md)."""
        seconds = samples / SAMPLE_RATE
        padded = max(10.0, seconds + 0.5) if seconds < 10 else max(15.0, seconds + 1)
        return int(min(self.config.audio_ctx, round(padded * _POSITIONS_A_SECOND)))


class WhisperSelfDrafter(WhisperModel):
    """A cheaper decoder of the target itself, on the target's prepared audio: all its languages and tasks.

    Target-decoupled: it shares the encoder's output, and reads neither the target's text nor its cache.
    """

    def __init__(self, parts: WhisperParts, thinned: int = THINNED) -> None:
        """`parts` are derived from the target's; every `thinned`-th position of its encoder is kept."""
        super().__init__(parts)
        self._thinned = thinned

    def prepare(self, samples: Float32, threads: int) -> WhisperPrepared:
        """Encode as the target does, then `share`."""
        return self.share(super().prepare(samples, threads))

    def share(self, prepared: WhisperPrepared) -> WhisperPrepared:
        """The target's prepared audio with every n-th position, and none far behind the audio."""
        kept = slice(0, _audio_positions(prepared.samples) + _SHARED_MARGIN, self._thinned)
        cross = CrossAttention(
            tuple(np.ascontiguousarray(keys[:, kept]) for keys in prepared.cross.keys),
            tuple(np.ascontiguousarray(values[:, :, kept]) for values in prepared.cross.values),
        )
        return WhisperPrepared(prepared.samples, prepared.states, cross)


def load_whisper_self_drafter(target: WhisperModel) -> WhisperSelfDrafter:
    """A drafter made of the target's own weights; raises what `load_whisper` raises."""
    return WhisperSelfDrafter(derive(target.parts, DecoderPlan("int4", drafts=True, low_rank=True)))


def load_whisper_drafter(name_or_folder: str | PathLike[str]) -> WhisperDrafter:
    """A Whisper drafter; raises what `load_whisper` raises."""
    plan = DecoderPlan("int8", drafts=True, head_ids=range(HEAD_SIZE))
    return WhisperDrafter(assemble(name_or_folder, plan))


def _audio_positions(samples: int) -> int:
    return -(-samples * _POSITIONS_A_SECOND // SAMPLE_RATE)


def _pool(states: Float32) -> Float32:
    """Means of POOLED neighbouring positions: [A, D] → [A // POOLED, D]."""
    whole = len(states) - len(states) % POOLED
    pooled: Float32 = states[:whole].reshape(-1, POOLED, states.shape[1]).mean(axis=1)
    return pooled
