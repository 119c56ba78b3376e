"""Corpora: a folder with `manifest.jsonl`, and which of its clips are used."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from as2d.errors import InputError

MANIFEST = "manifest.jsonl"

NO_OWN_SPEECH = frozenset({"format", "noise", "silence", "singing"})
"""Kinds that are no speech, or the speech of another clip in another file format: used only where named."""

_DOUBTS = ("flag", "reference_quality", "reference_approx", "likely_synthetic")
"""Fields that are reasons to leave a clip out of an accuracy figure."""
_NEEDED = ("id", "path", "kind")


@dataclass(frozen=True, slots=True)
class Clip:
    """One recording. `language` and `reference` are empty and `duration_s` is 0 where the manifest does not know.

    `doubtful` says that the reference may not be what is spoken.
    """

    name: str
    path: Path
    kind: str
    language: str
    reference: str
    duration_s: float
    doubtful: bool


class Skipped(NamedTuple):
    """A clip that cannot be used, and why."""

    clip: Clip
    reason: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """The usable clips of a manifest in its order, and those left out: `skipped`, and `duplicates` of others.

    `digest` tells apart what is heard: the first digits of a SHA-256 over names, languages and contents.
    """

    clips: tuple[Clip, ...]
    digest: str
    skipped: tuple[Skipped, ...]
    duplicates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which clips: of these kinds and languages (None: all that have speech of their own), at most `limit`."""

    kinds: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None
    limit: int | None = None
    seed: int = 0


def read_manifest(folder: Path) -> list[Clip]:
    """All clips that the manifest names, whether or not their files exist.

    Each line is an object with the texts `id`, `path` and `kind`, and, as far as known, `language`, `reference` and
    `duration_s`. InputError, with the number of the line, when that is not so or two have one id.
    """
    manifest = folder / MANIFEST
    try:
        lines = manifest.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(
            f"cannot read {manifest} ({error.strerror}); name a folder that holds one"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{manifest} is not UTF-8 ({error}); save it as UTF-8") from error
    clips = [
        _parse(line, folder, f"{manifest}, line {number}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    _require_different_names(clips, manifest)
    return clips


def read_corpus(folder: Path) -> Corpus:
    """The manifest's clips whose files can be read, of equal files only the first. Raises as `read_manifest`."""
    clips = read_manifest(folder)
    contents = {clip.name: _content_digest(clip.path) for clip in clips}
    first: dict[str, Clip] = {}
    skipped, duplicates = [], []
    for clip in clips:
        content = contents[clip.name]
        if isinstance(content, OSError):
            skipped.append(Skipped(clip, f"{clip.path} cannot be read ({content.strerror})"))
        elif first.setdefault(content, clip) is not clip:
            duplicates.append(clip.name)
    return Corpus(tuple(first.values()), _digest(clips, contents), tuple(skipped), tuple(duplicates))


def select(clips: Iterable[Clip], known: Collection[str], selection: Selection) -> list[Clip]:
    """The chosen clips in languages that are `known`, or not stated; in a random order that mixes the kinds.

    Of the first n clips each kind has about its share of the whole. InputError when nothing is left.
    """
    chosen = [clip for clip in clips if is_wanted(clip, known, selection)]
    if not chosen:
        raise InputError(
            f"no clip is of the kinds {_listed(selection.kinds)} and in the languages "
            f"{_listed(selection.languages)} (of those that the model has); ask for others"
        )
    return _mixed(chosen, selection.seed)[: selection.limit]


def is_wanted(clip: Clip, known: Collection[str], selection: Selection) -> bool:
    """Whether a clip is of the kinds and languages asked for, and in one that is `known` or not stated."""
    kinds, languages = selection.kinds, selection.languages
    right_kind = clip.kind not in NO_OWN_SPEECH if kinds is None else clip.kind in kinds
    possible = not clip.language or clip.language in known
    return right_kind and possible and (languages is None or clip.language in languages)


def _parse(line: str, folder: Path, place: str) -> Clip:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise InputError(f"{place} is not JSON ({error}); correct or remove the line") from error
    if not isinstance(fields, dict):
        raise InputError(f"{place} is no JSON object; each line describes one clip")
    for field in _NEEDED:
        if not isinstance(fields.get(field), str) or not fields[field]:
            raise InputError(f"{place} needs the text {field!r}; each clip has {', '.join(_NEEDED)}")
    duration = fields.get("duration_s") or 0.0
    if not isinstance(duration, int | float):
        raise InputError(f"{place} has a 'duration_s' that is no number; correct it or leave it out")
    return Clip(
        name=fields["id"],
        path=folder / fields["path"],
        kind=fields["kind"],
        language=_known_language(_text(fields, "language", place)),
        reference=_text(fields, "reference", place),
        duration_s=float(duration),
        doubtful=any(fields.get(doubt) for doubt in _DOUBTS),
    )


def _text(fields: Mapping[str, Any], field: str, place: str) -> str:
    value = fields.get(field)
    if not isinstance(value, str | None):
        raise InputError(
            f"{place} has a {field!r} that is no text; correct it, or null where it is not known"
        )
    return value or ""


def _known_language(language: str) -> str:
    return "" if language == "none" else language


def _require_different_names(clips: Sequence[Clip], manifest: Path) -> None:
    counts = Counter(clip.name for clip in clips)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise InputError(
            f"{manifest} names {', '.join(twice)} more than once; give each clip an id of its own"
        )


def _content_digest(path: Path) -> str | OSError:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return error


def _digest(clips: Iterable[Clip], contents: Mapping[str, str | OSError]) -> str:
    digest = hashlib.sha256()
    for clip in sorted(clips, key=lambda clip: clip.name):
        content = contents[clip.name]
        heard = None if isinstance(content, OSError) else content
        digest.update(json.dumps([clip.name, clip.kind, clip.language, heard]).encode())
    return digest.hexdigest()[:16]


def _mixed(clips: Sequence[Clip], seed: int) -> list[Clip]:
    """Each kind shuffled and spread evenly over the whole."""

    def shuffled(clip: Clip) -> bytes:
        return hashlib.sha256(f"{seed} {clip.name}".encode()).digest()

    kinds: dict[str, list[Clip]] = {}
    for clip in sorted(clips, key=shuffled):
        kinds.setdefault(clip.kind, []).append(clip)
    places = [
        ((rank + 0.5) / len(members), shuffled(clip), clip)
        for members in kinds.values()
        for rank, clip in enumerate(members)
    ]
    return [clip for _, _, clip in sorted(places, key=lambda place: place[:2])]


def _listed(names: Iterable[str] | None) -> str:
    return "all" if names is None else ", ".join(names)
