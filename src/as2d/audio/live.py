"""Audio that comes in pieces of any size: to mono at 16 kHz, and cut into windows as they become complete."""

from collections.abc import Mapping
from copy import copy

import numpy as np
import soxr
from numpy.typing import NDArray

from as2d.audio.arrays import checked_rate
from as2d.audio.blocks import Samples
from as2d.audio.mono import mono
from as2d.audio.silero import CHUNK
from as2d.audio.speech import BLOCK_CHUNKS, Detected, SpeechDetector
from as2d.audio.windows import MAX_SAMPLES, Cutter, Rest, Window
from as2d.errors import InputError
from as2d.records import SAMPLE_RATE

MOST_CHANNELS = 64
"""More are an array with its axes the other way round."""

_TYPES = ("float32", "float64", "int16")
_BLOCK = BLOCK_CHUNKS * CHUNK


class LiveInput:
    """Samples of one rate and channel count, as they come, to mono float32 at 16 kHz.

    A resampler holds back some milliseconds until it has heard what follows.
    """

    def __init__(self, rate: int) -> None:
        """Raises InputError for a rate that cannot be."""
        self.rate = checked_rate(rate)
        self._channels: int | None = None
        self._resampler: soxr.ResampleStream | None = None

    def convert(self, samples: NDArray[np.generic], rate: int | None = None) -> Samples:
        """The next samples, [n] or [n, channels], of float32, float64 or int16.

        Raises InputError for another rate or channel count than before, another type, NaN or infinity; all is then as
        if they had not come.
        """
        if rate not in (None, self.rate):
            raise InputError(
                f"the sample rate changed from {self.rate} to {rate!r}; resample, or begin another recording"
            )
        frames = _frames(samples)
        if len(frames) == 0:
            return np.zeros(0, np.float32)
        if self._channels not in (None, frames.shape[1]):
            raise InputError(
                f"there were {self._channels} channels and now are {frames.shape[1]}; begin another recording"
            )
        mixed = mono(frames.T)
        if not np.isfinite(mixed).all():
            raise InputError("the samples hold NaN or infinite values; replace them by numbers")
        self._channels = frames.shape[1]
        return self._resampled(mixed, last=False)

    def flush(self) -> Samples:
        """What the resampler has held back; the next samples begin anew."""
        held = (
            self._resampled(np.zeros(0, np.float32), last=True)
            if self._resampler
            else np.zeros(0, np.float32)
        )
        self._resampler = None
        return held

    def _resampled(self, samples: Samples, *, last: bool) -> Samples:
        if self.rate == SAMPLE_RATE:
            return samples
        if self._resampler is None:
            self._resampler = soxr.ResampleStream(self.rate, SAMPLE_RATE, 1, dtype="float32", quality="HQ")
        converted: Samples = self._resampler.resample_chunk(np.ascontiguousarray(samples), last=last)
        return converted


def _frames(samples: object) -> NDArray[np.generic]:
    """Samples as [n, channels]."""
    if not isinstance(samples, np.ndarray) or samples.dtype.name not in _TYPES:
        kind = samples.dtype.name if isinstance(samples, np.ndarray) else type(samples).__name__
        raise InputError(f"the samples are {kind}; give a numpy array of {', '.join(_TYPES)}")
    frames = samples[:, None] if samples.ndim == 1 else samples
    if frames.ndim != 2 or not 1 <= frames.shape[1] <= MOST_CHANNELS:
        raise InputError(f"the array has shape {samples.shape}; give [n] or [n, channels]")
    return frames


class LiveWindows:
    """`as2d.audio.windows` for audio that is pushed: the same windows, however the audio is split."""

    def __init__(self, max_samples: int = MAX_SAMPLES) -> None:
        """The longest window; at least two seconds, else InputError."""
        self._cutter = Cutter(max_samples)
        self._detector = _Detector()
        self._pending: Samples = np.zeros(0, np.float32)

    @property
    def start(self) -> int:
        """The first sample that is in no complete window."""
        return self._cutter.rest.silent_from

    @property
    def end(self) -> int:
        """How many samples have been fed."""
        rest = self._cutter.rest
        return rest.start + len(rest.samples) + len(self._pending)

    def feed(self, samples: Samples) -> list[Window]:
        """The windows that these samples, mono at 16 kHz, complete."""
        self._pending = np.concatenate([self._pending, samples])
        complete = []
        while len(self._pending) >= _BLOCK:
            block, self._pending = self._pending[:_BLOCK], self._pending[_BLOCK:]
            complete += self._cutter.feed(Detected(block, self._detector(block)))
        return complete

    def rest(self) -> list[Window]:
        """The windows that the audio not yet in any would be cut into if it ended now. Nothing changes."""
        cutter = self._cutter.fork()
        if len(self._pending) == 0:
            return cutter.end()
        last = Detected(self._pending, copy(self._detector)(self._pending))
        return cutter.feed(last) + cutter.end()

    def fork(self) -> "LiveWindows":
        """The same at this moment, whatever is fed later."""
        other = copy(self)
        other._cutter = self._cutter.fork()
        other._detector = copy(self._detector)
        return other

    def pack(self) -> dict[str, NDArray[np.generic]]:
        """All that it remembers, as arrays."""
        rest = self._cutter.rest
        return {
            "pending": self._pending,
            "samples": rest.samples,
            "probability": rest.probability,
            "position": np.array([rest.silent_from, rest.start], np.int64),
            **self._detector.pack(),
        }

    @classmethod
    def unpack(
        cls, arrays: Mapping[str, NDArray[np.generic]], max_samples: int = MAX_SAMPLES
    ) -> "LiveWindows":
        """One that goes on where another was packed. Raises KeyError or ValueError for other arrays."""
        silent_from, start = (int(position) for position in arrays["position"])
        detected = Detected(_floats(arrays["samples"]), _floats(arrays["probability"]))
        pending = _floats(arrays["pending"])
        if detected.samples.shape != (detected.probability.size * CHUNK,) or pending.ndim != 1:
            raise ValueError("the open samples do not fit together")
        rest = Rest(start, silent_from)
        rest.add(detected)
        live = cls(max_samples)
        live._cutter = Cutter(max_samples, rest)
        live._pending = pending
        live._detector.unpack(arrays)
        return live


class _Detector(SpeechDetector):
    """A detector whose memory can be kept. It never changes an array: a copy is independent."""

    def pack(self) -> dict[str, NDArray[np.generic]]:
        return {"context": self._context, "h": self._h, "c": self._c}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        for name, before in self.pack().items():
            if arrays[name].shape != before.shape:
                raise ValueError(f"{name} has shape {arrays[name].shape}")
        self._context = _floats(arrays["context"])
        self._h, self._c = _floats(arrays["h"]), _floats(arrays["c"])


def _floats(array: NDArray[np.generic]) -> NDArray[np.float32]:
    return np.asarray(array, np.float32)
