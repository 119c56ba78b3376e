"""What a corpus is made of: clips, and which of them can be used."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Piece(NamedTuple):
    """A stretch of a recording in seconds; `end_s` is None at the recording's end."""

    path: Path
    start_s: float = 0.0
    end_s: float | None = None


@dataclass(frozen=True, slots=True)
class Clip:
    """One recording. `language` and `reference` are empty and `duration_s` is 0 where the corpus does not know.

    `doubtful` says that the reference may not be what is spoken. `translations` are of what is spoken, by language.
    `question` is asked about it, and any of `answers` is right. A clip with `pieces` is cut out of
    recordings and joined from them in order, see `as_file`; `path` is then the first of these recordings.
    """

    name: str
    path: Path
    kind: str
    language: str
    reference: str
    duration_s: float
    doubtful: bool
    translations: Mapping[str, str] = field(default_factory=dict, hash=False)
    question: str | None = None
    answers: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = ()


class Skipped(NamedTuple):
    """A clip that cannot be used, and why."""

    clip: Clip
    reason: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """The usable clips of a corpus in its order, and those left out: `skipped`, and `duplicates` of others.

    `digest` tells apart what is heard: the first digits of a SHA-256 over names, languages and contents; of official
    corpora, sizes instead of contents.
    """

    clips: tuple[Clip, ...]
    digest: str
    skipped: tuple[Skipped, ...]
    duplicates: tuple[str, ...]
