"""FLEURS (read, many languages): LANGUAGE/SPLIT.tsv, and its recordings in LANGUAGE/audio/SPLIT or LANGUAGE/SPLIT.

The columns are id, file name, transcription as it was written, transcription without punctuation, its characters,
samples at 16 kHz, gender. An id is one sentence in every language, so that a language beside another translates it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from as2d.errors import InputError
from as2d.evaluation.corpora.clip import Clip
from as2d.evaluation.corpora.languages import language_of
from as2d.evaluation.corpora.text_files import table
from as2d.records import SAMPLE_RATE

_SPLITS = ("train", "dev", "test")
_COLUMNS = 7

Sentences = Mapping[str, Mapping[str, str]]
"""The text of each sentence by id and language."""


def recognises(folder: Path) -> bool:
    """Whether there is a language with a table; the folder may be that of one language."""
    return bool(_tables(folder))


def read(folder: Path) -> Iterator[Clip]:
    """The recordings of all languages and splits, in order, each with its sentence in all languages, its own too."""
    tables = _tables(folder)
    sentences = _sentences(tables)
    for path in tables:
        yield from _recordings(path, sentences)


def _tables(folder: Path) -> list[Path]:
    """The tables whose recordings may be beside them, in order."""
    candidates = [
        path
        for split in _SPLITS
        for pattern in (f"{split}.tsv", f"*/{split}.tsv", f"data/*/{split}.tsv")
        for path in folder.glob(pattern)
    ]
    return sorted(path for path in candidates if _looks_like_fleurs(path))


def _looks_like_fleurs(path: Path) -> bool:
    """Whether the first line has the seven columns, the first and sixth of which are numbers."""
    try:
        with path.open(encoding="utf-8") as file:
            cells = file.readline().rstrip("\n").split("\t")
    except (OSError, UnicodeDecodeError):
        return False
    return len(cells) == _COLUMNS and cells[0].isdigit() and cells[5].isdigit()


def _sentences(tables: list[Path]) -> Sentences:
    sentences: dict[str, dict[str, str]] = defaultdict(dict)
    for path in tables:
        language = _language(path)
        for cells in table(path, _COLUMNS):
            sentences[cells[0]][language] = cells[2]
    return sentences


def _recordings(path: Path, sentences: Sentences) -> Iterator[Clip]:
    audio, language = _audio_folder(path), _language(path)
    for number, (sentence, file, written, _, _, samples, *_) in enumerate(table(path, _COLUMNS), 1):
        if not samples.isdigit():
            raise InputError(f"{path}, line {number} has no number of samples; download the file again")
        yield Clip(
            name=f"{path.parent.resolve().name}/{path.stem}/{Path(file).stem}",
            path=audio / file,
            kind="read",
            language=language,
            reference=written,
            duration_s=int(samples) / SAMPLE_RATE,
            doubtful=False,
            translations=sentences[sentence],
        )


def _audio_folder(path: Path) -> Path:
    unpacked = path.parent / path.stem
    return unpacked if unpacked.is_dir() else path.parent / "audio" / path.stem


def _language(path: Path) -> str:
    return language_of(path.parent.resolve().name)
