"""Is `auto` ever slower than the target alone? All clips of speech in the corpus, prepared and not.

Run with `python -m benchmarks.auto`. Both answer each clip in turn, in an order that alternates; exits with 1 when a
token differs or when `auto` takes more than 5% longer in any group.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import as2d
from as2d.errors import AudioError
from as2d.evaluation.corpora import Clip
from as2d.evaluation.measuring.runner import rotated
from as2d.models.whisper.model import load_whisper
from as2d.records import SAMPLE_RATE
from as2d.session import DEFAULT_MODEL
from benchmarks.setting import CORES, development_corpus, print_header, read_samples, spoken_clips

_Method = Literal["auto", "target-only"]
METHODS: tuple[_Method, _Method] = ("target-only", "auto")
_SLOWEST = 1.05


class Answer(NamedTuple):
    """One answer to one clip: its group, method, milliseconds and tokens."""

    group: str
    method: _Method
    milliseconds: float
    tokens: tuple[int, ...]


def main() -> None:
    """Measure, print the totals and judge them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto", description=__doc__)
    parser.add_argument("--limit", type=int, help="clips (all)")
    limit = parser.parse_args().limit
    corpus = development_corpus()
    print_header(corpus)
    target = load_whisper(DEFAULT_MODEL)
    clips = spoken_clips(corpus.clips, target.capabilities.languages)[:limit]
    with as2d.Session(target, threads=CORES) as session:
        answers = [answer for turn, clip in enumerate(clips) for answer in _answers(session, clip, turn)]
    sys.exit(0 if report(answers) else 1)


def _answers(session: as2d.Session, clip: Clip, turn: int) -> Iterator[Answer]:
    """Both methods on prepared audio (decoding) and on samples (from samples to text)."""
    print(f"{turn + 1}: {clip.language} {clip.name}", file=sys.stderr)
    try:
        samples = read_samples(clip)
    except AudioError:
        return
    language = "English" if clip.language == "en" else "other languages"
    prepared = session.prepare((samples, SAMPLE_RATE))
    for method in rotated(METHODS, turn):
        result = session.transcribe(prepared, method=method)
        yield Answer(f"{language}, prepared", method, result.stats.decode_ms, result.tokens)
        result = session.transcribe((samples, SAMPLE_RATE), method=method)
        yield Answer(f"{language}, unprepared", method, result.stats.wall_ms, result.tokens)


def report(answers: Sequence[Answer]) -> bool:
    """Print each group's totals; whether all tokens agree and no group is slower than allowed."""
    groups: Mapping[str, dict[_Method, list[Answer]]] = defaultdict(
        lambda: {method: [] for method in METHODS}
    )
    for answer in answers:
        groups[answer.group][answer.method].append(answer)
    good = True
    for group, by_method in groups.items():
        alone, auto = (by_method[method] for method in METHODS)
        same = [answer.tokens for answer in alone] == [answer.tokens for answer in auto]
        alone_s, auto_s = (sum(answer.milliseconds for answer in part) / 1000 for part in (alone, auto))
        good &= same and auto_s <= _SLOWEST * alone_s
        print(
            f"{group}: {len(auto)} clips, target-only {alone_s:.2f} s, auto {auto_s:.2f} s "
            f"({alone_s / auto_s:.2f} times as fast), tokens {'identical' if same else 'DIFFERENT'}"
        )
    return good


if __name__ == "__main__":
    main()
