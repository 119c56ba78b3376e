"""Hindsight by hand."""

import pytest

from as2d.errors import InputError
from as2d.replay.configuration import Configuration
from as2d.replay.oracle import hindsight
from as2d.replay.score import LATENCY, Score, pooled_tps
from as2d.replay.table import sensitivity, standings

ALONE, FEW, MANY = Configuration(2), Configuration(2, ("self",), 3), Configuration(2, ("self",), 7)


def scored(useful: int, ms: float) -> Score:
    return Score("w", useful, ms - 1, ms, ms + 5, rounds=10, k1_rounds=4, proposed=20, accepted=15)


SCORES = {
    ALONE: [scored(10, 100.0), scored(30, 300.0)],
    FEW: [scored(10, 50.0), scored(30, 350.0)],
    MANY: [scored(10, 110.0), scored(30, 200.0)],
}


def test_tokens_are_pooled_over_time() -> None:
    assert pooled_tps(SCORES[ALONE]) == pytest.approx(100.0)
    assert pooled_tps([]) == 0.0
    assert scored(10, 50.0).tps == pytest.approx(200.0)


def test_the_best_of_each_window() -> None:
    seen = hindsight(SCORES)
    assert seen.choices == (FEW, MANY)
    assert seen.tps == pytest.approx(1000 * 40 / 250)
    assert [one for one, _ in seen.fixed] == [MANY, ALONE, FEW]
    assert seen.fixed[0][1] == pytest.approx(1000 * 40 / 310)


def test_another_clock_may_choose_otherwise() -> None:
    late = Score("w", 10, 40.0, 50.0, 500.0, 1, 1, 0, 0)
    soon = Score("w", 10, 45.0, 90.0, 100.0, 1, 1, 0, 0)
    scores = {FEW: [late], MANY: [soon]}
    assert hindsight(scores).choices == hindsight(scores, "decode_ms").choices == (FEW,)
    assert hindsight(scores, LATENCY).choices == (MANY,)
    assert hindsight(scores, LATENCY).tps == pooled_tps([soon], LATENCY) == pytest.approx(100.0)
    assert standings(scores, LATENCY).splitlines()[2].startswith("| as2d self b7 2c1d | 100.0 |")
    assert "| 1 | as2d self b7 2c1d |" in sensitivity({1.0: scores}, LATENCY)


def test_of_equals_the_first_is_chosen() -> None:
    same = {ALONE: [scored(10, 50.0)], FEW: [scored(10, 50.0)]}
    assert hindsight(same).choices == (ALONE,)


def test_what_an_oracle_cannot_tell() -> None:
    with pytest.raises(InputError, match="simulate some"):
        hindsight({ALONE: []})


def test_the_table_of_standings() -> None:
    lines = standings(SCORES).splitlines()
    assert lines[0].startswith("| configuration | tokens/s |")
    assert lines[2] == "| as2d self b7 2c1d | 129.0 | 1.29 | 160 | 0.75 | 40% |"
    assert lines[3].startswith("| target-only 2c | 100.0 | 1.00 |")
    assert lines[-1] == "oracle 160.0 tokens/s; as2d self b7 2c1d reaches 80.6% of it"


def test_the_target_alone_is_in_the_table_though_it_is_slow() -> None:
    many = {Configuration(2, ("self",), budget): [scored(10, 50.0)] for budget in range(1, 20)}
    lines = standings({**many, ALONE: [scored(10, 100.0)]}).splitlines()
    assert len(lines) == 2 + 10 + 1 + 2
    assert lines[12].startswith("| target-only 2c | 100.0 |")


def test_the_table_of_sensitivity() -> None:
    contended = {**SCORES, MANY: [scored(10, 150.0), scored(30, 400.0)]}
    lines = sensitivity({1.0: SCORES, 2.0: contended}).splitlines()
    assert lines[2] == "| 1 | as2d self b7 2c1d | 129.0 | 100.0% |"
    assert lines[3] == f"| 2 | target-only 2c | 100.0 | {400 / 550:.1%} |"
    assert sensitivity({2.0: contended}).splitlines()[2].endswith("| — |")
