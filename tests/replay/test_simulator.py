"""Whole windows on the virtual clock, by hand and by random drafters."""

from collections.abc import Callable
from itertools import pairwise
from math import nan
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from as2d.decoding.evidence import GRACE
from as2d.decoding.methods import TRAITS
from as2d.errors import InputError
from as2d.profiling.costs import Costs as ProfileCosts
from as2d.profiling.profile import Profile
from as2d.replay.configuration import REPLAYED, Configuration
from as2d.replay.costs import Costs
from as2d.replay.simulator import Simulated, Simulator
from as2d.replay.trace import Continuation, Provenance, Stream, WindowTrace

WORDS = (30, 31, 32, 33, 34, 35)
Make = Callable[..., Any]


def committed(simulated: Simulated) -> tuple[int, ...]:
    return tuple(token for commit in simulated.commits for token in commit.tokens)


def widths(simulated: Simulated) -> list[int]:
    return [commit.width for commit in simulated.commits]


@pytest.fixture
def agreeing(make_trace: Make, make_stream: Make) -> WindowTrace:
    """A drafter that says what the target says, a token a step."""
    window: WindowTrace = make_trace(WORDS, {"one": make_stream([(word,) for word in WORDS])})
    return window


def test_the_target_alone(agreeing: WindowTrace, provenance: Provenance, flat_costs: Make) -> None:
    costs = flat_costs(round_ms=0.5, align_ms=9.0)
    simulated = Simulator(agreeing, provenance, costs).run(Configuration(2, ("one",), 0))
    assert simulated.round_ends == pytest.approx([4.5 * count for count in range(1, 8)])
    assert simulated.decode_ms == simulated.producer_done_ms == pytest.approx(31.5)
    assert simulated.latency_ms == pytest.approx(32.5)  # the prompt
    assert set(costs.cores) == {2}


def test_a_time_line_by_hand(agreeing: WindowTrace, provenance: Provenance, flat_costs: Make) -> None:
    """Beside each other everything takes twice as long: the prompts are ready at 2, the steps end at 6, 10, … 30."""
    costs = flat_costs(slower=2.0)
    simulated = Simulator(agreeing, provenance, costs).run(Configuration(2, ("one",), 7))
    # Rounds begin at 2 (nothing is out), 10 (1 committed, 31 is out), 18 (3, and 33) and 26 (5, and 35). The drafter
    # ends at 30, when half of the last call is done; the other half takes 2 alone.
    assert widths(simulated) == [1, 2, 2, 2]
    assert simulated.round_ends == pytest.approx([8.0, 16.0, 24.0, 30.0])
    assert simulated.producer_done_ms == pytest.approx(30.0)
    assert simulated.latency_ms == pytest.approx(32.0)
    assert set(costs.cores) == {1}


def test_a_closed_buffer_gives_the_target_all_cores(
    agreeing: WindowTrace, provenance: Provenance, flat_costs: Make
) -> None:
    costs = flat_costs(step=0.5)
    simulated = Simulator(agreeing, provenance, costs).run(Configuration(2, ("one",), 2))
    # The first round begins at 1, with nothing; the steps end at 1.5 … 4.5.
    assert widths(simulated) == [1, 3, 3]
    assert simulated.round_ends == pytest.approx([4.0, 8.0, 12.0])
    assert costs.cores[0] == 1
    assert costs.cores[-1] == 2


def test_the_drafter_finishes_its_step_behind_the_target(
    make_trace: Make, make_stream: Make, provenance: Provenance, flat_costs: Make
) -> None:
    window = make_trace((30,), {"one": make_stream([(40,)] * 9)})
    costs = flat_costs(step=5.0, slower=2.0)
    simulated = Simulator(window, provenance, costs).run(Configuration(2, ("one",), 3))
    # Prompts until 2, the target's two rounds until 18; the drafter's second step (12 to 22) is 0.6 done, 2 are left.
    assert simulated.decode_ms == pytest.approx(16.0)
    assert simulated.producer_done_ms == pytest.approx(18.0)


def test_width_costs(agreeing: WindowTrace, provenance: Provenance, flat_costs: Make) -> None:
    costs = flat_costs(step=0.1, a_token=1.0)
    simulated = Simulator(agreeing, provenance, costs).run(Configuration(2, ("one",), 24))
    assert widths(simulated) == [1, 6]
    assert simulated.decode_ms == pytest.approx(4.0 + 4.0 + 5.0)


