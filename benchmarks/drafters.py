"""Every drafter and every ingredient of it, measured on the same windows: the tables of docs/drafters.md.

Needs the corpus that `AS2D_CORPUS` names. Measures clips of the half that `as2d models calibrate` leaves alone. Exits
with 1 when a run is not identical to target-only.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np

from as2d.cli.models import JOINED, drawn_clips
from as2d.configuration.method import DEFAULT_BUDGET
from as2d.evaluation.corpora import Clip, Corpus
from as2d.models.whisper.calibrate import is_for_calibration
from as2d.records import SAMPLE_RATE
from as2d.runtime.pair import SpeechWindow
from as2d.session.recording import Recording
from benchmarks.drafter_bench import DrafterBench, Looked
from benchmarks.drafter_table import DraftedWindow, generated, languages, replaced
from benchmarks.setting import CORES, development_corpus, header, spoken_clips
from benchmarks.variants import own_bytes, window_bytes

WINDOWS_A_CLIP = 2


def main() -> int:
    """Measure, and write what was asked for."""
    arguments = _arguments()
    corpus = development_corpus()
    if arguments.out:
        _rewrite(arguments.out, None)
    about = header(corpus)
    bench = DrafterBench(arguments.repeats)
    calibrating = len(drawn_clips(corpus.clips, bench.target.capabilities.languages))
    windows = list(_measured(bench, corpus, arguments))
    if not windows:
        sys.exit(f"the corpus has no window of {arguments.min_tokens} tokens or more to measure")
    text = generated(about | _sets(bench, corpus, calibrating, windows, arguments), windows)
    print(text)
    if arguments.json:
        content = {"header": about, "windows": [asdict(window) for window in windows]}
        arguments.json.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if arguments.out:
        _rewrite(arguments.out, text)
    return _verdict(windows)


def _rewrite(path: Path, text: str | None) -> None:
    """Put `text` between the document's markers; None only looks whether that will do, before much is measured."""
    try:
        document = replaced(path.read_text(encoding="utf-8"), text or "")
        if text is not None:
            path.write_text(document, encoding="utf-8")
    except (OSError, ValueError) as error:
        sys.exit(f"cannot rewrite {path}: {error}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drafters", description=__doc__)
    parser.add_argument(
        "--limit", type=int, default=20, help="English windows, and as many in other languages (20)"
    )
    parser.add_argument("--whole", type=int, default=5, help="those of them measured end to end as well (5)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each contender (3)")
    parser.add_argument("--min-tokens", type=int, default=15, help="shortest windows, in tokens (15)")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="rewrite the tables of this document")
    parser.add_argument("--json", type=Path, metavar="FILE.json", help="also write the measurements there")
    return parser.parse_args()


def _measured(bench: DrafterBench, corpus: Corpus, arguments: argparse.Namespace) -> Iterator[DraftedWindow]:
    """The first windows of both groups that are long enough; one line on stderr for each."""
    clips = measuring_clips(corpus.clips, bench.target.capabilities.languages)
    began = perf_counter()
    for english in (True, False):
        group = [clip for clip in clips if (clip.language == "en") is english]
        found = islice(_long_windows(bench, group, arguments.min_tokens), arguments.limit)
        for count, (clip, speech, looked) in enumerate(found, 1):
            yield bench.measure(clip, speech, looked, whole=count <= arguments.whole)
            progress = (
                f"{perf_counter() - began:.0f} s: {count}/{arguments.limit} {clip.language} {clip.name}"
            )
            print(progress, file=sys.stderr)


def measuring_clips(clips: Sequence[Clip], languages: Sequence[str]) -> list[Clip]:
    """The clips to measure with: none for calibration, and none joined from others, which may be."""
    spoken = spoken_clips(clips, languages)
    return [clip for clip in spoken if not is_for_calibration(clip.name) and clip.kind != JOINED]


def _long_windows(
    bench: DrafterBench, clips: Sequence[Clip], min_tokens: int
) -> Iterator[tuple[Clip, SpeechWindow, Looked]]:
    """Up to two windows of each clip with at least `min_tokens` tokens, and what target-only makes of them."""
    for clip in clips:
        with Recording(clip.path) as recording:
            for speech in islice(recording.windows, WINDOWS_A_CLIP):
                looked = bench.look(clip, speech)
                if len(looked.reference.tokens) >= min_tokens:
                    yield clip, speech, looked


def _sets(
    bench: DrafterBench,
    corpus: Corpus,
    calibrating: int,
    windows: Sequence[DraftedWindow],
    arguments: argparse.Namespace,
) -> dict[str, str]:
    """What was calibrated with (so many clips) and what was measured, and how."""
    target = bench.target
    measuring = len(measuring_clips(corpus.clips, target.capabilities.languages))
    silence = target.prepare(np.zeros(SAMPLE_RATE, np.float32), CORES)
    own, arrays = own_bytes(target.parts, None), window_bytes(target.parts, silence)
    return {
        "target": f"{target.name}, {own / 1e6:.0f} MB of files and {arrays / 1e6:.0f} MB of arrays a window",
        "calibration": f"up to 2 windows of each of {calibrating} clips (SHA-1 of the id begins with an even digit)",
        "measured": f"{len(windows)} windows of at least {arguments.min_tokens} tokens ({languages(windows)}), from "
        f"{len({window.clip for window in windows})} of {measuring} clips (odd digit, so that no clip is in both)",
        "how": f"budget {DEFAULT_BUDGET}, published by word, median of {arguments.repeats} runs, all contenders in "
        f"turn on each window; end to end on the first {arguments.whole} windows of each group, from samples to text, "
        "the language given; drafting on one core, the target on the other",
        "identical to target-only": f"{sum(_is_identical(window) for window in windows)} of {len(windows)} windows, "
        "with every drafter in every run",
    }


def _is_identical(window: DraftedWindow) -> bool:
    return window.identical and all(row.identical for row in window.rows.values())


def _verdict(windows: Sequence[DraftedWindow]) -> int:
    """Name what went wrong; the exit status."""
    for window in windows:
        if not window.identical:
            print(f"NOT identical: target-only on {window.clip} at {window.start_s:.2f} s", file=sys.stderr)
        for name, row in window.rows.items():
            for fault in sorted(set(row.drafting.faults)):
                print(f"{name} on {window.clip} at {window.start_s:.2f} s: {fault}", file=sys.stderr)
            if not row.identical:
                print(f"NOT identical: {name} on {window.clip} at {window.start_s:.2f} s", file=sys.stderr)
    return 0 if all(map(_is_identical, windows)) else 1


if __name__ == "__main__":
    sys.exit(main())
