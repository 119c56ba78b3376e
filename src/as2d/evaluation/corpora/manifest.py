"""A corpus of one's own: a folder with `manifest.jsonl`, a JSON object a line for each clip."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from as2d.errors import InputError
from as2d.evaluation.corpora.clip import Clip

MANIFEST = "manifest.jsonl"

_DOUBTS = ("flag", "reference_quality", "reference_approx", "likely_synthetic")
"""Fields that are reasons to leave a clip out of an accuracy figure."""
_NEEDED = ("id", "path", "kind")


def read_manifest(folder: Path) -> list[Clip]:
    """All clips that the manifest names, whether or not their files exist.

    Each line is an object with the texts `id`, `path` and `kind`, and, as far as known, `language`, `reference`,
    `duration_s`, `translations` (texts by language), `question` and `answers` (texts, any of which is right).
    InputError, with the number of the line, when that is not so or two have one id.
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


def _parse(line: str, folder: Path, place: str) -> Clip:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not JSON ({error}); correct or remove the line") from error
    if not isinstance(fields, dict):
        raise InputError(f"{place} is no JSON object; each line describes one clip")
    for field in _NEEDED:
        if not isinstance(fields.get(field), str) or not fields[field]:
            raise InputError(f"{place} needs the text {field!r}; each clip has {', '.join(_NEEDED)}")
    duration = fields.get("duration_s") or 0.0
    if not (isinstance(duration, int | float) and 0 <= duration < math.inf):
        raise InputError(f"{place} has a 'duration_s' that is no number; correct it or leave it out")
    return Clip(
        name=fields["id"],
        path=folder / fields["path"],
        kind=fields["kind"],
        language=_known_language(_text(fields, "language", place)),
        reference=_text(fields, "reference", place),
        duration_s=float(duration),
        doubtful=any(fields.get(doubt) for doubt in _DOUBTS),
        translations=_translations(fields, place),
        question=_text(fields, "question", place) or None,
        answers=_answers(fields, place),
    )


def _text(fields: Mapping[str, Any], field: str, place: str) -> str:
    value = fields.get(field)
    if not isinstance(value, str | None):
        raise InputError(
            f"{place} has a {field!r} that is no text; correct it, or null where it is not known"
        )
    return value or ""


def _translations(fields: Mapping[str, Any], place: str) -> dict[str, str]:
    value = fields.get("translations") or {}
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise InputError(
            f"{place} has 'translations' that are no texts by language; write them as in docs/corpora.md"
        )
    return value


def _answers(fields: Mapping[str, Any], place: str) -> tuple[str, ...]:
    value = fields.get("answers") or []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(f"{place} has 'answers' that are no list of texts; write them as in docs/corpora.md")
    return tuple(value)


def _known_language(language: str) -> str:
    return "" if language == "none" else language


def _require_different_names(clips: Sequence[Clip], manifest: Path) -> None:
    counts = Counter(clip.name for clip in clips)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise InputError(
            f"{manifest} names {', '.join(twice)} more than once; give each clip an id of its own"
        )
