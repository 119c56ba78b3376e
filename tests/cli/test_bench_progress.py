"""The bar of a bench, on a terminal that is a string."""

import io

import pytest
from rich.console import Console

from as2d.cli import progress
from as2d.cli.progress import ClipsBar


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    terminal = io.StringIO()

    def console(**_: object) -> Console:
        return Console(
            file=terminal, force_terminal=True, force_interactive=True, width=100, color_system=None
        )

    monkeypatch.setattr(progress, "Console", console)
    return terminal


def last(screen: io.StringIO) -> str:
    return screen.getvalue().rpartition("\r")[2]


def test_it_counts_seconds(screen: io.StringIO) -> None:
    with ClipsBar({"a": 10.0, "b": 30.0}, visible=True) as bar:
        bar.update("a", 5.0)
        assert "1/2 a" in last(screen)
        assert " 12%" in last(screen)
        bar.update("a", 99.0)  # never beyond the clip
        assert " 25%" in last(screen)
        bar.update("b")
        assert "2/2 b" in last(screen)
        assert "100%" in last(screen)


def test_clips_of_unknown_length_count_as_the_others(screen: io.StringIO) -> None:
    with ClipsBar({"a": 10.0, "b": 30.0, "c": 0.0}, visible=True) as bar:
        bar.update("c")
        assert " 33%" in last(screen)


def test_nothing_is_shown_where_nobody_looks(screen: io.StringIO) -> None:
    with ClipsBar({"a": 0.0}, visible=False) as bar:
        bar.update("a")
    with ClipsBar({}, visible=False):
        pass
    assert screen.getvalue() == ""
