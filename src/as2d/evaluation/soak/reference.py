"""What the target alone says: computed once for each clip and kind of request."""

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.evaluation.corpora import Clip
from as2d.evaluation.measuring.alone import TargetAlone
from as2d.models.contract import AudioModel
from as2d.records import SAMPLE_RATE, Instruction, Options, Segment
from as2d.session.recording import Recording

Said = tuple[float, float, tuple[int, ...]]
"""A window's start and end in seconds, and its useful tokens."""


class _Asked(NamedTuple):
    """A clip, and all of a request that the target's words depend on."""

    clip: str
    instruction: Instruction


class Reference:
    """The target's own answers. Any thread may ask; what is asked again is remembered."""

    def __init__(self, target: AudioModel, cores: int) -> None:
        self._target = target
        self._alone = TargetAlone(target, cores)
        self._answers: dict[_Asked, tuple[Said, ...]] = {}
        self._lock = Lock()

    def of_clip(self, clip: Clip, options: Options) -> tuple[Said, ...]:
        """All windows of a clip, cut as a session cuts a file. Raises AudioError."""
        asked = _Asked(clip.name, self._instruction(options))
        with self._lock:
            if asked not in self._answers:
                self._answers[asked] = tuple(self._windows(clip, asked.instruction))
            return self._answers[asked]

    def of_windows(self, clip: Clip, options: Options, segments: Sequence[Segment]) -> tuple[Said, ...]:
        """Just these windows of a clip, wherever they were cut. Raises AudioError."""
        known = {said[:2]: said for said in self.of_clip(clip, options)}
        instruction = self._instruction(options)
        samples = _samples(clip) if any(_place(one) not in known for one in segments) else None
        return tuple(
            known[_place(one)]
            if samples is None or _place(one) in known
            else self._cut(samples, one, instruction)
            for one in segments
        )

    def _windows(self, clip: Clip, instruction: Instruction) -> list[Said]:
        with Recording(clip.path) as recording:
            return [
                (
                    window.start / SAMPLE_RATE,
                    window.end / SAMPLE_RATE,
                    self._alone.tokens(window.samples, instruction),
                )
                for window in recording.windows
            ]

    def _cut(self, samples: NDArray[np.float32], segment: Segment, instruction: Instruction) -> Said:
        first, last = (round(at * SAMPLE_RATE) for at in _place(segment))
        with self._lock:
            return (*_place(segment), self._alone.tokens(samples[first:last], instruction))

    def _instruction(self, options: Options) -> Instruction:
        return self._target.check(Instruction(options.task, options.language))


def said(segments: Sequence[Segment]) -> tuple[Said, ...]:
    """What an answer says, to be compared."""
    return tuple((*_place(segment), segment.tokens) for segment in segments)


def _place(segment: Segment) -> tuple[float, float]:
    return segment.start_s, segment.end_s


def _samples(clip: Clip) -> NDArray[np.float32]:
    with open_audio(clip.path) as stream:
        return np.concatenate(list(stream))
