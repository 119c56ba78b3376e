"""Where there is speech: a probability for each chunk of 512 samples, and the spans that follow from them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from as2d.audio.blocks import Samples, regrouped
from as2d.audio.silero import CHUNK, CONTEXT, FRAME, HIDDEN, silero_session

BLOCK_CHUNKS = 256
"""Chunks that are looked at together (8.192 s)."""
SILENCE_RMS = 10 ** (-90 / 20)
"""Chunks below −90 dBFS (one step of 16-bit audio) are digital silence; the model is not asked about blocks
of them. No higher level will do: there are recordings whose speech lies at −75 dBFS (in FLEURS)."""
SPEECH = 0.5
"""A span of speech reaches this probability …"""
SPEECH_EDGE = 0.35
"""… and goes on to where the probability stays below this."""
MIN_PAUSE_CHUNKS = 3
"""Shorter gaps (under 0.1 s) are closures within a word and do not end a span."""
MIN_SPEECH_CHUNKS = 3
"""Shorter spans (under 0.1 s) are clicks."""
SHORT_SPEECH_CHUNKS = 8
"""Spans shorter than this (0.26 s) are a word or a noise …"""
SHORT_SPEECH = 0.85
"""… and taken for a word if they reach this probability."""

Probability = NDArray[np.float32]


class Detected(NamedTuple):
    """A block of samples [n] and the speech probability of each of its ceil(n / 512) chunks."""

    samples: Samples
    probability: Probability


class Span(NamedTuple):
    """Chunks `first` up to but without `last`."""

    first: int
    last: int


def detect(blocks: Iterable[Samples]) -> Iterator[Detected]:
    """Speech probabilities of audio at 16 kHz, in blocks of 131,072 samples, the last one shorter.

    The result does not depend on how the audio is split into `blocks`.
    """
    detector = SpeechDetector()
    for block in regrouped(blocks, CHUNK * BLOCK_CHUNKS):
        yield Detected(block, detector(block))


class SpeechDetector:
    """Silero's recurrent detector over consecutive blocks of audio; remembers what came before."""

    def __init__(self) -> None:
        self._session = silero_session()
        self._forget()

    def _forget(self) -> None:
        self._context = np.zeros(CONTEXT, np.float32)
        self._h = self._c = np.zeros((1, 1, HIDDEN), np.float32)

    def __call__(self, block: Samples) -> Probability:
        """Speech probability of each chunk; a block that ends within a chunk is padded and is the last."""
        padded = np.pad(block, (0, -len(block) % CHUNK))
        silent = loudness(padded) < SILENCE_RMS
        if silent.all():
            self._forget()
            return np.zeros(len(silent), np.float32)
        return np.where(silent, np.float32(0), self._run(padded))

    def _run(self, padded: Samples) -> Probability:
        frames = _frames(np.concatenate([self._context, padded]))
        outputs = self._session.run(None, {"frames": frames, "h": self._h, "c": self._c})
        self._context = padded[-CONTEXT:]
        probability, self._h, self._c = outputs
        return np.asarray(probability[:, 0], np.float32)


def loudness(samples: Samples) -> NDArray[np.float32]:
    """Root mean square of each whole chunk of `samples` [n · 512] → [n]."""
    chunks = samples.reshape(-1, CHUNK)
    return np.asarray(np.sqrt(np.einsum("nk,nk->n", chunks, chunks) / CHUNK), np.float32)


def _frames(samples: Samples) -> NDArray[np.float32]:
    """Context and n chunks [64 + n · 512] → overlapping frames [n, 4, 256]; chunks end mirrored."""
    chunks = sliding_window_view(samples, CONTEXT + CHUNK)[::CHUNK]
    mirrored = np.pad(chunks, ((0, 0), (0, CONTEXT)), mode="reflect")
    return np.ascontiguousarray(sliding_window_view(mirrored, FRAME, axis=1)[:, :: FRAME // 2])


def speech_spans(probability: Probability) -> list[Span]:
    """Spans of speech, in order, at least `MIN_PAUSE_CHUNKS` apart and `MIN_SPEECH_CHUNKS` long."""
    runs = [run for run in _runs(probability >= SPEECH_EDGE) if _peak(probability, run) >= SPEECH]
    return [span for span in _joined(runs) if _is_speech(span.last - span.first, _peak(probability, span))]


def _peak(probability: Probability, span: Span) -> float:
    return float(probability[span.first : span.last].max())


def _is_speech(chunks: int, peak: float) -> bool:
    return chunks >= SHORT_SPEECH_CHUNKS or (chunks >= MIN_SPEECH_CHUNKS and peak >= SHORT_SPEECH)


def _runs(flags: NDArray[np.bool_]) -> list[Span]:
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    return [Span(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def _joined(runs: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for run in runs:
        if joined and run.first - joined[-1].last < MIN_PAUSE_CHUNKS:
            joined[-1] = Span(joined[-1].first, run.last)
        else:
            joined.append(run)
    return joined
