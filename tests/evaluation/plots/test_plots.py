from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from as2d.errors import InputError
from as2d.evaluation.contender import Contender
from as2d.evaluation.plots import draw
from as2d.evaluation.plots.distribution import draw_distribution
from as2d.evaluation.plots.speed_ups import draw_speed_ups
from as2d.evaluation.plots.style import ORIGIN_COLOURS
from as2d.evaluation.plots.time_line import draw_time_line
from as2d.evaluation.rows import Row, Span, Step, TimeLine

Figure = pytest.importorskip("matplotlib.figure").Figure
to_hex = pytest.importorskip("matplotlib.colors").to_hex

AS2D = Contender("as2d", 2, "self", 7)
MakeRow = Callable[..., Row]
NAMES = {f"{name}.{kind}" for name in ("distribution", "speed-up", "time-line") for kind in ("png", "svg")}


def test_all_pictures_are_drawn(bench: list[Row], tmp_path: Path) -> None:
    drawn = draw(bench, tmp_path)
    assert drawn.skipped == ()
    assert {file.name for file in drawn.files} == NAMES
    for file in drawn.files:
        content = file.read_bytes()
        assert content.startswith(b"\x89PNG" if file.suffix == ".png" else b"<?xml")
        assert len(content) > 10_000


def test_the_same_rows_give_the_same_files(bench: list[Row], tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        draw(bench, tmp_path / name)
    for name in NAMES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_curve_is_the_sorted_speed_up_of_its_windows(make_row: MakeRow) -> None:
    ahead = [make_row(AS2D, window=f"{n}#0", producer_done_ms=ms) for n, ms in enumerate((10, 40, 20))]
    alone = [make_row(window=f"{n}#0", producer_done_ms=30) for n in range(3)]
    figure = Figure()
    assert draw_speed_ups(figure, {"target-only 2c": alone, AS2D.key: ahead}) is None
    (axes,) = figure.axes
    assert list(axes.lines[0].get_ydata()) == pytest.approx([0.75, 1.5, 3])
    assert axes.lines[0].get_label() == "AS²D (self, b = 7): 33.3% of 3 windows slower"


def test_rare_kinds_are_drawn_together(make_row: MakeRow) -> None:
    rows = [make_row(window=f"{n}#0", kind=f"kind {min(n, 9)}") for n in range(11)]
    figure = Figure()
    assert draw_distribution(figure, {"target-only 2c": rows}) is None
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert (labels[0], len(labels), labels[-1]) == ("kind 9\n2 windows", 6, "other kinds\n5 windows")


def test_a_time_line_has_every_token_in_its_colour(make_row: MakeRow) -> None:
    serial = Contender("specasr", 2, "self")
    commits = (
        Step(5, ("accepted", "accepted", "corrected")),
        Step(9, ("accepted", "bonus")),
        Step(12, ("alone",)),
    )
    line = TimeLine((Span(0, 3, 1),), (Span(3, 5, 4), Span(6, 9, 3)), commits)
    samples = {contender.key: [make_row(contender, time_line=line)] for contender in (AS2D, serial)}
    figure = Figure()
    assert draw_time_line(figure, samples) is None
    for axes in figure.axes:
        drawn = Counter(to_hex(bar.get_facecolor()).upper() for bar in axes.patches)
        assert drawn == {
            ORIGIN_COLOURS[origin]: n for origin, n in Counter(chain(*(c.origins for c in commits))).items()
        }
        assert [text.get_text() for text in axes.texts] == ["4", "3"]


def test_without_time_lines_the_others_are_drawn(bench: list[Row], tmp_path: Path) -> None:
    drawn = draw([replace(row, time_line=None) for row in bench], tmp_path)
    assert drawn.skipped == ("time-line: no window has a time line of both AS²D and a serial method",)
    assert len(drawn.files) == 4


def test_target_only_has_no_speed_up(make_row: MakeRow, tmp_path: Path) -> None:
    drawn = draw([make_row()], tmp_path)
    assert [file.stem for file in drawn.files] == ["distribution", "distribution"]
    assert [reason.partition(":")[0] for reason in drawn.skipped] == ["speed-up", "time-line"]


@pytest.mark.parametrize("rows", [[], ["peer"], ["silent"]])
def test_few_rows_are_no_fault(rows: list[str], make_row: MakeRow, tmp_path: Path) -> None:
    given = [
        make_row(Contender("a peer", 2)) if row == "peer" else make_row(tokens=(), producer_done_ms=1.0)
        for row in rows
    ]
    drawn = draw(given, tmp_path)
    assert drawn.files == ()
    assert len(drawn.skipped) == 3


def test_a_folder_that_cannot_be_written_is_an_input_error(make_row: MakeRow, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--out"):
        draw([make_row()], tmp_path / "nowhere")
