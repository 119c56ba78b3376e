"""Whole clips, from samples to text, under target-only, AS²D, auto and faster-whisper in turn.

Run with `python -m benchmarks.end_to_end`. Needs the extra `peers` and the corpus that `AS2D_CORPUS` names. `as2d
bench` measures prepared audio; here the encoders count, and so does the end of the text of one window before the next.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from as2d.evaluation.analysis.metrics import groups
from as2d.evaluation.corpora import Clip
from as2d.evaluation.measuring.runner import rotated
from as2d.evaluation.peers.contract import load_peer_model
from as2d.evaluation.peers.faster_whisper import open_faster_whisper
from as2d.models.whisper.drafter import load_whisper_drafter
from as2d.models.whisper.model import WhisperModel, load_whisper
from as2d.records import SAMPLE_RATE, Method, Result
from as2d.session import DEFAULT_MODEL, Session
from benchmarks.setting import (
    CORES,
    development_corpus,
    markdown_line,
    print_header,
    read_samples,
    spoken_clips,
)
from benchmarks.variants import SMALL

LONGEST_CLIP_S = 150
"""Longer clips are left out: they would take most of the time."""
MIN_TOKENS = 30
"""Tokens that a clip says at least."""

Float32 = NDArray[np.float32]
Transcriber = Callable[[Float32, str], object]
"""Transcribes samples of a language."""


@dataclass(frozen=True, slots=True)
class MeasuredClip:
    """One clip from samples to text: the median seconds of each contender, by its name."""

    language: str
    duration_s: float
    seconds: Mapping[str, float]


def main() -> None:
    """Measure and print."""
    arguments = _arguments()
    corpus = development_corpus()
    print_header(corpus)
    target = load_whisper(DEFAULT_MODEL)
    clips = spoken_clips(corpus.clips, target.capabilities.languages)
    chosen = long_enough(target, clips, arguments.limit)
    with _contenders(target) as contenders:
        measured = list(_measured(contenders, chosen, arguments.repeats))
    if not measured:
        sys.exit(f"the corpus has no clip of {MIN_TOKENS} tokens or more")
    print(f"\n{table(measured)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.end_to_end", description=__doc__)
    parser.add_argument(
        "--limit", type=int, default=15, help="English clips, and as many in other languages (15)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of each contender (3)")
    return parser.parse_args()


def long_enough(target: WhisperModel, clips: Iterable[Clip], limit: int) -> Iterator[tuple[Clip, Float32]]:
    """The first clips that say enough, and their samples: up to `limit` English ones and as many others."""
    counts: Counter[bool] = Counter()
    with Session(target, None) as session:
        for clip in clips:
            english = clip.language == "en"
            if counts[english] < limit and clip.duration_s <= LONGEST_CLIP_S:
                samples = read_samples(clip)
                said = _transcribe(session, "target-only", samples, clip.language).tokens
                if len(said) >= MIN_TOKENS:
                    counts[english] += 1
                    yield clip, samples


@contextmanager
def _contenders(target: WhisperModel) -> Iterator[Mapping[str, Transcriber]]:
    """All contenders by name, on models that are loaded once."""
    drafter = load_whisper_drafter(SMALL)
    with (
        Session(target, drafter, threads=1) as one_core,
        Session(target, drafter, threads=CORES) as session,
        open_faster_whisper(load_peer_model(DEFAULT_MODEL), CORES, "int8") as peer,
    ):
        yield {
            "target-only, 1 core": partial(_transcribe, one_core, "target-only"),
            f"target-only, {CORES} cores": partial(_transcribe, session, "target-only"),
            f"AS²D with {SMALL}, {CORES} cores": partial(_transcribe, session, "as2d"),
            f"auto, {CORES} cores": partial(_transcribe, session, "auto"),
            f"faster-whisper int8, {CORES} threads": peer.transcribe,
        }


def _transcribe(session: Session, method: Method, samples: Float32, language: str) -> Result:
    return session.transcribe((samples, SAMPLE_RATE), method=method, language=language)


def _measured(
    contenders: Mapping[str, Transcriber], clips: Iterable[tuple[Clip, Float32]], repeats: int
) -> Iterator[MeasuredClip]:
    """Each clip in turn; the order of the contenders rotates from clip to clip and repeat to repeat."""
    for index, (clip, samples) in enumerate(clips):
        print(f"{index + 1}: {clip.language} {clip.name}", file=sys.stderr)
        if index == 0:
            for transcribe in contenders.values():
                transcribe(samples, clip.language)  # nothing is to be loaded inside a measurement
        seconds = _seconds(contenders, samples, clip.language, range(index, index + repeats))
        yield MeasuredClip(clip.language, len(samples) / SAMPLE_RATE, seconds)


def _seconds(
    contenders: Mapping[str, Transcriber], samples: Float32, language: str, turns: range
) -> dict[str, float]:
    spent: dict[str, list[float]] = defaultdict(list)
    for turn in turns:
        for name in rotated(list(contenders), turn):
            start = perf_counter()
            contenders[name](samples, language)
            spent[name].append(perf_counter() - start)
    return {name: median(spent[name]) for name in contenders}


def table(clips: Sequence[MeasuredClip]) -> str:
    """Summed medians by language, as Markdown; RTFx is seconds of audio a second."""
    names = list(clips[0].seconds)
    lines = [["clips", "audio", *names], ["---", *["---:"] * (len(names) + 1)]]
    lines += [_row(group, members, names) for group, members in groups(clips).items()]
    return "\n".join(map(markdown_line, lines))


def _row(group: str, clips: Sequence[MeasuredClip], names: Sequence[str]) -> list[str]:
    audio = sum(clip.duration_s for clip in clips)
    sums = [sum(clip.seconds[name] for clip in clips) for name in names]
    cells = (f"{seconds:.2f} s, RTFx {audio / seconds:.1f}" for seconds in sums)
    return [f"{group} ({len(clips)})", f"{audio:.0f} s", *cells]


if __name__ == "__main__":
    main()
