"""The progress bar, on a terminal that is a string."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from as2d.cli import progress
from as2d.cli.progress import ProgressBar, can_be_seen
from as2d.records import Event, FinishReason


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    screen = Terminal()

    def console(**_: object) -> Console:
        return Console(file=screen, force_terminal=True, force_interactive=True, width=100, color_system=None)

    monkeypatch.setattr(progress, "Console", console)
    return screen


def window(index: int, end_s: float, *, last: bool = True) -> Event:
    reason: FinishReason | None = "stop" if last else None
    return Event((1,), ("alone",), 0, 0, finish_reason=reason, window=index, end_s=end_s, at_ms=end_s * 50)


def test_long_audio_of_known_length(terminal: Terminal, long_wav: Path) -> None:
    with ProgressBar(str(long_wav), visible=True) as bar:
        assert "long.wav" in terminal.getvalue()
        bar.update(window(0, 27.0))
        with bar.hidden():
            terminal.write("text")
    shown = terminal.getvalue()
    assert "0:00 / 0:34" in shown
    assert "0:27 / 0:34" in shown
    assert "RTFx 20" in shown


def test_unknown_length_shows_the_position_from_the_second_window_on(terminal: Terminal) -> None:
    with ProgressBar("-", visible=True) as bar:
        bar.update(window(0, 27.0))
        assert terminal.getvalue() == ""
        bar.update(window(1, 54.0, last=False))
        bar.update(window(1, 3754.0))
    assert "0:27" in terminal.getvalue()
    assert "1:02:34" in terminal.getvalue()


def test_short_audio_shows_nothing(terminal: Terminal, jfk: Path) -> None:
    with ProgressBar(str(jfk), visible=True) as bar:
        bar.update(window(0, 11.0))
    assert terminal.getvalue() == ""


def test_an_invisible_bar_shows_nothing(terminal: Terminal, long_wav: Path) -> None:
    with ProgressBar(str(long_wav), visible=False) as bar:
        bar.update(window(1, 40.0))
        with bar.hidden():
            pass
    assert terminal.getvalue() == ""


def test_a_file_without_stated_length_has_none(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(np.random.default_rng(0).bytes(1000))
    with ProgressBar(str(tmp_path / "noise"), visible=True):
        pass
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("terminal")
def test_where_a_bar_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert can_be_seen(writes_every_commit=True)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert can_be_seen(writes_every_commit=False)
    assert not can_be_seen(writes_every_commit=True)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not can_be_seen(writes_every_commit=False)
