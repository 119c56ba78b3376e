"""The tables that say why."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from as2d.configuration.catalogue import catalogue
from as2d.configuration.explain import (
    ablated,
    ablations,
    budget_curves,
    by_budget,
    by_floor,
    choices,
    controls,
    reasons,
    sensitivity,
)
from as2d.configuration.tune import Tuning
from as2d.replay.configuration import Configuration
from as2d.replay.score import Score
from as2d.replay.sweep import Scores

MakeScore = Callable[..., Score]


def milliseconds(one: Configuration) -> float:
    """ "one" is best with 5 candidates, "two" with 3 and slower; words are published sooner; a floor helps."""
    if not one.drafted:
        return 100.0
    best, least = (5, 50.0) if one.drafters == ("one",) else (3, 80.0)
    return least + abs(one.budget - best) + (one.batch == 8) - 100 * one.floor


@pytest.fixture
def scores(make_score: MakeScore) -> Scores:
    return {one: [make_score(milliseconds(one))] * 2 for one in catalogue(2, ("one", "two"))}


BEST, ALONE = Configuration(2, ("one",), 5), Configuration(2)


def tuning(scores: Scores, chosen: Configuration = BEST, tested: int = 0) -> Tuning:
    test = {one: row[:tested] for one, row in scores.items()}
    return Tuning("throughput", "english", [1, 3], scores, test, chosen)


def cells(table: str) -> list[Sequence[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


def test_the_choices(scores: Scores) -> None:
    table = choices([tuning(scores), tuning(scores, ALONE)])
    header, _, chosen, alone = cells(table)
    assert header[:4] == ["objective", "language", "windows", "chosen"]
    assert chosen == [
        *("throughput", "english", "2", "one b5", "200.0", "2.000", f"{52 / 50:.3f}", "100.0%"),
        *("100", "100"),
    ]
    assert alone[3:] == ["target-only", "100.0", "1.000", f"{52 / 100:.3f}", "50.0%", "200", "200"]


def test_the_other_half_has_a_line(scores: Scores) -> None:
    *_, tested = cells(choices([tuning(scores, tested=1)]))
    assert tested[:4] == ["throughput, test", "english", "1", "one b5"]


def test_where_no_drafter_was_tried(make_score: MakeScore) -> None:
    *_, row = cells(choices([tuning({ALONE: [make_score(10)]}, ALONE)]))
    assert row[6] == "—"


def test_the_curves_are_of_the_best_split_and_batch(scores: Scores) -> None:
    curves = budget_curves(tuning(scores))
    assert list(curves) == ["one", "two"]
    assert curves["one"][5] == pytest.approx(200)
    assert curves["two"][24] == pytest.approx(1000 * 10 / 101)
    header, _, none, first, *others = cells(by_budget(tuning(scores)))
    assert header == ["budget", "one", "two"]
    assert none == ["0", "100.0", "100.0"]
    assert first == ["1", f"{10000 / 54:.1f}", f"{10000 / 82:.1f}"]
    assert len(others) == 23


def test_floors_have_a_table_of_their_own(scores: Scores) -> None:
    header, _, *rows = cells(by_floor(tuning(scores)))
    assert header == ["floor", "b7", "b11", "b15"]
    assert [row[0] for row in rows] == [
        f"{name} {floor}" for name in ("one", "two") for floor in (0.03, 0.1, 0.2)
    ]
    assert rows[1][1:] == [f"{10000 / (40 + away):.1f}" for away in (2, 6, 10)]
    assert cells(by_floor(tuning({BEST: scores[BEST]})))[2:] == []


def test_fixed_budgets(scores: Scores) -> None:
    found = {name: share for name, _, share in cells(controls(tuning(scores)))[2:]}
    assert list(found) == [
        *(f"{drafter} b{budget}" for drafter in ("one", "two") for budget in (3, 7, 15)),
        "target-only",
    ]
    assert found["one b15"] == f"{50 / 60:.1%}"
    assert found["target-only"] == "50.0%"


def test_the_ablations_are_of_the_same_windows(scores: Scores, make_score: MakeScore) -> None:
    serial, uncut = ablated(tuning(scores))
    assert (serial.method, uncut.method) == ("as2d-without-decoupling", "as2d-without-budget")
    assert serial.drafters == uncut.drafters == ("one",)
    compared = {
        serial: [make_score(ms) for ms in (1, 100, 1, 100)],
        uncut: [make_score(ms) for ms in (1, 60, 1, 60)],
    }
    floored = tuning(scores, Configuration(2, ("one",), 7, floor=0.1))
    assert ablated(floored) == tuple(replace(one, budget=7) for one in (serial, uncut)), "they have no floor"
    table = ablations(tuning(scores), compared)
    assert [row[2] for row in cells(table)[2:]] == ["100.0%", "50.0%", f"{50 / 60:.1%}"]


def test_the_target_alone_has_no_ablation(scores: Scores) -> None:
    assert ablated(tuning(scores, ALONE)) == ()
    assert len(cells(ablations(tuning(scores, ALONE), {}))) == 3


def test_sensitivity_says_what_the_choice_loses(scores: Scores, make_score: MakeScore) -> None:
    crowded = {one: [make_score(ms + (60 if one.drafted else 0))] for one, ms in ((ALONE, 100), (BEST, 50))}
    found = sensitivity(tuning(scores), {2.0: tuning(crowded, ALONE), 1.0: tuning(scores)})
    assert cells(found)[2:] == [
        ["1", "one b5", "200.0", "100.0%"],
        ["2", "target-only", "100.0", f"{100 / 110:.1%}"],
    ]


def test_all_reasons_have_a_heading(scores: Scores) -> None:
    one = tuning(scores, ALONE)
    text = reasons(one, {1.0: one}, {})
    assert text.startswith("\n## throughput, english: target-only\n\n| budget |")
    assert text.count("| --- |") == 5
