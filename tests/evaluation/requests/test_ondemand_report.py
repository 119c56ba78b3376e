import pytest

from as2d.errors import InputError
from as2d.evaluation.contender import Contender
from as2d.evaluation.requests.ondemand import (
    Answered,
    OnDemandOptions,
    contenders_of,
    positions_of,
)
from as2d.evaluation.requests.ondemand_report import as_dict, latencies, report, summarise

CONTENDERS = contenders_of(("auto",), 2)
PACE = {"target-only 2c": 300.0, "target-only 1c": 400.0, "as2d auto 2c1d": 200.0}


def answer(contender: str, position_s: float, repetition: int, **fields: object) -> Answered:
    plain: dict[str, object] = {
        "contender": contender,
        "position_s": position_s,
        "prepared": True,
        "repetition": repetition,
        "tokens": (1, 2, 3, 4),
        "accepted": 3 if "as2d" in contender else 0,
        "identical": True,
        "exact": True,
        "latency_ms": PACE[contender] + position_s + 5 * repetition,
        "first_token_ms": 10.0,
        "decode_ms": PACE[contender],
        "start_s": 0.0,
        "end_s": position_s,
        "windows": 2,
        "encoded": 0,
        "peak_memory_mb": 700.0,
        "faults": (),
    }
    return Answered(**(plain | fields))  # type: ignore[arg-type]


ANSWERS = [
    answer(contender.key, position, repetition, prepared=prepared)
    for prepared in (True, False)
    for position in (30.0, 60.0, 90.0)
    for repetition in (0, 1, 2)
    for contender in CONTENDERS
]


def test_positions_are_even_and_end_with_the_recording() -> None:
    positions = positions_of(600, 19)
    assert (len(positions), positions[0], positions[1], positions[-1]) == (19, 30, 61.667, 600)
    assert positions_of(600, 1) == (600,)


def test_the_reference_is_target_only_on_all_cores() -> None:
    assert [one.key for one in contenders_of(("auto", "self", "self"), 4)] == [
        "target-only 4c",
        "target-only 1c",
        "as2d auto 4c1d",
        "as2d self 4c1d",
    ]
    with pytest.raises(InputError, match="2 cores or more"):
        contenders_of(("auto",), 1)


@pytest.mark.parametrize("fields", [{"positions": 0}, {"repetitions": 0}, {"seconds": 20.0}])
def test_what_cannot_be_measured_is_refused(fields: dict[str, int]) -> None:
    with pytest.raises(InputError, match="or more"):
        OnDemandOptions(**fields)  # type: ignore[arg-type]


def test_a_position_counts_by_its_median() -> None:
    assert latencies(ANSWERS, "as2d auto 2c1d", prepared=True) == {30: 235, 60: 265, 90: 295}


def test_ratios_are_pooled_over_positions() -> None:
    figures = {(one.contender, one.prepared): one for one in summarise(ANSWERS, CONTENDERS)}
    ahead = figures["as2d auto 2c1d", True]
    assert ahead.to_one_core
    assert ahead.to_all_cores
    assert ahead.to_one_core.value == pytest.approx((235 + 265 + 295) / (435 + 465 + 495))
    assert ahead.to_all_cores.value == pytest.approx((235 + 265 + 295) / (335 + 365 + 395))
    assert ahead.to_all_cores.low
    assert ahead.to_all_cores.low < ahead.to_all_cores.value
    assert ahead.tok_s == pytest.approx(1000 * 4 / 200)
    assert ahead.coverage == 0.75
    assert figures["target-only 1c", False].to_one_core == figures["target-only 1c", True].to_one_core
    assert len(figures) == 6


def test_the_report_tells_both_conditions_and_what_differs() -> None:
    different = answer("as2d auto 2c1d", 30.0, 0, identical=False, faults=("it failed",))
    text = report([*ANSWERS, different], CONTENDERS, {"Host": "a machine"})
    assert "* Host: a machine" in text
    assert text.index("## Audio prepared") < text.index("## Nothing prepared")
    assert "identical: 54 of 55" in text
    assert "| 9 of 10 |" in text
    assert "Faults of drafters, which cost time only: 1." in text


def test_an_interrupted_bench_tells_what_there_is() -> None:
    first = [answer(contender.key, 30.0, 0) for contender in CONTENDERS[:2]]
    text = report(first, CONTENDERS, {})
    assert "Nothing prepared" not in text
    assert as_dict(first, CONTENDERS, (), {})["summary"][1]["contender"] == "target-only 1c"
    assert summarise([], [Contender("target-only", 2), Contender("target-only", 1)]) == []
