"""Windows that close while audio arrives: at a pause, and at the latest when they have their full length.

What is not in a closed window is open. It grows at its end until one of these rules closes it:

* A pause: the last half second is silent, and 4 s or more have arrived. Half a second lies between phrases, not within
  them. With 4 s, no more than one window is closed in 4 s of audio, which bounds the work, and single words do not
  become windows of their own, in which models make more errors. The cut is a quarter of a second after the speech.
* Its length: then it is cut where `audio.windows` would, in the last third.

Silence is dropped as in `audio.windows`: more than a second before speech, and after the last of it.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from as2d.audio.blocks import Samples
from as2d.audio.silero import CHUNK
from as2d.audio.speech import SPEECH_EDGE, Detected, Probability, SpeechDetector, speech_spans
from as2d.audio.windows import LONG_PAUSE, MAX_SAMPLES, PADDING, Window, tiled
from as2d.errors import InputError
from as2d.records import SAMPLE_RATE

GROUP = 8 * CHUNK
"""Samples that are looked at together (0.256 s), counted from the beginning of the audio: so nothing depends on how it
is split into feeds."""
PAUSE = 16
"""Chunks (0.51 s) of silence that close a window …"""
LEAST = 125
"""… of which so many chunks (4.0 s) have arrived."""
MIN_SAMPLES = 5 * SAMPLE_RATE
"""The least that a longest window may be."""

Detector = Callable[[Samples], Probability]
"""Speech probability of each chunk of the next samples; what ends within a chunk is the last."""

_NO_SAMPLES: Samples = np.zeros(0, np.float32)


class ClosingWindows:
    """The windows of audio that arrives piece by piece. What is closed never changes."""

    def __init__(self, max_samples: int = 15 * SAMPLE_RATE, detector: Detector | None = None) -> None:
        """No window is longer than `max_samples`: 5 to 30 s, else InputError. Without a `detector` it is Silero's."""
        if not MIN_SAMPLES <= max_samples <= MAX_SAMPLES:
            least, most = MIN_SAMPLES // SAMPLE_RATE, MAX_SAMPLES // SAMPLE_RATE
            raise InputError(
                f"windows of at most {max_samples / SAMPLE_RATE:g} s are not possible; use {least} to {most}"
            )
        self._limit = max_samples - GROUP  # so much again may have arrived and not been looked at
        self._detector = detector or SpeechDetector()
        self._start = 0
        self._samples = self._unheard = _NO_SAMPLES
        self._probability: Probability = np.zeros(0, np.float32)

    def feed(self, samples: Samples) -> list[Window]:
        """Take the next mono samples [n] at 16 kHz; the windows with speech that they close."""
        rest = np.concatenate([self._unheard, samples])
        closed: list[Window] = []
        while len(rest) >= GROUP:
            self._hear(rest[:GROUP])
            rest = rest[GROUP:]
            closed += self._close()
        self._unheard = rest.copy()
        return closed

    def open_window(self) -> Window:
        """What is open now, with all that has arrived but long silence; empty and without speech if there is none."""
        samples = np.concatenate([self._samples, self._unheard])
        unknown = -(-len(samples) // CHUNK) - len(self._probability)
        spoken = _spoken(samples, np.pad(self._probability, (0, unknown)), self._limit + GROUP)
        return next(self._placed(spoken), Window(self._start, self._start, _NO_SAMPLES, speech=False))

    def finish(self) -> list[Window]:
        """Say that the audio has ended: the last window, if there is speech in it. Nothing may be fed afterwards."""
        if len(self._unheard):
            self._hear(self._unheard)
            self._unheard = _NO_SAMPLES
        spoken = _spoken(self._samples, self._probability, self._limit + GROUP)
        last = list(self._placed(spoken))
        self._drop(len(self._samples))
        return last

    def _placed(self, windows: Iterator[Window]) -> Iterator[Window]:
        """Windows of the open samples as windows of all audio."""
        for window in windows:
            start, end = self._start + window.start, self._start + window.end
            yield Window(start, end, window.samples, speech=True)

    def _hear(self, samples: Samples) -> None:
        self._samples = np.concatenate([self._samples, samples])
        self._probability = np.concatenate([self._probability, self._detector(samples)])

    def _close(self) -> Iterator[Window]:
        """Cut off what can be; the windows with speech among it."""
        while cut := _cut(self._samples, self._probability, self._limit):
            if cut.speech:
                end = self._start + cut.samples
                yield Window(self._start, end, self._samples[: cut.samples].copy(), speech=True)
            self._drop(cut.samples)

    def _drop(self, samples: int) -> None:
        self._start += samples
        self._samples = self._samples[samples:]
        self._probability = self._probability[-(-samples // CHUNK) :]


class _Cut(NamedTuple):
    """How many samples to take from the beginning of what is open, and whether they are a window with speech."""

    samples: int
    speech: bool


def _cut(samples: Samples, probability: Probability, limit: int) -> _Cut | None:
    """What can be cut off open audio of whole chunks, if anything."""
    spans = speech_spans(probability)
    chunks = len(probability)
    silent = (
        (spans[0].first - PADDING if spans[0].first > LONG_PAUSE else 0) if spans else chunks - LONG_PAUSE
    )
    if silent > 0:
        return _Cut(silent * CHUNK, speech=False)
    if not spans:
        return None
    quiet = _quiet_end(probability)
    if chunks >= LEAST and quiet >= PAUSE:
        return _Cut((chunks - quiet + PADDING) * CHUNK, speech=True)
    if len(samples) > limit:
        return _Cut(next(_spoken(samples, probability, limit)).end, speech=True)
    return None


def _quiet_end(probability: Probability) -> int:
    """Chunks at the end of which none may belong to speech."""
    loud = np.flatnonzero(probability >= SPEECH_EDGE)
    return len(probability) - (int(loud[-1]) + 1 if len(loud) else 0)


def _spoken(samples: Samples, probability: Probability, limit: int) -> Iterator[Window]:
    """The windows with speech that open audio would be cut into if it ended now."""
    return (window for window in tiled([Detected(samples, probability)], limit) if window.speech)