def test_a_search_costs_after_a_rejection(
    make_trace: Make, make_stream: Make, provenance: Provenance, flat_costs: Make
) -> None:
    window = make_trace((30, 31, 32), {"one": make_stream([(30,), (41,)])})
    free = Simulator(window, provenance, flat_costs(step=0.1)).run(Configuration(2, ("one",), 3))
    dear = Simulator(window, provenance, flat_costs(step=0.1, align_ms=0.25)).run(
        Configuration(2, ("one",), 3)
    )
    rejected = sum(commit.accepted < commit.proposed for commit in free.commits[:-1])
    assert rejected == 1
    assert dear.decode_ms - free.decode_ms == pytest.approx(0.25)


def test_publication_costs_the_drafter(
    agreeing: WindowTrace, provenance: Provenance, flat_costs: Make
) -> None:
    quick = Simulator(agreeing, provenance, flat_costs()).run(Configuration(2, ("one",), 7))
    slow = Simulator(agreeing, provenance, flat_costs(publish_ms=3.0)).run(Configuration(2, ("one",), 7))
    assert sum(widths(slow)) < sum(widths(quick)) or len(slow.commits) > len(quick.commits)


def test_batches_come_later(agreeing: WindowTrace, provenance: Provenance, flat_costs: Make) -> None:
    simulator = Simulator(agreeing, provenance, flat_costs())
    words = simulator.run(Configuration(2, ("one",), 7))
    eights = simulator.run(Configuration(2, ("one",), 7, batch=8))
    assert eights.commits[1].proposed == 0 < words.commits[1].proposed
    assert committed(words) == committed(eights) == agreeing.tokens


def test_audio_that_is_not_prepared_is_encoded_first(
    make_trace: Make, make_stream: Make, provenance: Provenance, flat_costs: Make
) -> None:
    words = [(word,) for word in WORDS]
    window = make_trace(WORDS, {"one": make_stream(words), "two": make_stream(words, waits=True)})
    simulator = Simulator(window, provenance, flat_costs())
    alone = simulator.run(Configuration(2), prepared=False)
    assert alone.latency_ms - alone.decode_ms == pytest.approx(10.0 + 1.0)
    beside = simulator.run(Configuration(2, ("one",), 7), prepared=False)
    assert beside.commits[1].proposed > 0
    waiting = Simulator(window, provenance, flat_costs(step=1.0)).run(
        Configuration(2, ("two",), 7), prepared=False
    )
    # Its own part of 10 begins when the target has encoded, at 10, so that its words are out from 22 to 27. The rounds
    # begin at 11, 15, 19, 23 (it has said 2, the target 3) and 27, when it has said all.
    assert [commit.proposed for commit in waiting.commits] == [0, 0, 0, 0, 2]


def test_a_window_that_the_drafter_does_not_speak_is_the_targets_alone(
    make_trace: Make, provenance: Provenance, flat_costs: Make
) -> None:
    costs = flat_costs()
    simulated = Simulator(make_trace(WORDS), provenance, costs).run(Configuration(2, ("one",), 7))
    assert widths(simulated) == [1] * 7
    assert set(costs.cores) == {2}


def test_a_useless_drafter_is_switched_off_and_its_core_given_back(
    make_trace: Make, make_stream: Make, provenance: Provenance, flat_costs: Make
) -> None:
    answer = [30 + index % 37 for index in range(GRACE + 8)]
    window = make_trace(answer, {"one": make_stream([(25,)] * 200)})
    costs = flat_costs(slower=2.0, step=3.0)
    simulated = Simulator(window, provenance, costs).run(Configuration(2, ("one",), 2))
    off = next(index for index, commit in enumerate(simulated.commits) if commit.switched_off)
    assert off == GRACE - 1
    ends = simulated.round_ends
    assert ends[off] - ends[off - 1] == pytest.approx(8.0)
    assert ends[off + 1] - ends[off] < 8.0  # the drafter finishes its step meanwhile
    assert ends[off + 2] - ends[off + 1] == pytest.approx(4.0)
    assert simulated.producer_done_ms == simulated.decode_ms


