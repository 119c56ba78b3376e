"""LibriSpeech (English, read): SPEAKER/CHAPTER/SPEAKER-CHAPTER-NNNN.flac, and SPEAKER-CHAPTER.trans.txt beside them."""

from collections.abc import Iterator
from pathlib import Path

from as2d.evaluation.corpora.clip import Clip
from as2d.evaluation.corpora.text_files import keyed

_CHAPTERS = ("*/*/*.trans.txt", "*/*/*/*.trans.txt", "*/*/*/*/*.trans.txt")
"""In a part such as test-clean, in the folder of all parts, and above it."""


def recognises(folder: Path) -> bool:
    """Whether there is a chapter with its transcript."""
    return any(next(folder.glob(pattern), None) for pattern in _CHAPTERS)


def read(folder: Path) -> Iterator[Clip]:
    """The utterances of all parts; names are those of the corpus. References are capitals without punctuation."""
    for pattern in _CHAPTERS:
        for transcript in sorted(folder.glob(pattern)):
            for name, text in keyed(transcript):
                path = transcript.parent / f"{name}.flac"
                yield Clip(name, path, "read", "en", text, 0.0, doubtful=False)
