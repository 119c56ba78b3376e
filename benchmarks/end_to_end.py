"""Whole clips, from samples to text, under all contenders in turn."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.records import SAMPLE_RATE, Method
from as2d.session import Session
from benchmarks.corpus import Clip
from benchmarks.figures import Contender, MeasuredClip
from benchmarks.measure import Bench
from benchmarks.peers import FasterWhisper
from benchmarks.runs import CORES, rotated

Float32 = NDArray[np.float32]
Transcriber = Callable[[Float32, str], object]
"""Transcribes samples of a language."""


@contextmanager
def transcribers(bench: Bench, peer: FasterWhisper) -> Iterator[Mapping[Contender, Transcriber]]:
    """All contenders, on the models that are already loaded."""
    with (
        Session(bench.target, bench.drafter, threads=1) as one_core,
        Session(bench.target, bench.drafter, threads=CORES) as session,
    ):
        yield {
            Contender.ONE_CORE: partial(_transcribe, one_core, "target-only", bench.budget),
            Contender.TWO_CORES: partial(_transcribe, session, "target-only", bench.budget),
            Contender.AS2D: partial(_transcribe, session, "as2d", bench.budget),
            Contender.AUTO: partial(_transcribe, session, "auto", bench.budget),
            Contender.PEER: peer.transcribe,
        }


def _transcribe(session: Session, method: Method, budget: int, samples: Float32, language: str) -> object:
    return session.transcribe((samples, SAMPLE_RATE), method=method, budget=budget, language=language)


def measure_clips(
    contenders: Mapping[Contender, Transcriber], clips: Sequence[Clip], repeats: int
) -> Iterator[MeasuredClip]:
    """Each clip in turn; the order of the contenders rotates from clip to clip and repeat to repeat."""
    for index, clip in enumerate(clips):
        samples = read_samples(clip)
        if index == 0:
            for transcribe in contenders.values():
                transcribe(samples, clip.language)
        yield _measure(contenders, clip, samples, range(index, index + repeats))


def read_samples(clip: Clip) -> Float32:
    """All samples of a clip, mono at 16 kHz."""
    with open_audio(clip.path) as stream:
        return np.concatenate(list(stream))


def _measure(
    contenders: Mapping[Contender, Transcriber], clip: Clip, samples: Float32, turns: range
) -> MeasuredClip:
    seconds: dict[Contender, list[float]] = defaultdict(list)
    for turn in turns:
        for contender in rotated(list(contenders), turn):
            start = perf_counter()
            contenders[contender](samples, clip.language)
            seconds[contender].append(perf_counter() - start)
    return MeasuredClip(
        clip=clip.name,
        language=clip.language,
        duration_s=len(samples) / SAMPLE_RATE,
        seconds={contender: median(times) for contender, times in seconds.items()},
    )
