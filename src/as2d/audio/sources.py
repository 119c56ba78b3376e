"""Anything that audio may come from, opened as a binary file that can seek."""

import io
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO, cast

from as2d.errors import AudioError

FileInput = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO

_SPOOL_BYTES = 32 << 20


def source_name(source: FileInput) -> str:
    """What messages call the source: its path, or what kind of thing it is."""
    if _is_stdin(source):
        return "standard input"
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return (
        "the audio bytes" if isinstance(source, bytes | bytearray | memoryview) else "the audio file object"
    )


def open_source(source: FileInput, closing: ExitStack) -> BinaryIO:
    """A seekable file at its start, with at least one byte. Raises AudioError.

    What is opened here is closed by `closing`; a file object of the caller is not.
    """
    _check_kind(source)
    file = _seekable(_opened(source, closing), source, closing)
    try:
        file.seek(0)
        empty = not file.read(1)
        file.seek(0)
    except OSError as error:
        raise _unreadable(source, error) from error
    if empty:
        raise AudioError(f"{source_name(source)} is empty; give a file that holds audio")
    return file


def _opened(source: FileInput, closing: ExitStack) -> BinaryIO:
    if _is_stdin(source):
        return sys.stdin.buffer
    if isinstance(source, bytes | bytearray | memoryview):
        return io.BytesIO(source)
    if isinstance(source, str | os.PathLike):
        return closing.enter_context(_open_path(source))
    return source


def _is_stdin(source: FileInput) -> bool:
    return isinstance(source, str | os.PathLike) and os.fspath(source) == "-"


def _check_kind(source: object) -> None:
    known = isinstance(source, str | os.PathLike | bytes | bytearray | memoryview) or hasattr(source, "read")
    if not known or isinstance(source, io.TextIOBase):
        kind = type(source).__name__
        raise AudioError(
            f"audio cannot be read from {kind}; give a path, bytes, a binary file or (array, rate)"
        )


def _open_path(path: str | os.PathLike[str]) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except FileNotFoundError as error:
        raise AudioError(f"{path} does not exist; check the path") from error
    except IsADirectoryError as error:
        raise AudioError(f"{path} is a folder; give the files in it one by one") from error
    except PermissionError as error:
        raise AudioError(f"{path} may not be read; change its permissions") from error
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(source: FileInput, error: Exception) -> AudioError:
    return AudioError(f"{source_name(source)} cannot be read ({error}); check the file")


def _seekable(file: BinaryIO, source: FileInput, closing: ExitStack) -> BinaryIO:
    """`file`, or a temporary copy where it cannot seek: some containers keep their index at the end."""
    if hasattr(file, "seekable") and file.seekable():
        return file
    copy = closing.enter_context(tempfile.SpooledTemporaryFile(_SPOOL_BYTES))  # noqa: SIM115 -- closed by `closing`
    try:
        copyfileobj(file, copy)
    except (OSError, TypeError) as error:
        raise _unreadable(source, error) from error
    return cast(BinaryIO, copy)
