"""Costs are recovered from runs that were made of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.records import Commit
from as2d.replay.calibration import CalibratedCosts, calibrate
from as2d.replay.configuration import Configuration
from as2d.replay.native import NativeRun
from as2d.replay.timed import Call, Log

Make = Callable[..., Any]
WIDTHS = (1, 2, 4, 8)


def call_ms(width: int, context: int, audio_s: float, *, beside: bool) -> float:
    return (2.0 + 0.5 * width) * (1.25 if beside else 1.0) + 0.01 * context + 0.1 * audio_s


def run(audio_s: float, names: tuple[str, ...] = (), closes_after: int = 10) -> NativeRun:
    """Twenty calls, the first of them beside a drafter whose steps take 1.5 ms."""
    now, calls = 103.0, []
    for index in range(20):
        width = WIDTHS[index % 4]
        beside = bool(names) and index < closes_after
        end = now + call_ms(width, 5 * index, audio_s, beside=beside)
        calls.append(Call(now, end - 0.2, (7,) * width, 5 * index, 1 if beside else 2))
        now = end
        if index == closes_after - 1:
            closed = now
    drafters = tuple(drafted(closed) for _ in names)
    return NativeRun(
        window="w",
        audio_s=audio_s,
        configuration=Configuration(2, names, 7),
        names=names,
        commits=(Commit((7,), ("alone",), 0, 0),) * 20,
        arrived=100.0,
        first_root=103.0,
        ended=now,
        done=now,
        target=Log(calls=calls),
        drafters=drafters,
    )


def drafted(closed: float) -> Log:
    starts = [101.0]
    while starts[-1] + 1.5 < closed:
        starts.append(starts[-1] + 1.5)
    return Log(calls=[Call(start, start + 1.0) for start in starts], closed=closed)


@pytest.fixture
def costs(make_trace: Make, make_stream: Make) -> CalibratedCosts:
    runs = [run(seconds, names) for seconds in (5.0, 10.0, 20.0) for names in ((), ("one",))]
    return calibrate("big", runs, [make_trace((30, 31), {"one": make_stream([(30,), (31,)])})])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("cores", "beside"), [(1, "one"), (2, None)])
@pytest.mark.parametrize(("context", "audio_s"), [(0, 5.0), (40, 15.0)])
def test_calls_of_the_target(
    costs: CalibratedCosts, width: int, cores: int, beside: str | None, context: int, audio_s: float
) -> None:
    expected = call_ms(width, context, audio_s, beside=beside is not None)
    assert costs.verify_ms(width, context, audio_s, cores, beside) == pytest.approx(expected, rel=0.02)


def test_steps_and_prompts(costs: CalibratedCosts) -> None:
    assert costs.step_ms("one", 3, 10.0, beside=True) == pytest.approx(1.5, rel=0.02)
    assert costs.step_ms("one", 0, 10.0, beside=False) == pytest.approx(2.0)  # as recorded, alone
    assert costs.open_ms("big", 10.0, 1, "one") == pytest.approx(3.0)
    assert costs.open_ms("one", 10.0, 1, "big") == pytest.approx(1.0)
    assert costs.open_ms("one", 10.0, 1) == pytest.approx(1.0)  # never seen alone
    assert costs.publish_ms == costs.round_ms == costs.align_ms == 0.0


def test_a_width_that_never_occurred_costs_what_the_nearest_does(costs: CalibratedCosts) -> None:
    assert costs.verify_ms(3, 0, 10.0, 2) == costs.verify_ms(4, 0, 10.0, 2)
    assert costs.verify_ms(20, 0, 10.0, 2) == costs.verify_ms(8, 0, 10.0, 2)


def test_a_width_that_only_occurred_beside_is_scaled() -> None:
    alone = replace(run(10.0), configuration=Configuration(1))
    calls = [call._replace(threads=1) for call in alone.target.calls if len(call.tokens) == 1]
    ended = calls[-1].end
    narrow = replace(alone, target=Log(calls=calls), commits=alone.commits[: len(calls)], ended=ended)
    lone = calibrate("big", [narrow], [])
    both = calibrate("big", [narrow, run(10.0, ("one",))], [])
    share = lone.verify_ms(1, 0, 10.0, 1) / both.verify_ms(1, 0, 10.0, 1, "one")
    assert both.verify_ms(8, 0, 10.0, 1) == pytest.approx(share * both.verify_ms(8, 0, 10.0, 1, "one"))


def test_a_call_that_was_partly_alone_counts_as_neither() -> None:
    mixed = run(10.0, ("one",), closes_after=4)  # each width occurs beside once
    mixed.drafters[0].closed -= 1.0  # less the last of them, the widest
    costs = calibrate("big", [mixed], [])
    assert costs.verify_ms(4, 0, 10.0, 1, "one") == costs.verify_ms(8, 0, 10.0, 1, "one")
    whole = calibrate("big", [run(10.0, ("one",), closes_after=4)], [])
    assert whole.verify_ms(4, 0, 10.0, 1, "one") < whole.verify_ms(8, 0, 10.0, 1, "one")


def test_a_call_in_which_the_process_was_stopped_says_nothing() -> None:
    runs = [run(seconds) for seconds in (5.0, 10.0, 20.0)]
    usual = calibrate("big", runs, []).verify_ms(1, 0, 10.0, 2)
    late = runs[1]
    shifted: Sequence[Call] = [
        call if index < 9 else call._replace(start=call.start + 500, end=call.end + 500)
        for index, call in enumerate(late.target.calls)
    ]
    runs[1] = replace(late, target=Log(calls=list(shifted)), ended=late.ended + 500)
    assert calibrate("big", runs, []).verify_ms(1, 0, 10.0, 2) == pytest.approx(usual, rel=0.05)


def test_what_no_run_had_is_refused(costs: CalibratedCosts) -> None:
    with pytest.raises(InputError, match="on 4 cores; calibrate"):
        costs.verify_ms(1, 0, 10.0, 4)
    with pytest.raises(InputError, match="had two on 1 cores; calibrate"):
        costs.step_ms("two", 0, 10.0, beside=True)
    with pytest.raises(InputError, match="opened two; calibrate"):
        costs.open_ms("two", 10.0, 1)
    with pytest.raises(InputError, match="use a profile"):
        costs.encode_ms("big", 10.0, 2)


def test_nothing_gets_cheaper_by_more_text() -> None:
    """Noise may say so; carried on beyond the runs it would end below nothing."""
    falling = run(10.0)
    now, calls = 103.0, []
    for index in range(20):
        calls.append(Call(now, now + 9.9, (7,), index))
        now += 10.0 - 0.1 * index
    costs = calibrate("big", [replace(falling, target=Log(calls=calls), ended=now)], [])
    assert costs.verify_ms(1, 5_000, 10.0, 1) == costs.verify_ms(1, 0, 10.0, 1) > 0
