"""Exact match and F1, counted by hand."""

import json
from collections.abc import Callable

import pytest

from as2d.evaluation.analysis.questions import answer_scores, exact_match, f1
from as2d.evaluation.contender import Contender
from as2d.evaluation.rows import Row


@pytest.mark.parametrize(
    ("answer", "accepted", "right"),
    [
        ("The Panthers!", ["panthers"], 1),
        ("an  apple", ["Apple."], 1),
        ("ten", ["10", "ten"], 1),
        ("theatre", ["atre"], 0),
        ("ten men", ["ten"], 0),
        ("", ["ten"], 0),
        ("ten", [], 0),
    ],
)
def test_exact_match(answer: str, accepted: list[str], right: float) -> None:
    assert exact_match(answer, accepted) == right


@pytest.mark.parametrize(
    ("answer", "accepted", "expected"),
    [
        ("the carolina panthers", ["Carolina Panthers"], 1),
        ("it was carolina", ["carolina panthers"], 2 / 5),
        ("no no no", ["no"], 2 / 4),
        ("ten men", ["nobody", "ten", "ten men and a dog"], 2 / 3),
        ("a", ["the"], 1),
        ("", ["ten"], 0),
        ("ten", [], 0),
    ],
)
def test_f1(answer: str, accepted: list[str], expected: float) -> None:
    assert f1(answer, accepted) == pytest.approx(expected)


def test_figures_are_means_over_questions(make_row: Callable[..., Row]) -> None:
    contender = Contender("target-only", 2)
    rows = [
        make_row(contender, window=f"{clip}#0", text=text)
        for clip, text in (("a", "ten"), ("b", "it was carolina"), ("unknown", "x"))
    ]
    [found] = answer_scores(rows, {"a": "10\nten", "b": "carolina panthers"}).values()
    assert (found["exact_match"], found["exact_match_clips"]) == (0.5, 2)
    assert found["f1"] == pytest.approx(0.7)
    assert (found["f1_low"], found["f1_high"]) == (pytest.approx(0.4), 1)
    assert json.loads(json.dumps(found)) == found


def test_nothing_asked(make_row: Callable[..., Row]) -> None:
    [found] = answer_scores([make_row()], {}).values()
    assert found == {"exact_match": None, "exact_match_clips": 0, "f1": None, "f1_clips": 0}
