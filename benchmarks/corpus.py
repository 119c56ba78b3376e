"""The development corpus: its clips, and which of them a benchmark uses."""

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_DOUBTS = ("flag", "reference_quality", "reference_approx", "likely_synthetic")
"""Fields of the manifest that are reasons to leave a clip out of an accuracy figure."""
_SPOKEN = frozenset({"read", "meeting", "phone", "question", "long", "other-lang", "zh"})
"""Kinds of clips that are speech and not another clip in another file format."""


@dataclass(frozen=True, slots=True)
class Clip:
    """One recording. `duration_s` is 0 and `language` empty where the manifest does not know."""

    name: str
    path: Path
    kind: str
    language: str
    duration_s: float
    reference: str
    doubtful: bool


def corpus_folder() -> Path:
    """The folder that `AS2D_CORPUS` names; ends the program when there is none."""
    folder = os.environ.get("AS2D_CORPUS", "")
    if not folder or not (Path(folder) / "manifest.jsonl").is_file():
        sys.exit("set AS2D_CORPUS to the folder of the development corpus (it holds manifest.jsonl)")
    return Path(folder)


def read_clips(folder: Path) -> list[Clip]:
    """All clips, in the manifest's order."""
    lines = (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    return [parse_clip(line, folder) for line in lines]


def parse_clip(line: str, folder: Path) -> Clip:
    """The clip that a line of the manifest describes."""
    fields = json.loads(line)
    return Clip(
        name=fields["id"],
        path=folder / fields["path"],
        kind=fields["kind"],
        language=fields.get("language") or "",
        duration_s=fields.get("duration_s") or 0.0,
        reference=fields.get("reference") or "",
        doubtful=any(fields.get(doubt) for doubt in _DOUBTS),
    )


def spoken_clips(clips: Iterable[Clip], languages: Iterable[str]) -> list[Clip]:
    """The clips of speech in these languages, in an order that is fixed and mixes kinds and speakers."""
    known = frozenset(languages)
    chosen = (clip for clip in clips if clip.kind in _SPOKEN and clip.language in known)
    return sorted(chosen, key=lambda clip: hashlib.sha256(clip.name.encode()).digest())


def referenced_clips(clips: Iterable[Clip]) -> list[Clip]:
    """The English read clips whose reference is beyond doubt."""
    return [
        clip
        for clip in clips
        if clip.kind == "read" and clip.language == "en" and clip.reference and not clip.doubtful
    ]


def corpus_digest(folder: Path) -> str:
    """The first digits of a SHA-256 over the names and contents of all files in the corpus."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:16]
