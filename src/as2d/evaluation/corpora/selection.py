"""Which clips of a corpus are used, and in which order. Pure."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from as2d.errors import InputError
from as2d.evaluation.corpora.clip import Clip

NO_OWN_SPEECH = frozenset({"format", "noise", "silence", "singing"})
"""Kinds that are no speech, or the speech of another clip in another file format: used only where named."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which clips: of these kinds and languages (None: all that have speech of their own), at most `limit`."""

    kinds: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None
    limit: int | None = None
    seed: int = 0


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