def test_a_profile_has_all_that_is_asked_for(
    make_trace: Make, make_stream: Make, provenance: Provenance, profile: Profile
) -> None:
    """Also when a drafter that is switched off finishes its step beside the target on all cores; and with two."""
    answer = [30 + index % 37 for index in range(GRACE + 8)]
    useless = {name: make_stream([(25,)] * 200, waits=name == "two") for name in ("one", "two")}
    simulator = Simulator(make_trace(answer, useless), provenance, ProfileCosts(profile))
    for names in (("one",), ("two",), ("one", "two")):
        for prepared in (True, False):
            simulated = simulator.run(Configuration(2, names, 2), prepared=prepared)
            assert any(commit.switched_off for commit in simulated.commits)


def test_two_drafters_slow_the_target_by_both(
    make_trace: Make, make_stream: Make, provenance: Provenance, flat_costs: Make
) -> None:
    endless = {name: make_stream([(25,)] * 90) for name in ("one", "two")}
    simulator = Simulator(make_trace(WORDS, endless), provenance, flat_costs(slower=1.5))
    simulated = simulator.run(Configuration(4, ("one", "two"), 3))
    assert simulated.round_ends[0] == pytest.approx(4.0 * 1.5 * 1.5)


def test_without_a_budget_the_draft_is_cut_where_it_is_unsure(
    make_trace: Make, make_stream: Make, provenance: Provenance, flat_costs: Make
) -> None:
    unsure = make_stream([(word,) for word in WORDS])
    steps = [
        step if index != 2 else step.__class__(step.ms, (step.words[0]._replace(probabilities=(0.3,)),))
        for index, step in enumerate(unsure.steps)
    ]
    window = make_trace(WORDS, {"one": Stream(tuple(steps), False, False, 1.0, 1.0)})
    configuration = Configuration(2, ("one",), method="as2d-without-budget")
    simulated = Simulator(window, provenance, flat_costs(step=0.01)).run(configuration)
    assert widths(simulated) == [1, 3, 3]  # 31, 32 (unsure), then 34, 35


def test_with_a_floor_candidates_end_where_they_are_unlikely(
    make_trace: Make, make_stream: Make, provenance: Provenance, flat_costs: Make
) -> None:
    window = make_trace(WORDS, {"one": make_stream([(word,) for word in WORDS])})  # 0.9 each
    simulator = Simulator(window, provenance, flat_costs(step=0.01))
    assert widths(simulator.run(Configuration(2, ("one",), 7, floor=0.5))) == [1, 6]
    floored = simulator.run(Configuration(2, ("one",), 7, floor=0.8))
    assert widths(floored) == [1, 4, 2]  # 31, 32, and 33 for nothing; 35
    assert widths(simulator.run(Configuration(2, ("one",), 7, floor=0.95))) == [1, 2, 2, 2]


CONTINUED = tuple(Continuation(min(agreed, 6), ends=False) for agreed in (2, 1, 0, 3, 2, 1, 0))
"""The drafter is wrong about 32; it would go on behind the end."""


@pytest.fixture
def continued(make_trace: Make, make_stream: Make) -> WindowTrace:
    window: WindowTrace = make_trace(WORDS, {"one": make_stream([(30,)], continuations=CONTINUED)})
    return window


def test_turns_by_hand(continued: WindowTrace, provenance: Provenance, flat_costs: Make) -> None:
    """Nobody slows anybody: prompts of 1 each, then drafts of 2 a token and calls of 4 in turn."""
    costs = flat_costs(slower=9.0, round_ms=0.5, align_ms=99.0)
    configuration = Configuration(2, ("one",), 4, method="as2d-without-decoupling")
    simulated = Simulator(continued, provenance, costs).run(configuration)
    assert [(commit.proposed, commit.accepted) for commit in simulated.commits] == [(4, 2), (4, 3)]
    assert simulated.round_ends == pytest.approx([4 * 2 + 4.5, 2 * (4 * 2 + 4.5)])
    assert simulated.producer_done_ms == simulated.decode_ms
    assert simulated.latency_ms == pytest.approx(simulated.decode_ms + 2.0)
    assert set(costs.cores) == {2}
    whole = Simulator(continued, provenance, costs).run(configuration, prepared=False)
    assert whole.latency_ms == pytest.approx(simulated.latency_ms + 20.0)


