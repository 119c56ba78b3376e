from dataclasses import replace

import pytest

from as2d.evaluation.requests.streaming import Block, Pace, Text
from as2d.evaluation.requests.streaming_report import as_dict, different, report, summarise

BLOCKS = [Block(4.0 * n, 100.0 + n, 0.0, n == 3, 500.0 + (n < 15) * 80) for n in range(1, 151)]
TEXTS = [
    *(Text("tentative", 4.0 * n, 4.0 * n + 4, 10.0 * n, (n,), True) for n in range(101)),
    *(Text("stable", 12.0 * n, 12.0 * n + 12, 900.0, (n,), True, (n,)) for n in range(10)),
]


def test_figures_of_a_stream() -> None:
    figures = summarise(TEXTS, BLOCKS, Pace(600, 601, 240.4, 0.0), cores=2)
    assert (figures.blocks, figures.widened, figures.end_backlog_s) == (150, 1, 0)
    assert figures.service_mean_ms == pytest.approx(175.5)
    assert figures.tentative
    assert figures.tentative.p95_ms == pytest.approx(950)
    assert figures.tentative.max_ms == pytest.approx(1000)
    assert figures.stable
    assert figures.stable.texts == 10
    assert figures.cpu_share == pytest.approx(0.2)
    assert (figures.compared, figures.identical) == (10, 10)


def test_memory_is_looked_at_after_the_first_minute() -> None:
    figures = summarise(TEXTS, BLOCKS, None, cores=2)
    assert (figures.memory_start_mb, figures.slope_mb_a_minute) == (500, 0)
    growing = [replace(block, memory_mb=500 + block.end_s) for block in BLOCKS]
    assert summarise(TEXTS, growing, None, cores=2).slope_mb_a_minute == pytest.approx(60)


def test_a_stable_text_that_differs_is_found_unless_it_is_not_exact() -> None:
    wrong = replace(TEXTS[-1], expected=(99,))
    assert different([*TEXTS, wrong]) == [wrong]
    assert different([*TEXTS, replace(wrong, exact=False)]) == []
    assert summarise([*TEXTS, wrong], BLOCKS, None, cores=2).identical == 10


def test_the_report_of_an_interrupted_stream() -> None:
    figures = summarise([], BLOCKS[:2], None, cores=2)
    text = report(figures, {"Host": "a machine"})
    assert "* Host: a machine" in text
    assert "| lag of tentative text, p50, p95, most | – |" in text
    assert as_dict([], BLOCKS[:2], figures, (), {})["summary"]["tentative"] is None
