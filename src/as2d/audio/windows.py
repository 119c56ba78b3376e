"""Audio cut into windows that a model takes at once: at silence, with exact integer sample positions.

The rules, with the audio not yet cut called the rest:

* Silence of more than a second before speech becomes a window without speech, up to a quarter of a second
  before the speech.
* A rest that fits into one window is one window, pauses included; more than a second of silence after the
  last speech is left out. So a short clip reaches the model as it is, and a long pause costs no second run of
  the encoder.
* A longer rest is cut in the pause that fills most of the last third of the window, else in the last pause of
  the second half, else where the last third has least speech and sound. A pause of up to a second is cut in
  its middle; a longer one a quarter of a second after the speech, so that the first rule applies to its rest.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np

from as2d.audio.blocks import Samples
from as2d.audio.silero import CHUNK
from as2d.audio.speech import Detected, Probability, Span, detect, loudness, speech_spans
from as2d.errors import InputError
from as2d.records import SAMPLE_RATE

MAX_SAMPLES = 30 * SAMPLE_RATE
"""The longest window, the 30 s that Whisper looks at."""
LONG_PAUSE = 32
"""Chunks (1.02 s) of silence that are kept around speech without question."""
PADDING = 8
"""Chunks (0.26 s) kept beside speech where a longer silence is left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Samples `start` up to but without `end` of the audio; `samples` is that slice, empty without speech."""

    start: int
    end: int
    samples: Samples
    speech: bool


def windows(blocks: Iterable[Samples], max_samples: int = MAX_SAMPLES) -> Iterator[Window]:
    """Windows that tile the audio: they start at 0, each where the one before ends, and end at its end.

    `blocks` are mono samples at 16 kHz. Speech windows hold at most `max_samples` (two seconds or more, else
    InputError); a window without speech may have any length. Lazy: `max_samples` and some 10 s are held.
    """
    return tiled(detect(blocks), max_samples)


def tiled(detected: Iterable[Detected], max_samples: int) -> Iterator[Window]:
    """As `windows`, from audio of known speech probabilities; all blocks but the last hold whole chunks."""
    return _pulled(Cutter(max_samples), detected)


def _pulled(cutter: "Cutter", detected: Iterable[Detected]) -> Iterator[Window]:
    for block in detected:
        yield from cutter.feed(block)
    yield from cutter.end()


class Cutter:
    """Cuts audio of known speech probabilities as it comes."""

    def __init__(self, max_samples: int, rest: "Rest | None" = None) -> None:
        """As in `windows`; `rest` is what an earlier cutter had not cut yet."""
        if max_samples < 2 * SAMPLE_RATE:
            raise InputError(f"max_samples is {max_samples}; give at least {2 * SAMPLE_RATE} (2 s)")
        self._max_samples = max_samples
        self.rest = rest or Rest()

    def feed(self, block: Detected) -> list[Window]:
        """The windows that this block completes. It holds whole chunks, unless it is the last."""
        self.rest.add(block)
        return self._cut(self._max_samples + LONG_PAUSE * CHUNK, ended=False)

    def end(self) -> list[Window]:
        """The windows of the rest. Nothing may be fed any more."""
        return self._cut(1, ended=True) + self.rest.take_silence()

    def fork(self) -> "Cutter":
        """A cutter that goes on from here, and leaves this one as it is."""
        return Cutter(self._max_samples, copy(self.rest))

    def _cut(self, wanted: int, *, ended: bool) -> list[Window]:
        """Cut while `wanted` samples are there; windows without speech are held back, to be joined."""
        complete = []
        while len(self.rest.samples) >= wanted:
            count, speech = _next_piece(self.rest, self._max_samples, ended=ended)
            if speech:
                complete += [*self.rest.take_silence(), self.rest.take(count)]
            else:
                self.rest.silence(count)
        return complete


class Rest:
    """The audio that is not yet in a window: silence up to sample `start`, if any, and `samples` from there.

    `probability` is that of speech, for each chunk of `samples`. No array is ever changed: a copy is independent.
    """

    def __init__(self, start: int = 0, silent_from: int | None = None) -> None:
        self.start = start
        self.silent_from = start if silent_from is None else silent_from
        self.samples: Samples = np.zeros(0, np.float32)
        self.probability: Probability = np.zeros(0, np.float32)

    def add(self, block: Detected) -> None:
        """Append a block."""
        self.samples = np.concatenate([self.samples, block.samples])
        self.probability = np.concatenate([self.probability, block.probability])

    def take(self, count: int) -> Window:
        """Remove the first `count` samples, whole chunks unless all are taken, as a window with speech."""
        window = Window(self.start, self.start + count, self.samples[:count].copy(), speech=True)
        self.silence(count)
        self.silent_from = self.start
        return window

    def silence(self, count: int) -> None:
        """Add the first `count` samples to the silence before them."""
        self.start += count
        self.samples = self.samples[count:]
        self.probability = self.probability[-(-count // CHUNK) :]

    def take_silence(self) -> list[Window]:
        """Remove the silence before the samples, as a window without speech if there is any."""
        first, self.silent_from = self.silent_from, self.start
        return (
            [Window(first, self.start, np.zeros(0, np.float32), speech=False)] if first < self.start else []
        )


def _next_piece(rest: Rest, max_samples: int, *, ended: bool) -> tuple[int, bool]:
    """How many samples the next window takes, and whether there is speech in it."""
    spans = speech_spans(rest.probability)
    if not spans:
        # speech may begin at the very end of what has been read
        return len(rest.samples) if ended else len(rest.samples) - LONG_PAUSE * CHUNK, False
    if spans[0].first > LONG_PAUSE:
        return (spans[0].first - PADDING) * CHUNK, False
    if len(rest.samples) > max_samples:
        return _cut(rest, spans, max_samples // CHUNK) * CHUNK, True
    if len(rest.probability) - spans[-1].last > LONG_PAUSE:
        return (spans[-1].last + PADDING) * CHUNK, True
    return len(rest.samples), True


def _cut(rest: Rest, spans: list[Span], limit: int) -> int:
    """The chunk, at most `limit`, before which to cut a rest that is longer than that."""
    pauses = _pauses(spans, len(rest.probability))
    third, half = limit * 2 // 3, limit // 2
    late = [pause for pause in pauses if _overlap(pause, third, limit) > 0]
    if late:
        return _cut_in(max(late, key=lambda pause: _overlap(pause, third, limit)), limit)
    earlier = [pause for pause in pauses if half < pause.last <= third]
    if earlier:
        return _cut_in(earlier[-1], limit)
    return third + _weakest(rest, third, limit)


def _pauses(spans: list[Span], chunks: int) -> list[Span]:
    """The gaps after each span."""
    starts = [span.first for span in spans[1:]] + [chunks]
    return [Span(span.last, start) for span, start in zip(spans, starts, strict=True) if start > span.last]


def _overlap(pause: Span, first: int, last: int) -> int:
    return min(pause.last, last) - max(pause.first, first)


def _cut_in(pause: Span, limit: int) -> int:
    long = pause.last - pause.first > LONG_PAUSE
    return min(limit, pause.first + PADDING if long else (pause.first + pause.last) // 2)


def _weakest(rest: Rest, first: int, last: int) -> int:
    """The chunk between `first` and `last`, counted from `first`, with the least speech and sound."""
    level = loudness(rest.samples[first * CHUNK : last * CHUNK])
    return int(np.argmin(level * rest.probability[first:last]))
