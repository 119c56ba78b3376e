from pathlib import Path

import pytest

from as2d.errors import InputError
from as2d.evaluation.plots.on_demand import draw_on_demand
from as2d.evaluation.plots.picture import draw_picture
from as2d.evaluation.plots.streaming import draw_streaming
from as2d.evaluation.requests.ondemand import Answered, contenders_of
from as2d.evaluation.requests.streaming import Block, Text

Figure = pytest.importorskip("matplotlib.figure").Figure

CONTENDERS = contenders_of(("auto",), 2)


def answered(contender: str, position: float, latency_ms: float, *, prepared: bool) -> Answered:
    return Answered(
        contender=contender,
        position_s=position,
        prepared=prepared,
        repetition=0,
        tokens=(1,),
        accepted=0,
        identical=True,
        exact=True,
        latency_ms=latency_ms,
        first_token_ms=5.0,
        decode_ms=50.0,
        start_s=0.0,
        end_s=position,
        windows=1,
        encoded=0,
        peak_memory_mb=None,
        faults=(),
    )


ANSWERS = [
    answered(contender.key, position, position + number + extra, prepared=prepared)
    for number, contender in enumerate(CONTENDERS)
    for position in (30.0, 60.0)
    for extra in (0, 2, 10)
    for prepared in (True, False)
]


def test_latency_over_position_is_drawn_by_its_medians() -> None:
    figure = Figure()
    draw_on_demand(figure, ANSWERS, CONTENDERS)
    prepared, bare = figure.axes
    assert [line.get_label() for line in prepared.lines] == [
        "target-only, 2 cores",
        "target-only, 1 core",
        "AS²D (auto)",
    ]
    assert list(prepared.lines[2].get_ydata()) == [34, 64]
    assert list(bare.lines[0].get_xdata()) == [30, 60]


def test_every_text_of_a_stream_is_drawn() -> None:
    figure = Figure()
    texts = [Text("tentative", 0, 4, 100, (), True), Text("stable", 0, 5, 300, (), True)]
    draw_streaming(figure, texts, [Block(4, 10, 0, False, 500), Block(8, 10, 0, False, None)])
    lags, memory = figure.axes
    assert [(list(line.get_xdata()), list(line.get_ydata())) for line in lags.lines] == [
        ([4], [100]),
        ([5], [300]),
    ]
    assert list(memory.lines[0].get_ydata()) == [500]


def test_the_same_figures_give_the_same_files(tmp_path: Path) -> None:
    def draw(figure: object) -> None:
        draw_on_demand(figure, ANSWERS, CONTENDERS)

    one, two = (draw_picture(draw, tmp_path / name) for name in ("one", "two"))
    assert [file.suffix for file in one] == [".png", ".svg"]
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in two]


def test_a_folder_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--out"):
        draw_picture(lambda figure: None, tmp_path / "nowhere" / "picture")
