"""Long recordings, joined from the clips of a corpus where no clip is long enough."""

import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from as2d.audio import AudioInput, open_audio
from as2d.errors import InputError
from as2d.evaluation.corpora import Clip, as_file
from as2d.records import SAMPLE_RATE

Float32 = NDArray[np.float32]

PAUSES_S = (0.3, 1.5)
"""The shortest and the longest silence between two clips."""
_FADE = SAMPLE_RATE // 100


@dataclass(frozen=True, slots=True)
class Part:
    """A clip from its beginning, and where it lies in the long recording, in seconds; silence lies between parts."""

    clip: str
    start_s: float
    end_s: float


class LongRecording(NamedTuple):
    """What was joined, and its samples [n], mono at 16 kHz."""

    parts: tuple[Part, ...]
    samples: Float32


def long_recording(clips: Sequence[Clip], seconds: float, seed: int) -> LongRecording:
    """`seconds` of audio made of clips as `recipe` says. Raises InputError, and AudioError."""
    parts = recipe({clip.name: clip.duration_s for clip in clips}, seconds, seed)
    used = {part.clip for part in parts}
    with ExitStack() as files:
        audio_of = {clip.name: files.enter_context(as_file(clip)).path for clip in clips if clip.name in used}
        return LongRecording(parts, joined(parts, audio_of, seconds))


def recipe(
    durations_s: Mapping[str, float], seconds: float, seed: int, pauses_s: tuple[float, float] = PAUSES_S
) -> tuple[Part, ...]:
    """How to make `seconds` of audio of clips with these durations (0: not known, not used). Pure.

    One clip that is long enough is used alone; otherwise clips follow each other in an order drawn by the seed, each
    once, with a pause between two. The last one is cut where the recording ends. InputError where there is too little.
    """
    known = sorted(name for name, length in durations_s.items() if length > 0)
    draw = random.Random(seed)
    draw.shuffle(known)
    whole = next((name for name in known if durations_s[name] >= seconds), None)
    if whole is not None:
        return (Part(whole, 0.0, float(seconds)),)
    parts: list[Part] = []
    start = 0.0
    for name in known:
        end = min(seconds, start + durations_s[name])
        parts.append(Part(name, round(start, 4), round(end, 4)))
        start = end + draw.uniform(*pauses_s)
        if start >= seconds:
            return tuple(parts)
    held = sum(durations_s[name] for name in known)
    raise InputError(
        f"the chosen clips of known length hold {held:.0f} s, and {seconds:.0f} s are needed; choose more kinds or "
        "languages, add clips to the corpus, or ask for less"
    )


def joined(parts: Sequence[Part], audio_of: Mapping[str, AudioInput], seconds: float) -> Float32:
    """The recording [seconds × 16,000] of a recipe, mono at 16 kHz. Raises AudioError.

    A clip that is shorter than its corpus says is followed by silence; where one is cut, it fades within 10 ms.
    """
    samples = np.zeros(round(seconds * SAMPLE_RATE), np.float32)
    for part in parts:
        first, last = (round(at * SAMPLE_RATE) for at in (part.start_s, part.end_s))
        heard = _beginning(audio_of[part.clip], last - first)
        samples[first : first + len(heard)] = heard
    return samples


def _beginning(audio: AudioInput, length: int) -> Float32:
    """At most `length` samples; the end of a longer recording is faded."""
    blocks: list[Float32] = []
    held = 0
    with open_audio(audio) as stream:
        for block in stream:
            blocks.append(block)
            held += len(block)
            if held > length:
                break
    heard = np.concatenate([*blocks, np.zeros(0, np.float32)])[:length]
    if held > length:
        fade = min(_FADE, length)
        heard[length - fade :] *= np.linspace(1, 0, fade, dtype=np.float32)
    return heard
