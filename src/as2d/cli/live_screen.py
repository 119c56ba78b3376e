"""How the texts of `as2d live` are shown: on a terminal, in a pipe, or for programs."""

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from os import terminal_size
from shutil import get_terminal_size
from types import TracebackType
from typing import Literal, Protocol, Self

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from as2d.session.live_text import LiveEvent

LiveFormat = Literal["txt", "jsonl"]
Write = Callable[[str], None]

_DIM, _PLAIN = "\x1b[2m", "\x1b[22m"


class Screen(Protocol):
    """Shows texts as they come."""

    def show(self, event: LiveEvent) -> None:
        """One text."""


def screen_for(output_format: LiveFormat, write: Write) -> AbstractContextManager[Screen]:
    """What shows texts on standard output, by `write`; a context at whose end nothing tentative is left."""
    if output_format == "jsonl":
        return nullcontext(EventLines(write))
    if sys.stdout.isatty() and not Console().is_dumb_terminal:
        return TerminalScreen(write, get_terminal_size)
    return nullcontext(StableLines(write))


class EventLines:
    """An object a line for every text."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def show(self, event: LiveEvent) -> None:
        """The object; `type` is stable or tentative."""
        fields = {
            "type": event.kind,
            "window": event.window,
            "start_s": event.start_s,
            "end_s": event.end_s,
            "text": event.text,
            "tokens": event.tokens,
            "language": event.language,
            "finish_reason": event.finish_reason,
            "lag_ms": event.lag_ms,
        }
        self._write(json.dumps(fields, ensure_ascii=False) + "\n")


class StableLines:
    """A line for every stable text that is not empty."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def show(self, event: LiveEvent) -> None:
        """The line, if it is one."""
        if event.kind == "stable" and (line := one_line(event.text)):
            self._write(line + "\n")


class TerminalScreen:
    """Stable texts a line each, and below them, dimmed, the tentative ones, which are replaced in place.

    Tentative text is broken here into rows that fit, since only then it is known how many to go up; of more rows than
    the terminal has, the last ones are shown.
    """

    def __init__(self, write: Write, size: Callable[[], terminal_size]) -> None:
        self._write = write
        self._size = size
        self._tentative: dict[int, str] = {}
        self._rows: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rows:
            self._write(self._erasure())

    def show(self, event: LiveEvent) -> None:
        """The text in the place of the tentative one of its window."""
        erasure, line = self._erasure(), one_line(event.text)
        if event.kind == "tentative":
            self._tentative[event.window] = line
            stable = ""
        else:
            self._tentative.pop(event.window, None)
            stable = line + "\n" if line else ""
        columns, lines = self._size()
        texts = [self._tentative[window] for window in sorted(self._tentative)]
        self._rows = [row for text in texts for row in broken(text, columns - 1)][1 - max(lines, 2) :]
        below = _DIM + "\n".join(self._rows) + _PLAIN if self._rows else ""
        self._write(erasure + stable + below)

    def _erasure(self) -> str:
        """What removes the rows; if the terminal has become narrower, each takes several of its lines."""
        if not self._rows:
            return ""
        columns = max(self._size().columns, 1)
        lines = sum(max(1, -(-cell_len(row) // columns)) for row in self._rows)
        return (f"\x1b[{lines - 1}A" if lines > 1 else "") + "\r\x1b[J"


def one_line(text: str) -> str:
    """The text without what would break its line, or steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


def broken(text: str, width: int) -> list[str]:
    """The text in rows of at most `width` cells, where East Asian characters take two; none for no text."""
    console = Console(width=max(width, 2), color_system=None)
    return [row.plain.rstrip() for row in Text(text).wrap(console, max(width, 2))] if text else []
