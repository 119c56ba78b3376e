"""The screen of `as2d live`, seen as a terminal shows it: lines, dimmed or not, whatever their length."""

import json
import re
from os import terminal_size

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from as2d.cli.live_screen import EventLines, StableLines, TerminalScreen, broken, one_line
from as2d.records import Stats
from as2d.session.live_text import LiveEvent

LONG = "And so my fellow Americans, ask not what your country can do for you. " * 4


def event(window: int, text: str, *, stable: bool = False) -> LiveEvent:
    return LiveEvent(
        kind="stable" if stable else "tentative",
        window=window,
        start_s=1.5,
        end_s=4.25,
        text=text,
        tokens=(7, 8),
        language="en",
        finish_reason="stop",
        method="as2d",
        exact=True,
        stats=Stats(),
        sources=(),
        lag_ms=412.5,
    )


class Terminal:
    """What a terminal of some columns and lines shows; nothing above its first line can be reached."""

    def __init__(self, columns: int = 30, lines: int = 10) -> None:
        self.size = terminal_size((columns, lines))
        self.rows: list[list[tuple[str, bool]]] = [[]]
        self.row = self.column = 0
        self.dim = False

    def write(self, text: str) -> None:
        for part in re.findall(r"\x1b\[\d*[A-Za-z]|.", text, re.DOTALL):
            if part.startswith("\x1b"):
                self._steer(part[2:-1], part[-1])
            elif part == "\n":
                self._next_line()
            elif part == "\r":
                self.column = 0
            else:
                self._put(part)

    def _steer(self, number: str, command: str) -> None:
        if command == "A":
            top = max(0, len(self.rows) - self.size.lines)
            self.row = max(top, self.row - int(number))
        elif command == "J":
            del self.rows[self.row + 1 :]
            del self.rows[self.row][self.column :]
        elif command == "m":
            self.dim = {"2": True, "22": False}[number]
        else:
            raise AssertionError(f"no terminal is known to do {command}")

    def _next_line(self) -> None:
        self.row, self.column = self.row + 1, 0
        if self.row == len(self.rows):
            self.rows.append([])

    def _put(self, character: str) -> None:
        if self.column + cell_len(character) > self.size.columns:
            self._next_line()
        row = self.rows[self.row]
        assert len(row) >= self.column or cell_len(character) == 2
        row[self.column : self.column + 1] = [(character, self.dim)]
        row.extend([("", self.dim)] * (cell_len(character) - 1))
        self.column += cell_len(character)

    def text(self, *, dim: bool) -> str:
        """All of one kind, its rows joined."""
        rows = ("".join(c for c, dimmed in row if dimmed == dim) for row in self.rows)
        return " ".join(" ".join(rows).split())


def shown(terminal: Terminal, *events: LiveEvent) -> None:
    with TerminalScreen(terminal.write, lambda: terminal.size) as screen:
        for each in events:
            screen.show(each)


def test_tentative_text_is_dim_and_replaced_in_place() -> None:
    terminal = Terminal()
    screen = TerminalScreen(terminal.write, lambda: terminal.size)
    screen.show(event(0, "And so my"))
    assert (terminal.text(dim=True), terminal.text(dim=False)) == ("And so my", "")
    screen.show(event(0, "And so, my fellow"))
    assert terminal.text(dim=True) == "And so, my fellow"
    screen.show(event(0, "And so, my fellow Americans.", stable=True))
    assert (terminal.text(dim=True), terminal.text(dim=False)) == ("", "And so, my fellow Americans.")


def test_the_next_window_may_be_shown_before_one_is_stable() -> None:
    terminal = Terminal()
    screen = TerminalScreen(terminal.write, lambda: terminal.size)
    screen.show(event(0, "one"))
    screen.show(event(1, "two"))
    assert terminal.text(dim=True) == "one two"
    screen.show(event(0, "One.", stable=True))
    assert (terminal.text(dim=False), terminal.text(dim=True)) == ("One.", "two")


def test_nothing_tentative_is_left_at_the_end() -> None:
    terminal = Terminal()
    shown(terminal, event(0, "One.", stable=True), event(1, LONG))
    assert (terminal.text(dim=False), terminal.text(dim=True)) == ("One.", "")
    assert (terminal.row, terminal.column) == (1, 0)


def test_of_text_that_fills_the_terminal_the_end_is_shown() -> None:
    terminal = Terminal(columns=20, lines=4)
    screen = TerminalScreen(terminal.write, lambda: terminal.size)
    for count in range(20, len(LONG), 20):
        screen.show(event(0, LONG[:count]))
        assert len(terminal.rows) <= 4
    assert terminal.text(dim=True).endswith(LONG[:count].rsplit(maxsplit=1)[-1])
    screen.show(event(0, "Done.", stable=True))
    assert (terminal.text(dim=False), terminal.text(dim=True)) == ("Done.", "")


def test_a_terminal_that_becomes_narrower() -> None:
    terminal = Terminal(columns=40, lines=20)
    screen = TerminalScreen(terminal.write, lambda: terminal.size)
    screen.show(event(0, "word " * 15))
    wide = [row for row in terminal.rows if row]
    narrow = Terminal(columns=15, lines=20)
    narrow.dim = True
    narrow.write("\n".join("".join(c for c, _ in row) for row in wide))
    terminal.rows, terminal.row, terminal.column = narrow.rows, narrow.row, narrow.column
    terminal.size = narrow.size
    screen.show(event(0, "Done.", stable=True))
    assert (terminal.text(dim=False), terminal.text(dim=True)) == ("Done.", "")


TEXTS = st.text(st.sampled_from("ab ,é復興ß\u200b"), max_size=120)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(TEXTS, st.booleans()), max_size=8), st.integers(4, 50), st.integers(2, 12))
def test_stable_text_is_whole_whatever_was_tentative(
    texts: list[tuple[str, bool]], columns: int, lines: int
) -> None:
    terminal = Terminal(columns, lines)
    window, events, expected = 0, [], ""
    for text, stable in texts:
        events.append(event(window, text, stable=stable))
        window += stable
        expected += text if stable else ""
    shown(terminal, *events)
    assert "".join(terminal.text(dim=False).split()) == "".join(one_line(expected).split())
    assert terminal.text(dim=True) == ""


@given(TEXTS, st.integers(2, 40))
def test_rows_fit(text: str, width: int) -> None:
    rows = broken(one_line(text), width)
    assert all(cell_len(row) <= width for row in rows)
    assert "".join("".join(rows).split()) == "".join(one_line(text).split())


def test_what_would_steer_a_terminal_is_left_out() -> None:
    assert one_line("a\x1b[2Jb\nc\td") == "a [2Jb c d"


def test_a_pipe_gets_stable_lines_only() -> None:
    written: list[str] = []
    for each in (event(0, "one"), event(0, "One.\nTwo.", stable=True), event(1, "", stable=True)):
        StableLines(written.append).show(each)
    assert written == ["One. Two.\n"]


@pytest.mark.parametrize("stable", [False, True])
def test_programs_get_an_object_a_line(stable: bool) -> None:
    written: list[str] = []
    EventLines(written.append).show(event(3, "Grüße 復", stable=stable))
    (line,) = written
    assert line.endswith("\n")
    assert "復" in line
    assert json.loads(line) == {
        "type": "stable" if stable else "tentative",
        "window": 3,
        "start_s": 1.5,
        "end_s": 4.25,
        "text": "Grüße 復",
        "tokens": [7, 8],
        "language": "en",
        "finish_reason": "stop",
        "lag_ms": 412.5,
    }
