"""A progress bar on stderr for audio of more than one window."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import av
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from as2d.audio import MAX_SAMPLES
from as2d.records import SAMPLE_RATE, Event

_WINDOW_S = MAX_SAMPLES / SAMPLE_RATE
_NAME_WIDTH = 30


def can_be_seen(*, writes_every_commit: bool) -> bool:
    """Whether a bar can be seen: on a terminal that nothing else scrolls all the time."""
    shared = sys.stdout.isatty() and writes_every_commit
    return sys.stderr.isatty() and Console(stderr=True).is_interactive and not shared


class ProgressBar:
    """How far one file is decoded; nothing is shown while it may fit one window.

    Where the length is not known the bar only moves, and the position is shown.
    """

    def __init__(self, file: str, *, visible: bool) -> None:
        self._visible = visible
        self._length = _stated_length(file) if visible else None
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[position]}"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task(
            Path(file).name[-_NAME_WIDTH:], total=self._length, position=self._position(0.0), speed=""
        )
        self._shown = False

    def __enter__(self) -> Self:
        if self._length is not None and self._length > _WINDOW_S:
            self._show()
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._progress.stop()

    def update(self, event: Event) -> None:
        """Move to the end of a window once it is decoded."""
        if event.window > 0:
            self._show()
        if event.finish_reason is not None:
            speed = f"RTFx {1000 * event.end_s / event.at_ms:.0f}"
            position = self._position(event.end_s)
            self._progress.update(self._task, completed=event.end_s, position=position, speed=speed)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Make room for output on the same terminal."""
        share = self._shown and sys.stdout.isatty()
        if share:
            self._progress.stop()
        yield
        if share:
            self._progress.start()

    def _show(self) -> None:
        if self._visible and not self._shown:
            self._shown = True
            self._progress.start()

    def _position(self, seconds: float) -> str:
        return _clock(seconds) if self._length is None else f"{_clock(seconds)} / {_clock(self._length)}"


def _stated_length(file: str) -> float | None:
    """Seconds as the file states them or libav estimates them: good enough for a bar. A pipe is never opened."""
    path = Path(file)
    if not path.is_file():
        return None
    try:
        with (
            path.open("rb") as source,
            av.open(
                source, "r", metadata_errors="ignore", options={"protocol_whitelist": "none"}
            ) as container,
        ):
            return container.duration / av.time_base if container.duration else None
    except (OSError, av.error.FFmpegError):  # whoever reads the audio says what is wrong
        return None


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


class ClipsBar:
    """How far a number of clips is done, by the seconds of their audio, and about how long the rest will take.

    It is drawn only when it is told of something: a thread that draws would disturb what is measured.
    """

    def __init__(self, seconds: Mapping[str, float], *, visible: bool) -> None:
        """`seconds` are the clips' lengths by name; 0 where that is not known."""
        known = [length for length in seconds.values() if length]
        guess = sum(known) / len(known) if known else _WINDOW_S
        self._seconds = {clip: length or guess for clip, length in seconds.items()}
        self._done: dict[str, float] = {}
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            auto_refresh=False,
            speed_estimate_period=3600,
            transient=True,
            disable=not visible,
        )
        self._task = self._progress.add_task("", total=sum(self._seconds.values()))

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, clip: str, done: float | None = None) -> None:
        """So many seconds of a clip are done; None for all of it."""
        whole = self._seconds[clip]
        self._done[clip] = whole if done is None else min(done, whole)
        description = f"{len(self._done)}/{len(self._seconds)} {clip[-_NAME_WIDTH:]}"
        self._progress.update(
            self._task, completed=sum(self._done.values()), description=description, refresh=True
        )
