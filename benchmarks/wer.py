"""Does the 8-bit target lose accuracy? Its word error rate beside that of float32. Run `python -m benchmarks.wer`.

Needs the extra `bench` and the corpus that `AS2D_CORPUS` names. Exits with 1 when the two differ by more than 0.3
points.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import track

from as2d.evaluation.analysis.accuracy import Utterance, word_errors
from as2d.evaluation.corpora import Clip
from as2d.models.whisper.model import TargetPrecision
from as2d.records import Result
from as2d.session import Session
from benchmarks.setting import development_corpus, print_header

LIMIT_POINTS = 0.3
"""How far the 8-bit target may be from float32."""
PRECISIONS: tuple[TargetPrecision, TargetPrecision] = ("int8", "fp32")


def main() -> int:
    """Transcribe the referenced clips with both precisions, and compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wer", description=__doc__)
    parser.add_argument("--limit", type=int, help="clips, the first of the manifest (all)")
    arguments = parser.parse_args()
    corpus = development_corpus()
    print_header(corpus)
    clips = referenced_clips(corpus.clips)[: arguments.limit]
    int8, fp32 = (_transcribe(clips, precision) for precision in PRECISIONS)
    print(f"\n{len(clips)} read English clips, {sum(clip.duration_s for clip in clips):.0f} s")
    difference = report(clips, "int8", int8) - report(clips, "fp32", fp32)
    same = sum(ours.tokens == theirs.tokens for ours, theirs in zip(int8, fp32, strict=True))
    print(f"difference: {difference:+.3f} points (limit ±{LIMIT_POINTS})")
    print(f"same transcript: {same} of {len(clips)}")
    return 1 if abs(difference) > LIMIT_POINTS else 0


def referenced_clips(clips: Iterable[Clip]) -> list[Clip]:
    """The English read clips whose reference is beyond doubt."""
    return [
        clip
        for clip in clips
        if clip.kind == "read" and clip.language == "en" and clip.reference and not clip.doubtful
    ]


def _transcribe(clips: Sequence[Clip], precision: TargetPrecision) -> list[Result]:
    with Session(drafter=None, precision=precision) as session:
        return [
            session.transcribe(clip.path, method="target-only", language="en")
            for clip in track(clips, description=precision, console=Console(stderr=True))
        ]


def report(clips: Sequence[Clip], name: str, results: Sequence[Result]) -> float:
    """Print one precision's errors; its word error rate in percent. Ends the program without a word to compare."""
    errors = word_errors(
        Utterance("en", clip.reference, result.text) for clip, result in zip(clips, results, strict=True)
    )
    if errors.rate is None:
        sys.exit("the corpus has no English read clip with a reference that is beyond doubt")
    unusual = Counter(result.finish_reason for result in results if result.finish_reason != "stop")
    print(
        f"{name}: WER {100 * errors.rate:.3f}% ({errors.errors} errors in {errors.units} words), "
        f"finish reasons other than stop: {dict(unusual) or 'none'}"
    )
    return 100 * errors.rate


if __name__ == "__main__":
    sys.exit(main())
