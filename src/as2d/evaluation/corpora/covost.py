"""CoVoST 2 (read, translated): covost_v2.SOURCE_TARGET.SPLIT.tsv and the clips of Common Voice.

The tables are those that CoVoST's own script writes: path, sentence, translation, client_id. The clips are in the
folder `clips` beside them, or in SOURCE/clips.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from as2d.errors import InputError
from as2d.evaluation.corpora.clip import Clip
from as2d.evaluation.corpora.languages import language_of
from as2d.evaluation.corpora.text_files import lines

_TABLE = re.compile(r"covost_v2\.([^_]+)_([^.]+)\.(train|dev|test)\.tsv")
_TABLES = ("covost_v2.*.tsv", "*/covost_v2.*.tsv")
_COLUMNS = ("path", "sentence", "translation")


def recognises(folder: Path) -> bool:
    """Whether there is a table, whole or already split."""
    return any(next(folder.glob(pattern), None) for pattern in _TABLES)


def read(folder: Path) -> Iterator[Clip]:
    """Each recording once, with its translations into all languages that the folder has.

    InputError for tables that are not split yet, or without recordings.
    """
    groups = _groups(folder)
    if not groups:
        raise InputError(
            f"{folder} has only CoVoST tables that are not split; run CoVoST's get_covost_splits.py on Common Voice's "
            "validated.tsv"
        )
    for (parent, source, split), tables in sorted(groups.items()):
        yield from _recordings(_clips_folder(parent, source), source, split, tables)


def _groups(folder: Path) -> dict[tuple[Path, str, str], dict[str, Path]]:
    """The tables of each source and split, by target language."""
    groups: dict[tuple[Path, str, str], dict[str, Path]] = defaultdict(dict)
    for pattern in _TABLES:
        for path in sorted(folder.glob(pattern)):
            if match := _TABLE.fullmatch(path.name):
                source, target, split = match.groups()
                groups[path.parent, source, split][language_of(target)] = path
    return groups


def _clips_folder(parent: Path, source: str) -> Path:
    for candidate in (parent / "clips", parent / source / "clips"):
        if candidate.is_dir():
            return candidate
    raise InputError(
        f"{parent} has CoVoST tables but no folder clips or {source}/clips; put the clips of Common Voice there"
    )


def _recordings(clips: Path, source: str, split: str, tables: Mapping[str, Path]) -> Iterator[Clip]:
    """The rows of the first table that names a recording; the others add their translations."""
    translations: dict[str, dict[str, str]] = defaultdict(dict)
    sentences: dict[str, str] = {}
    for target, table in tables.items():
        for row in _rows(table):
            translations[row["path"]][target] = row["translation"]
            sentences.setdefault(row["path"], row["sentence"])
    for file, sentence in sentences.items():
        yield Clip(
            name=f"{source}/{split}/{Path(file).stem}",
            path=clips / file,
            kind="read",
            language=language_of(source),
            reference=sentence,
            duration_s=0.0,
            doubtful=False,
            translations=translations[file],
        )


def _rows(path: Path) -> Iterator[dict[str, str]]:
    reader = csv.DictReader(lines(path), delimiter="\t", quoting=csv.QUOTE_NONE, escapechar="\\")
    for number, row in enumerate(reader, 2):
        if any(row.get(column) is None for column in _COLUMNS):
            raise InputError(
                f"{path}, line {number} lacks one of {', '.join(_COLUMNS)}; write the table again with "
                "get_covost_splits.py"
            )
        yield row
