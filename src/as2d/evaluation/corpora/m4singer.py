"""M4Singer (Mandarin songs): meta.json, and the phrases of each song as SINGER#SONG/NNNN.wav."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from as2d.errors import InputError
from as2d.evaluation.corpora.clip import Clip
from as2d.evaluation.corpora.text_files import read_json

_META = "meta.json"
KIND = "song"
"""Not "singing", which is left out of a bench unless it is named: this corpus has nothing else."""


def recognises(folder: Path) -> bool:
    """Whether there are songs of singers and what tells about them."""
    return (folder / _META).is_file() and next(folder.glob("*#*"), None) is not None


def read(folder: Path) -> Iterator[Clip]:
    """All phrases, named SINGER/SONG/NNNN. InputError when meta.json is not M4Singer's."""
    entries = read_json(folder / _META)
    if not isinstance(entries, list):
        raise InputError(f"{folder / _META} is no list of phrases; download the file again")
    for number, entry in enumerate(entries):
        yield _phrase(folder, number, entry)


def _phrase(folder: Path, number: int, entry: Any) -> Clip:
    try:
        singer, song, phrase = entry["item_name"].split("#")
        text, durations = entry["txt"], [float(duration) for duration in entry.get("ph_dur", ())]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{folder / _META}, entry {number} is no phrase with item_name and txt ({error}); download the file again"
        ) from error
    path = folder / f"{singer}#{song}" / f"{phrase}.wav"
    return Clip(f"{singer}/{song}/{phrase}", path, KIND, "zh", text, sum(durations), doubtful=False)