def test_text_in_the_cache_costs(
    agreeing: WindowTrace, continued: WindowTrace, provenance: Provenance, flat_costs: Make
) -> None:
    costs = flat_costs(a_context=1.0)
    alone = Simulator(agreeing, provenance, costs).run(Configuration(2))
    assert alone.decode_ms == pytest.approx(7 * 4 + sum(range(7)))
    turns = Configuration(2, ("one",), 4, method="speculative")
    simulated = Simulator(continued, provenance, costs).run(turns)
    drafts = sum(2 + context for context in (0, 1, 2, 3)) + sum(2 + context for context in (3, 4, 5, 6))
    assert simulated.decode_ms == pytest.approx(drafts + 4 + 0 + 4 + 3)
    # Steps of 2, 3, 4, … end behind the prompt, at 3, 6, 10, 15, 21, 28; rounds begin at 1, 5, 10, 17, …
    beside = Simulator(agreeing, provenance, costs).run(Configuration(2, ("one",), 7))
    assert [commit.proposed for commit in beside.commits[:3]] == [0, 0, 1]


def test_only_encoders_at_once_slow_each_other(
    make_trace: Make, make_stream: Make, provenance: Provenance, flat_costs: Make
) -> None:
    words = [(word,) for word in WORDS]
    window = make_trace(WORDS, {"one": make_stream(words), "two": make_stream(words, waits=True)})
    simulator = Simulator(window, provenance, flat_costs(encode=100.0, slower=1.5))
    # Both encode until 150; the prompts until 151.5, the first call until 157.5.
    both = simulator.run(Configuration(2, ("one",), 7), prepared=False)
    assert both.latency_ms - both.decode_ms == pytest.approx(150.0 + 1.5)
    # The target encodes alone until 100, then 7 calls beside the other's encoder, which has 100 to do, not 150: it is
    # stopped in the middle, at 100 + 1.5 + 7 × 6, and goes on until 200.
    waiting = simulator.run(Configuration(2, ("two",), 7), prepared=False)
    assert waiting.latency_ms == pytest.approx(143.5)
    assert waiting.producer_done_ms == pytest.approx(200.0 - 101.5)


def test_a_draft_that_ends_is_short(
    make_trace: Make, make_stream: Make, provenance: Provenance, flat_costs: Make
) -> None:
    ends = tuple(Continuation(6 - place, ends=True) for place in range(7))
    window = make_trace(WORDS, {"one": make_stream([(30,)], continuations=ends)})
    simulator = Simulator(window, provenance, flat_costs())
    long = simulator.run(Configuration(2, ("one",), 24, method="speculative"))
    assert [(commit.proposed, commit.accepted) for commit in long.commits] == [(6, 6)]
    assert long.decode_ms == pytest.approx(7 * 2 + 4)  # the seventh step says the end
    short = simulator.run(Configuration(2, ("one",), 5, method="speculative"))
    assert [(commit.proposed, commit.accepted) for commit in short.commits] == [(5, 5), (0, 0)]
    assert short.decode_ms == pytest.approx(5 * 2 + 4 + 1 * 2 + 4)


def test_turns_near_the_limit(
    make_trace: Make, make_stream: Make, provenance: Provenance, flat_costs: Make
) -> None:
    on = tuple(Continuation(6 - place, ends=False) for place in range(6))
    streams = {"one": make_stream([(30,)], continuations=on)}
    window = make_trace(WORDS, streams, limit=6, finish_reason="length")
    simulated = Simulator(window, provenance, flat_costs()).run(
        Configuration(2, ("one",), 7, method="speculative")
    )
    assert [(commit.proposed, commit.accepted) for commit in simulated.commits] == [(5, 5)]


def test_a_recogniser_takes_no_turns(agreeing: WindowTrace, provenance: Provenance, flat_costs: Make) -> None:
    with pytest.raises(InputError, match="one cannot draft from a given text"):
        Simulator(agreeing, provenance, flat_costs()).run(Configuration(2, ("one",), 7, method="speculative"))


@pytest.mark.parametrize("cost", [0.0, -1.0, nan, float("inf")])
@pytest.mark.parametrize("name", ["verify", "step", "open", "encode"])
def test_costs_that_cannot_be_are_refused(
    agreeing: WindowTrace, provenance: Provenance, flat_costs: Make, name: str, cost: float
) -> None:
    simulator = Simulator(agreeing, provenance, flat_costs(**{name: cost}))
    with pytest.raises(InputError, match="as2d profile"):
        simulator.run(Configuration(2, ("one",), 7), prepared=False)


