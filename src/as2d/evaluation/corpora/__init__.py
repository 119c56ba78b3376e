"""Corpora: a folder with a manifest or of an official layout, and which of its clips are used."""

from as2d.evaluation.corpora.asking import Asking, asked_clips, task_of, task_options
from as2d.evaluation.corpora.clip import Clip, Corpus, Piece, Skipped
from as2d.evaluation.corpora.cutting import as_file, open_clip
from as2d.evaluation.corpora.manifest import MANIFEST, read_manifest
from as2d.evaluation.corpora.read import read_corpus, read_speech
from as2d.evaluation.corpora.selection import NO_OWN_SPEECH, Selection, is_wanted, select

__all__ = [
    "MANIFEST",
    "NO_OWN_SPEECH",
    "Asking",
    "Clip",
    "Corpus",
    "Piece",
    "Selection",
    "Skipped",
    "as_file",
    "asked_clips",
    "is_wanted",
    "open_clip",
    "read_corpus",
    "read_manifest",
    "read_speech",
    "select",
    "task_of",
    "task_options",
]
