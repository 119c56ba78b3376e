"""The text files that official corpora come with, read line by line; what is wrong with one names it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from as2d.errors import InputError


def lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file that are not blank, without their ends. InputError where it cannot be read."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                if text := line.rstrip("\r\n"):
                    yield text
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def keyed(path: Path) -> Iterator[tuple[str, str]]:
    """Lines such as "name the rest of it", as name and rest; the rest may be empty."""
    for line in lines(path):
        if parts := line.split(maxsplit=1):
            yield parts[0], parts[1].strip() if len(parts) > 1 else ""


def table(path: Path, columns: int) -> Iterator[list[str]]:
    """The cells of a table separated by tabs, whose lines have at least so many. InputError for a line with fewer."""
    for number, line in enumerate(lines(path), 1):
        cells = line.split("\t")
        if len(cells) < columns:
            raise InputError(
                f"{path}, line {number} has {len(cells)} columns in place of {columns}; download the file again"
            )
        yield cells


def read_json(path: Path) -> Any:
    """What a JSON file holds. InputError where it cannot be read or is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path} cannot be read ({error}); download the file again")