@pytest.mark.parametrize("cost", [-1.0, nan])
@pytest.mark.parametrize("name", ["publish_ms", "round_ms", "align_ms"])
def test_overheads_that_cannot_be_are_refused(
    agreeing: WindowTrace, provenance: Provenance, flat_costs: Make, name: str, cost: float
) -> None:
    with pytest.raises(InputError, match="as2d profile"):
        Simulator(agreeing, provenance, flat_costs(**{name: cost}))


def test_a_drafter_that_was_not_recorded_is_refused(
    agreeing: WindowTrace, provenance: Provenance, flat_costs: Make
) -> None:
    with pytest.raises(InputError, match="no drafter three; use one, two"):
        Simulator(agreeing, provenance, flat_costs()).run(Configuration(2, ("three",), 7))


def hears_badly(random: Random, answer: list[int]) -> list[tuple[int, ...]]:
    """The answer with words left out, added and replaced, in words of one to three tokens."""
    said = [token for token in answer if random.random() > 0.15]
    said = [random.randrange(20, 99) if random.random() < 0.2 else token for token in said]
    words, start = [], 0
    while start < len(said):
        end = start + random.randint(1, 3)
        words.append(tuple(said[start:end]))
        start = end
    return words


def goes_on(random: Random, tokens: int) -> tuple[Continuation, ...]:
    """What a drafter may write on from each part of an answer of so many tokens."""
    return tuple(
        Continuation(random.randint(0, min(24, tokens - place - 1)), random.random() < 0.2)
        for place in range(tokens)
    )


class Drawn(NamedTuple):
    """A random window, how it is simulated, and what that costs."""

    window: WindowTrace
    configuration: Configuration
    prepared: bool
    costs: Costs


@st.composite
def drawn(draw: st.DrawFn, make_trace: Make, make_stream: Make, flat_costs: Make) -> Drawn:
    random = Random(draw(st.integers(0, 10**9)))
    length, reason = draw(st.integers(1, 50)), draw(st.sampled_from(["stop", "length"]))
    answer = [random.randrange(20, 99) for _ in range(length)]
    streams = {
        name: make_stream(
            hears_badly(random, answer),
            waits=draw(st.booleans()),
            chunks=draw(st.booleans()),
            continuations=goes_on(random, length + (reason == "stop")),
        )
        for name in ("one", "two")
    }
    method = draw(st.sampled_from(REPLAYED))
    limit = length if reason == "length" else 60
    configuration = Configuration(
        threads=draw(st.integers(1, 4)),
        drafters=draw(st.sampled_from([("one",), ("two",), ("one", "two"), ("two", "one")]))[
            : 1 if TRAITS[method].serial else 2
        ],
        budget=draw(st.integers(0, 24)),
        batch=draw(st.sampled_from(["word", 1, 3, 8])),
        method=method,
    )
    costs = flat_costs(
        step=draw(st.floats(0.01, 20.0)), slower=draw(st.floats(1.0, 3.0)), round_ms=0.1, align_ms=0.01
    )
    window = make_trace(answer, streams, limit=limit, finish_reason=reason)
    return Drawn(window, configuration, draw(st.booleans()), costs)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_every_configuration_says_what_the_target_said(
    data: st.DataObject, make_trace: Make, make_stream: Make, flat_costs: Make, provenance: Provenance
) -> None:
    window, configuration, prepared, costs = data.draw(drawn(make_trace, make_stream, flat_costs))
    simulated = Simulator(window, provenance, costs).run(configuration, prepared=prepared)
    assert committed(simulated) == window.tokens
    assert simulated.commits[-1].finish_reason == window.finish_reason
    ends = simulated.round_ends
    assert all(before < after for before, after in pairwise(ends))
    assert simulated.producer_done_ms >= simulated.decode_ms == ends[-1]
    assert simulated.latency_ms > simulated.decode_ms


def test_the_same_window_is_simulated_the_same_again(
    agreeing: WindowTrace, provenance: Provenance, flat_costs: Make
) -> None:
    """What is kept for the next configuration must not carry over."""
    simulator = Simulator(agreeing, provenance, flat_costs(slower=1.3))
    first = simulator.run(Configuration(2, ("one",), 7))
    simulator.run(Configuration(2, ("one",), 1, batch=8), prepared=False)
    assert simulator.run(Configuration(2, ("one",), 7)) == first
