"""Does the 8-bit target lose accuracy? Its word error rate beside that of float32. Run `python -m benchmarks.wer`.

Needs the extra `bench` and the corpus that `AS2D_CORPUS` names. Exits with 1 when the two differ by more than 0.3
points.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

import jiwer
from rich.console import Console
from rich.progress import track
from whisper_normalizer.english import EnglishTextNormalizer

from as2d.models.whisper.model import TargetPrecision
from as2d.records import Result
from as2d.session import Session
from benchmarks.corpus import Clip, corpus_folder, read_clips, referenced_clips
from benchmarks.host import header
from benchmarks.report import print_header

LIMIT_POINTS = 0.3
"""How far the 8-bit target may be from float32."""
PRECISIONS: tuple[TargetPrecision, TargetPrecision] = ("int8", "fp32")


def main() -> int:
    """Transcribe the referenced clips with both precisions, and compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wer", description=__doc__)
    parser.add_argument("--limit", type=int, help="clips, the first of the manifest (all)")
    arguments = parser.parse_args()
    corpus = corpus_folder()
    print_header(header(corpus))
    clips = referenced_clips(read_clips(corpus))[: arguments.limit]
    int8, fp32 = (_transcribe(clips, precision) for precision in PRECISIONS)
    print(f"\n{len(clips)} read English clips, {sum(clip.duration_s for clip in clips):.0f} s")
    difference = _report(clips, "int8", int8) - _report(clips, "fp32", fp32)
    same = sum(ours.tokens == theirs.tokens for ours, theirs in zip(int8, fp32, strict=True))
    print(f"difference: {difference:+.3f} points (limit ±{LIMIT_POINTS})")
    print(f"same transcript: {same} of {len(clips)}")
    return 1 if abs(difference) > LIMIT_POINTS else 0


def _transcribe(clips: Sequence[Clip], precision: TargetPrecision) -> list[Result]:
    with Session(drafter=None, precision=precision) as session:
        return [
            session.transcribe(clip.path, method="target-only", language="en")
            for clip in track(clips, description=precision, console=Console(stderr=True))
        ]


def _report(clips: Sequence[Clip], name: str, results: Sequence[Result]) -> float:
    """Print one precision's errors; its word error rate in percent."""
    normalise = EnglishTextNormalizer()
    output = jiwer.process_words(
        [normalise(clip.reference) for clip in clips], [normalise(result.text) for result in results]
    )
    errors = output.substitutions + output.deletions + output.insertions
    words = output.hits + output.substitutions + output.deletions
    unusual = Counter(result.finish_reason for result in results if result.finish_reason != "stop")
    print(
        f"{name}: WER {100 * output.wer:.3f}% ({errors} errors in {words} words), "
        f"finish reasons other than stop: {dict(unusual) or 'none'}"
    )
    return float(100 * output.wer)


if __name__ == "__main__":
    sys.exit(main())
