"""Recordings as windows with speech: read as they are decoded, or prepared beforehand."""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event as Flag
from typing import Self

from as2d.audio import AudioInput, AudioStream, open_audio, windows
from as2d.errors import CancelledError
from as2d.records import SAMPLE_RATE, Instruction
from as2d.runtime.pair import Chosen, Pair, PreparedWindow, SpeechWindow


@dataclass(frozen=True, slots=True)
class PreparedRecording:
    """A recording of `samples` samples whose windows with speech are encoded; any number of requests may use it."""

    windows: tuple[PreparedWindow, ...]
    samples: int
    warnings: tuple[str, ...]

    @property
    def duration_s(self) -> float:
        """Seconds of audio."""
        return self.samples / SAMPLE_RATE


class Recording:
    """A recording read window by window, so that long audio is never held whole.

    `samples` and `warnings` are complete once the windows have been iterated.
    """

    def __init__(self, audio: AudioInput, longest_s: float = 30.0) -> None:
        """No window is longer than that. Raises AudioError when the audio cannot be opened."""
        self._stream: AudioStream = open_audio(audio)
        self._longest = int(longest_s * SAMPLE_RATE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Free the audio, read or not."""
        self._stream.close()

    @property
    def samples(self) -> int:
        """Samples read so far."""
        return self._stream.samples

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was wrong with the audio that could be read."""
        return tuple(self._stream.warnings)

    @property
    def windows(self) -> Iterator[SpeechWindow]:
        """The windows with speech, once. Raises AudioError where the audio cannot be decoded at all."""
        with self._stream:
            for window in windows(self._stream, self._longest):
                if window.speech:
                    yield SpeechWindow(window.start, window.samples)


def prepare_recording(
    pair: Pair,
    recording: Recording,
    instruction: Instruction,
    cancelled: Flag,
    *,
    any_language: bool,
    chosen: Chosen,
) -> PreparedRecording:
    """Encode all windows with speech, for the target and the chosen drafters.

    Raises AudioError, or CancelledError between two windows.
    """
    prepared = []
    for window in recording.windows:
        if cancelled.is_set():
            raise CancelledError("the preparation was cancelled")
        prepared.append(pair.prepare(window, instruction, any_language=any_language, chosen=chosen))
    return PreparedRecording(tuple(prepared), recording.samples, recording.warnings)
