"""How fast the contenders decode, and what they take from audio to text. Run `python -m benchmarks.decode --help`.

Needs the extra `bench` and the corpus that `AS2D_CORPUS` names. Exits with 1 when a window is not identical to
target-only or the memory is not within its limits.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from as2d.configuration.method import DEFAULT_BUDGET
from as2d.runtime.exactness import MAX_BUDGET
from as2d.session import DEFAULT_MODEL
from as2d.session.recording import Recording
from benchmarks.corpus import Clip, corpus_folder, read_clips, spoken_clips
from benchmarks.end_to_end import measure_clips, transcribers
from benchmarks.figures import MeasuredClip, MeasuredWindow
from benchmarks.host import header
from benchmarks.measure import Bench, Window
from benchmarks.memory import Memory, measure_memory
from benchmarks.peers import FasterWhisper, faster_whisper
from benchmarks.report import print_clips, print_header, print_memory, print_windows
from benchmarks.runs import CORES

WINDOWS_A_CLIP = 3
"""Windows of one clip, so that a few long recordings do not make up the whole sample."""
LONGEST_CLIP_S = 150
"""Longer clips are left out end to end: they would take most of the time."""


def main() -> int:
    """Measure, print, and write what was asked for."""
    arguments = _arguments()
    corpus = corpus_folder()
    about = header(corpus)
    print_header(about)
    with (
        _quiet_progress() as progress,
        faster_whisper(DEFAULT_MODEL, CORES) as peer,
    ):
        bench = Bench(peer, arguments.budget, arguments.repeats)
        clips = spoken_clips(read_clips(corpus), bench.target.capabilities.languages)
        windows = _decode(bench, clips, arguments, progress)
        print_windows(windows, arguments.budget)
        used = _few(clips, windows, min(arguments.limit, arguments.clips))
        whole = _end_to_end(bench, peer, used, progress)
    if whole:
        print_clips(whole)
    memory = measure_memory(clips)
    print_memory(memory)
    if arguments.out:
        _write(arguments.out, about, windows, whole, memory)
    return _verdict(windows, memory)


def _quiet_progress() -> Progress:
    """A bar that moves only between measurements: a thread that draws it would slow down what is measured."""
    return Progress(console=Console(stderr=True), auto_refresh=False)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decode", description=__doc__)
    parser.add_argument(
        "--limit", type=_positive, default=48, help="English windows, and as many in other languages (48)"
    )
    parser.add_argument("--repeats", type=_positive, default=3, help="runs of each contender (3)")
    parser.add_argument(
        "--budget",
        type=int,
        choices=range(MAX_BUDGET + 1),
        metavar="B",
        default=DEFAULT_BUDGET,
        help=f"most candidates a round ({DEFAULT_BUDGET})",
    )
    parser.add_argument("--min-tokens", type=_positive, default=30, help="shortest windows, in tokens (30)")
    parser.add_argument(
        "--clips",
        type=int,
        default=15,
        help="clips end to end, of those in the limit, in English and in others (15)",
    )
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="also write the measurements there")
    return parser.parse_args()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("give 1 or more")
    return number


def _decode(
    bench: Bench, clips: Sequence[Clip], arguments: argparse.Namespace, progress: Progress
) -> list[MeasuredWindow]:
    """Measure the first windows of the two groups that are long enough; a window is prepared as its turn comes."""
    found: list[MeasuredWindow] = []
    counts: Counter[bool] = Counter()
    task = progress.add_task("decoding", total=len(clips))
    for clip in clips:
        english = clip.language == "en"
        room = min(WINDOWS_A_CLIP, arguments.limit - counts[english])
        for window in _long_windows(bench, clip, room, arguments.min_tokens):
            if not found:
                bench.warm_up(window)
            found.append(bench.measure(window))
            counts[english] += 1
        progress.advance(task)
        progress.refresh()
    if not found:
        sys.exit(f"the corpus has no window of {arguments.min_tokens} tokens or more")
    return found


def _long_windows(bench: Bench, clip: Clip, room: int, min_tokens: int) -> Iterator[Window]:
    """Up to `room` windows of a clip with at least `min_tokens` tokens."""
    if room < 1:
        return
    for speech in Recording(clip.path).windows:
        window = bench.look(clip, speech)
        if len(window.tokens) >= min_tokens:
            yield window
            room -= 1
        if not room:
            return


def _few(clips: Sequence[Clip], windows: Sequence[MeasuredWindow], limit: int) -> list[Clip]:
    """The clips of the measured windows, up to `limit` English ones and as many others."""
    names = {window.clip for window in windows}
    used = [clip for clip in clips if clip.name in names and clip.duration_s <= LONGEST_CLIP_S]
    english = [clip for clip in used if clip.language == "en"]
    others = [clip for clip in used if clip.language != "en"]
    return english[:limit] + others[:limit]


def _end_to_end(
    bench: Bench, peer: FasterWhisper, clips: Sequence[Clip], progress: Progress
) -> list[MeasuredClip]:
    with transcribers(bench, peer) as contenders:
        measured = measure_clips(contenders, clips, bench.repeats)
        return list(progress.track(measured, total=len(clips), description="end to end"))


def _write(
    path: Path,
    about: dict[str, str],
    windows: Sequence[MeasuredWindow],
    clips: Sequence[MeasuredClip],
    memory: Memory,
) -> None:
    content = {
        "header": about,
        "windows": [asdict(window) | {"timings": _timings(window)} for window in windows],
        "end_to_end": [asdict(clip) for clip in clips],
        "memory": asdict(memory),
    }
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _timings(window: MeasuredWindow) -> dict[str, dict[str, float]]:
    return {contender: timing._asdict() for contender, timing in window.timings.items()}


def _verdict(windows: Sequence[MeasuredWindow], memory: Memory) -> int:
    different = [f"{window.clip} at {window.start_s:.2f} s" for window in windows if not window.identical]
    if different:
        print(f"NOT identical to target-only: {'; '.join(different)}", file=sys.stderr)
    if not memory.within_limits:
        print("the memory is NOT within its limits", file=sys.stderr)
    return 1 if different or not memory.within_limits else 0


if __name__ == "__main__":
    sys.exit(main())
