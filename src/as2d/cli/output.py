"""Where transcripts go: standard output, or one file each in a folder."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Protocol

from as2d.errors import As2dError


class OutputError(As2dError, OSError):
    """A transcript cannot be written."""


@dataclass(frozen=True, slots=True)
class Sink:
    """Takes the transcript of one file, piece by piece; `path` is where it will be, None on standard output."""

    write: Callable[[str], None]
    path: Path | None = None


class Output(Protocol):
    """Where the transcripts of a run go."""

    def open(self, file: str) -> AbstractContextManager[Sink]:
        """A place for the transcript of `file`. Writing, or leaving the context, raises OutputError."""


class StandardOutput:
    """All transcripts one after the other, each piece at once, with `separator` between those of two files."""

    def __init__(self, separator: str) -> None:
        self._separator = separator
        self._before = ""
        self._used = False

    @contextmanager
    def open(self, file: str) -> Iterator[Sink]:  # noqa: ARG002 -- the protocol's
        """A place behind what was written so far."""
        self._before = self._separator if self._used else ""
        yield Sink(self._write)

    def _write(self, text: str) -> None:
        if text:
            _to_stdout(self._before + text)
            self._before, self._used = "", True


class FolderOutput:
    """One file each in `folder`, named after the input; it appears once it is complete.

    Two inputs of one stem get two files (`name.txt`, `name-2.txt`), and no input is ever written over.
    """

    def __init__(self, folder: Path, suffix: str, inputs: Sequence[str]) -> None:
        """Makes the folder. Raises OutputError when nothing can be written there."""
        self._folder = folder
        self._suffix = suffix
        self._inputs = [Path(file) for file in inputs]
        self._taken: set[Path] = set()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(folder, error) from error
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError(f"{folder} may not be written to; choose another --output-dir")

    @contextmanager
    def open(self, file: str) -> Iterator[Sink]:
        """A file that replaces one of an earlier run when the context is left without an error."""
        path = self._reserve("stdin" if file == "-" else Path(file).stem)
        pieces: list[str] = []
        yield Sink(pieces.append, path)
        _replace(path, "".join(pieces))

    def _reserve(self, stem: str) -> Path:
        names = (f"{stem}{'' if number == 1 else f'-{number}'}.{self._suffix}" for number in count(1))
        path = next(path for path in map(self._folder.joinpath, names) if self._is_free(path))
        self._taken.add(path)
        return path

    def _is_free(self, path: Path) -> bool:
        return path not in self._taken and not any(_is_same(path, known) for known in self._inputs)


def discard_stdout() -> None:
    """Send what is still buffered for standard output nowhere: the interpreter's exit must not fail on it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _to_stdout(text: str) -> None:
    """Write UTF-8, whatever the locale, and at once. A broken pipe passes through."""
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_stdout()
        raise OutputError(f"standard output cannot be written ({error.strerror}); free some space") from error


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise _unwritable(path, error) from error


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist
        return False


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{path} cannot be written ({error.strerror}); choose another --output-dir")
