"""What is chosen, on scores and traces whose best configuration is known."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from as2d.configuration.catalogue import catalogue
from as2d.configuration.tune import (
    Rules,
    Tuning,
    choose,
    grounds,
    half_of,
    of_windows,
    quantile,
    quick,
    simulate,
    tune,
)
from as2d.configuration.tuned import Choice, Group, Objective
from as2d.errors import InputError
from as2d.profiling.costs import Costs
from as2d.profiling.profile import Profile
from as2d.replay.configuration import Configuration
from as2d.replay.costs import Contended
from as2d.replay.score import DONE, LATENCY, Score
from as2d.replay.sweep import Scores
from as2d.replay.trace import Provenance, Traces, WindowTrace

MakeScore = Callable[..., Score]
MakeWindow = Callable[..., WindowTrace]

ALONE, ONE, SEVEN, TWO = (
    Configuration(2),
    Configuration(2, ("one",), 3),
    Configuration(2, ("one",), 7),
    Configuration(2, ("two",), 7, batch=8),
)
FLOORED = Configuration(2, ("one",), 7, floor=0.1)
# By the first digit of their SHA-1, which is even for the first two.
IN_A, IN_B = ("a", "b"), ("d", "e")


def test_the_clips_are_in_the_halves_that_the_tests_say(make_window: MakeWindow) -> None:
    assert [half_of(make_window(clip)) for clip in (*IN_A, *IN_B)] == ["A", "A", "B", "B"]


def rows(make: MakeScore, times: Mapping[Configuration, Sequence[float]]) -> Scores:
    return {one: [make(ms) for ms in row] for one, row in times.items()}


def test_the_most_tokens_over_all_time_are_chosen(make_score: MakeScore) -> None:
    # Of the window averages the first would be the best.
    scores = {
        ALONE: [make_score(1, 10), make_score(100, 10)],
        ONE: [make_score(2, 10), make_score(90, 10)],
    }
    assert choose(scores, DONE) == ONE


def test_nobody_drafts_where_nothing_pays(make_score: MakeScore) -> None:
    assert choose(rows(make_score, {ALONE: [50], ONE: [51], TWO: [50]}), DONE) == ALONE
    assert choose(rows(make_score, {ALONE: [50], ONE: [49]}), DONE) == ONE


def test_a_slow_tail_is_not_chosen_under_a_limit(make_score: MakeScore) -> None:
    scores = {
        ALONE: [make_score(10, latency_ms=30)] * 20,
        ONE: [make_score(5, latency_ms=20)] * 19 + [make_score(5, latency_ms=99)],
        TWO: [make_score(4, latency_ms=20)] * 18 + [make_score(4, latency_ms=99)] * 2,
    }
    assert choose(scores, DONE) == TWO
    assert choose(scores, DONE, 99) == TWO
    assert choose(scores, DONE, 98) == ONE
    with pytest.raises(InputError, match="within 19 ms, and the quickest needs 20 ms; allow that much"):
        quick(scores, 19)


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 10), (0.95, 19), (0.96, 20), (1.0, 20)])
def test_a_quantile_is_one_of_the_values(share: float, value: float) -> None:
    assert quantile(list(range(20, 0, -1)), share) == value


def test_latency_has_a_clock_of_its_own(make_score: MakeScore) -> None:
    scores = {ALONE: [make_score(20, latency_ms=30)], ONE: [make_score(10, latency_ms=40)]}
    assert choose(scores, DONE) == ONE
    assert choose(scores, LATENCY) == ALONE


def test_the_grounds(make_score: MakeScore) -> None:
    scores = rows(make_score, {ALONE: [100, 100], ONE: [40, 160], SEVEN: [80, 80], TWO: [50, 150]})
    found = grounds(scores, ONE, DONE)
    assert found.windows == 2
    assert found.tps == pytest.approx(100)
    assert found.tps_target_only == pytest.approx(100)
    assert found.tps_budget_7 == pytest.approx(125), "of the same drafter"
    assert found.tps_oracle == pytest.approx(1000 * 20 / 120)
    assert found.oracle_share == pytest.approx(0.6)
    assert (found.latency_p50_ms, found.latency_p95_ms) == (80, 320)
    assert grounds(scores, ALONE, DONE).tps_budget_7 == pytest.approx(125), "of any"
    assert grounds(rows(make_score, {ALONE: [1]}), ALONE, DONE).tps_budget_7 is None
    floored = {**scores, FLOORED: [make_score(20), make_score(20)]}
    assert grounds(floored, ONE, DONE) == found, "oracle and budget 7 have fixed budgets"
    assert grounds(floored, FLOORED, DONE).oracle_share == pytest.approx(3)
    nothing = {ALONE: [make_score(1, 0)]}
    assert grounds(scores, ONE, LATENCY).tps == pytest.approx(50)
    assert grounds(nothing, ALONE, DONE).oracle_share == 1


@pytest.fixture
def windows(make_window: MakeWindow) -> list[WindowTrace]:
    """English and German in both halves."""
    return [
        make_window(IN_A[0]),
        make_window(IN_B[0]),
        make_window(IN_A[1], "de", ["two"]),
        make_window(IN_B[1], "de", ["two"]),
    ]


@pytest.fixture
def scores(make_score: MakeScore) -> Scores:
    """In English "one" is fast and "two" slower, in half B nobody pays; in German, "two"."""
    return rows(make_score, {ALONE: [40, 40, 40, 40], ONE: [10, 80, 40, 40], TWO: [20, 50, 30, 30]})


def tuned(
    windows: Sequence[WindowTrace], scores: Scores, objective: Objective, **fields: Any
) -> list[Tuning]:
    return list(tune(windows, scores, objective, Rules(frozenset({"two"}), **fields)))


def chosen(tunings: Sequence[Tuning]) -> dict[Group, Configuration]:
    return {one.group: one.chosen for one in tunings}


def test_english_other_languages_and_any_apart(windows: list[WindowTrace], scores: Scores) -> None:
    found = tuned(windows, scores, "throughput", half="A")
    assert chosen(found) == {"english": ONE, "other": TWO, "any": ONE}
    assert [one.windows for one in found] == [[0], [2], [0, 2]]
    assert chosen(tuned(windows, scores, "throughput", half="B")) == {
        "english": ALONE,
        "other": TWO,
        "any": ALONE,
    }


def test_the_other_half_is_the_test(windows: list[WindowTrace], scores: Scores) -> None:
    english, other, whichever = tuned(windows, scores, "throughput", half="A")
    assert english.test == of_windows(scores, [1])
    assert other.test == of_windows(scores, [3])
    assert whichever.test == of_windows(scores, [1, 3])
    assert whichever.scores == of_windows(scores, [0, 2])
    assert all(not row for one in tuned(windows, scores, "throughput") for row in one.test.values())


def test_no_encoder_starts_for_a_language_that_is_not_known(
    windows: list[WindowTrace], scores: Scores
) -> None:
    found = tuned(windows, scores, "latency", half="A")
    assert chosen(found) == {"english": ONE, "other": TWO, "any": TWO}
    assert set(found[-1].scores) == {ALONE, TWO}


@pytest.mark.parametrize(
    ("languages", "groups"), [(["en"] * 4, ["english"]), (["de", "fr", "de", "fr"], ["other"])]
)
def test_only_groups_that_the_windows_tell_of(
    make_window: MakeWindow, scores: Scores, languages: Sequence[str], groups: list[Group]
) -> None:
    some = [make_window(clip, language) for clip, language in zip("abde", languages, strict=True)]
    assert list(chosen(tuned(some, scores, "throughput"))) == groups


def test_a_half_without_a_window(make_window: MakeWindow, make_score: MakeScore) -> None:
    with pytest.raises(InputError, match="no window is of half B"):
        tuned([make_window(IN_A[0])], rows(make_score, {ALONE: [1]}), "throughput", half="B")


def test_the_choice_as_it_is_kept(windows: list[WindowTrace], scores: Scores) -> None:
    found = tuned(windows, scores, "throughput", half="B")
    assert [one.choice for one in found] == [
        Choice(None, 0, 1, "word"),
        Choice("two", 7, 1, 8),
        Choice(None, 0, 1, "word"),
    ]


def test_a_choice_with_a_floor(windows: list[WindowTrace], scores: Scores, make_score: MakeScore) -> None:
    found = tuned(windows, {**scores, FLOORED: [make_score(5)] * 4}, "throughput")
    assert {one.choice for one in found} == {Choice("one", 7, 1, "word", 0.1)}


@pytest.fixture
def traces(windows: list[WindowTrace], provenance: Provenance) -> Traces:
    return Traces(provenance, tuple(windows))


def replayed(traces: Traces, profile: Profile, objective: Objective, factor: float = 1.0) -> Scores:
    configurations = catalogue(profile.plan.threads, profile.plan.drafters)
    costs = Contended(Costs(profile), factor)
    return simulate(traces, configurations, costs, objective, workers=1, progress=lambda _: None)


def test_a_drafter_that_costs_little_is_found_and_one_that_costs_much_is_not(
    traces: Traces, make_profile: Callable[..., Profile]
) -> None:
    cases: list[tuple[Objective, dict[str, float], str | None]] = [
        ("throughput", {"one": 1.0, "two": 9.0}, "one"),
        ("throughput", {"one": 9.0, "two": 1.0}, "two"),
        ("throughput", {"one": 30.0, "two": 30.0}, None),
        ("latency", {"one": 1.0, "two": 1.0}, "one"),
    ]
    for objective, ms, drafter in cases:
        scores = replayed(traces, make_profile(big=10.0, **ms), objective)
        english, *_ = tuned(traces.windows, scores, objective)
        assert english.choice.drafter == drafter, (objective, ms)


def test_on_one_core_what_was_measured_decides(traces: Traces, make_profile: Callable[..., Profile]) -> None:
    scores = replayed(traces, make_profile(1, big=10.0, one=1.0, two=30.0), "throughput")
    assert all(one.cores.cores_for(1) == 1 for one in scores)
    english, *_ = tuned(traces.windows, scores, "throughput")
    assert english.choice.drafter == "one"


def test_progress_is_told_by_windows(
    traces: Traces, make_profile: Callable[..., Profile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("as2d.configuration.tune._PART", 3)
    told: list[int] = []
    costs = Costs(make_profile())
    scores = simulate(traces, [ALONE, SEVEN], costs, "throughput", workers=1, progress=told.append)
    assert told == [3, 4]
    assert [len(row) for row in scores.values()] == [4, 4]
