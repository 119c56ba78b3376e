"""Costs looked up in a profile."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from as2d.errors import InputError
from as2d.profiling.costs import Costs
from as2d.profiling.plan import Other
from as2d.profiling.profile import Profile, Timing

MakeProfile = Callable[..., Profile]


@pytest.fixture
def costs(make_profile: MakeProfile) -> Costs:
    return Costs(make_profile())


@pytest.mark.parametrize("width", [1, 7, 25])
@pytest.mark.parametrize("context", [8, 64, 192])
@pytest.mark.parametrize("audio_s", [10.0, 30.0])
def test_what_was_timed_is_found(costs: Costs, width: int, context: int, audio_s: float) -> None:
    alone = width + context / 100 + audio_s / 1000
    for cores in (1, 2):
        assert costs.verify_ms(width, context, audio_s, cores) == pytest.approx(alone)
    for drafter in ("small", "shared"):
        assert costs.verify_ms(width, context, audio_s, 1, drafter) == pytest.approx(2 * alone)


def test_contexts_and_lengths_between_are_interpolated(costs: Costs) -> None:
    assert costs.verify_ms(3, 100, 16.0, 1) == pytest.approx(3 + 1 + 0.016)
    assert costs.verify_ms(3, 36, 10.0, 1) == pytest.approx(3 + 0.36 + 0.01)


@pytest.mark.parametrize(("context", "audio_s", "nearest"), [(0, 1.0, 3.09), (400, 60.0, 4.95)])
def test_beyond_what_was_timed_the_nearest_holds(
    costs: Costs, context: int, audio_s: float, nearest: float
) -> None:
    assert costs.verify_ms(3, context, audio_s, 1) == pytest.approx(nearest)


def test_widths_are_not_interpolated(make_profile: MakeProfile) -> None:
    profile = make_profile()
    cliff = {
        point: Timing(50.0, 0.0, 5) if point.width == 9 else timing
        for point, timing in profile.timings.items()
    }
    costs = Costs(replace(profile, timings=cliff))
    assert [round(costs.verify_ms(width, 64, 10, 1)) for width in (8, 9, 10)] == [9, 50, 11]


def test_a_drafters_token(costs: Costs) -> None:
    assert costs.step_ms("small", 64, 10, beside=False) == pytest.approx(1.65)
    assert costs.step_ms("small", 64, 10, beside=False, cores=2) == pytest.approx(1.65)
    assert costs.step_ms("small", 64, 10, beside=True) == pytest.approx(3.3)


def test_beside_the_target_narrow_and_wide_rounds_count_alike(make_profile: MakeProfile) -> None:
    profile = make_profile()
    timings = {
        point: Timing(9.0, 0.0, 5) if point.beside == Other("big", 1, 8) else timing
        for point, timing in profile.timings.items()
    }
    costs = Costs(replace(profile, timings=timings))
    assert costs.step_ms("small", 64, 10, beside=True) == pytest.approx((3.3 + 9) / 2)


def test_what_precedes_the_first_token(costs: Costs) -> None:
    assert costs.encode_ms("big", 30, 2) == pytest.approx(0.03)
    assert costs.encode_ms("big", 30, 1, "small") == pytest.approx(0.06)
    assert costs.encode_ms("small", 20, 1, "big") == pytest.approx(0.04)
    assert costs.open_ms("shared", 10, 1) == pytest.approx(0.01)
    assert costs.open_ms("shared", 10, 1, "big") == pytest.approx(0.02)


def test_overheads(costs: Costs) -> None:
    assert (costs.publish_ms, costs.align_ms, costs.round_ms) == (0.001, 0.001, 0.001)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda costs: costs.verify_ms(26, 8, 10, 1), "forward of big on 1 core at width 26;"),
        (lambda costs: costs.verify_ms(0, 8, 10, 1), "no time for forward of big"),
        (lambda costs: costs.verify_ms(1, 8, 10, 3), "on 3 cores"),
        (lambda costs: costs.verify_ms(1, 8, 10, 2, "small"), "on 2 cores at width 1 beside small"),
        (lambda costs: costs.verify_ms(1, 8, 10, 1, "other"), "beside other"),
        (lambda costs: costs.step_ms("other", 8, 10, beside=False), "forward of other"),
        (lambda costs: costs.step_ms("small", 8, 10, beside=True, cores=2), "on 2 cores"),
        (lambda costs: costs.encode_ms("shared", 10, 1, "big"), "encode of shared on 1 core beside big"),
        (lambda costs: costs.open_ms("other", 10, 1), "open of other"),
        (lambda costs: Costs(replace(costs.profile, overheads={})).round_ms, "no time for round"),
    ],
)
def test_what_was_not_timed_is_refused(costs: Costs, ask: Callable[[Costs], float], message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        ask(costs)
    assert "measure it with `as2d profile`" in str(raised.value)
