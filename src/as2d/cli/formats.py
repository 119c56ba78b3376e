"""Transcripts as text: pure, and each piece as early as it is known."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from html import escape
from types import MappingProxyType
from typing import Literal, Protocol

from as2d.cli.report import printable
from as2d.records import Event, Result

Format = Literal["txt", "srt", "vtt", "json", "jsonl"]


class Writer(Protocol):
    """Turns what happens to one file into the text of its transcript."""

    def event(self, event: Event, /) -> str:
        """The text to write at a commit."""

    def result(self, result: Result, /) -> str:
        """The text to write at the end."""


class _AtEnd:
    """A format that is written once everything is known."""

    def event(self, _event: Event, /) -> str:
        return ""


class TxtWriter:
    """A line a window with speech, as soon as the window is decoded; nothing where there is no speech."""

    def __init__(self) -> None:
        self._window = ""

    def event(self, event: Event, /) -> str:
        """The window's line at its last commit."""
        self._window += event.text
        if event.finish_reason is None:
            return ""
        line, self._window = _one_line(self._window), ""
        return line + "\n" if line else ""

    def result(self, _result: Result, /) -> str:
        """Nothing: all windows are written."""
        return ""


class SrtWriter(_AtEnd):
    """SubRip: a numbered cue a window with speech."""

    def result(self, result: Result, /) -> str:
        """All cues; an empty text where there is no speech."""
        cues = _cues(result, ",")
        return "\n".join(f"{number}\n{times}\n{text}\n" for number, (times, text) in enumerate(cues, 1))


class VttWriter(_AtEnd):
    """WebVTT: a cue a window with speech."""

    def result(self, result: Result, /) -> str:
        """The header and all cues; `&`, `<` and `>` are escaped, so no text reads as a tag or an arrow."""
        cues = (f"{times}\n{escape(text, quote=False)}\n" for times, text in _cues(result, "."))
        return "\n".join(("WEBVTT\n", *cues))


class JsonWriter(_AtEnd):
    """One object on one line: the fields of `Result` but its sources and configuration, and the file."""

    def __init__(self, file: str) -> None:
        self._file = printable(file)

    def result(self, result: Result, /) -> str:
        """The object."""
        return _json_line({"file": self._file} | _fields(result))


class JsonLinesWriter:
    """One object a commit as it happens, and then the object of the whole file; `type` tells them apart."""

    def __init__(self, file: str) -> None:
        self._file = printable(file)

    def event(self, event: Event, /) -> str:
        """A commit. `tokens` include the end id of a window, which is no part of the result's tokens."""
        return _json_line(
            {
                "type": "commit",
                "file": self._file,
                "window": event.window,
                "tokens": event.tokens,
                "origins": event.origins,
                "proposed": event.proposed,
                "accepted": event.accepted,
                "finish_reason": event.finish_reason,
                "end_s": event.end_s,
                "at_ms": event.at_ms,
                "text": event.text,
            }
        )

    def result(self, result: Result, /) -> str:
        """The whole result."""
        return _json_line({"type": "result", "file": self._file} | _fields(result))


WRITERS: Mapping[Format, Callable[[str], Writer]] = MappingProxyType(
    {
        "txt": lambda _file: TxtWriter(),
        "srt": lambda _file: SrtWriter(),
        "vtt": lambda _file: VttWriter(),
        "json": JsonWriter,
        "jsonl": JsonLinesWriter,
    }
)
"""Makes the writer of a format for a file."""


def timestamp(seconds: float, point: str) -> str:
    """HH:MM:SS and milliseconds, rounded, behind `point`."""
    minutes, milliseconds = divmod(round(seconds * 1000), 60_000)
    whole, fraction = divmod(milliseconds, 1000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{whole:02}{point}{fraction:03}"


def _cues(result: Result, point: str) -> Iterator[tuple[str, str]]:
    for segment in result.segments:
        if text := _one_line(segment.text):
            yield f"{timestamp(segment.start_s, point)} --> {timestamp(segment.end_s, point)}", text


def _one_line(text: str) -> str:
    """A line break in a text would end its line or cue."""
    return " ".join(text.splitlines()).strip()


def _fields(result: Result) -> dict[str, object]:
    """What is documented; which drafters there are and what was tuned depends on the machine."""
    fields = asdict(result)
    for name in ("sources", "configuration", "timing", "view"):
        del fields[name]
    return fields


def _json_line(fields: dict[str, object]) -> str:
    return json.dumps(fields, ensure_ascii=False) + "\n"
