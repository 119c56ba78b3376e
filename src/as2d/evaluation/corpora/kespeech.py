"""KeSpeech (Mandarin and its subdialects, read): Tasks/ASR/PART/wav.scp and text; paths are relative to the corpus."""

from collections.abc import Iterator
from pathlib import Path

from as2d.errors import InputError
from as2d.evaluation.corpora.clip import Clip
from as2d.evaluation.corpora.text_files import keyed

_PARTS = "Tasks/ASR/*/wav.scp"
_NOISE = "<SPOKEN_NOISE>"


def recognises(folder: Path) -> bool:
    """Whether there is a part of the recognition task."""
    return next(folder.glob(_PARTS), None) is not None


def read(folder: Path) -> Iterator[Clip]:
    """The utterances of all parts, named PART/UTTERANCE. InputError for a part without its texts."""
    for recordings in sorted(folder.glob(_PARTS)):
        part = recordings.parent
        if not (part / "text").is_file():
            raise InputError(f"{part} has no file text with what is said; copy the whole folder Tasks")
        texts = dict(keyed(part / "text"))
        for name, path in keyed(recordings):
            reference = texts.get(name, "").replace(_NOISE, "").strip()
            yield Clip(f"{part.name}/{name}", folder / path, "read", "zh", reference, 0.0, doubtful=False)
