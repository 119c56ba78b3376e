"""A whole profile, interrupted and continued."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from as2d.errors import InputError
from as2d.models.whisper.drafter import load_whisper_self_drafter
from as2d.models.whisper.model import WhisperModel
from as2d.profiling.bench import Bench
from as2d.profiling.costs import Costs
from as2d.profiling.machine import Wanted, profile_machine, this_machine
from as2d.profiling.measure import Rule
from as2d.profiling.plan import Plan, Point, points
from as2d.profiling.profile import load_profile
from as2d.profiling.subjects import Subjects

MakeBench = Callable[..., Bench]
SPEECH = np.random.default_rng(0).standard_normal(16_000).astype(np.float32)
QUICK = Rule(repetitions=2, most=2)


def no_memory() -> Mapping[str, float]:
    return {}


def wanted_of(bench: Bench, widest: int = 2) -> Wanted:
    return Wanted(bench.plan(widest, (1.0,), (3,)), "ones", no_memory, QUICK)


def ignore(point: Point) -> None:
    """Nobody looks."""


def test_a_profile_is_written_whole(make_bench: MakeBench, tmp_path: Path) -> None:
    bench, out = make_bench(), tmp_path / "profile.json"
    wanted = Wanted(wanted_of(bench).plan, "ones", lambda: {"big": 3.0}, QUICK)
    told: list[Point] = []
    profile = profile_machine(bench, wanted, out, told.append)
    assert load_profile(out) == profile
    assert list(profile.timings) == list(points(wanted.plan))
    assert sorted(map(repr, told)) == sorted(map(repr, profile.timings))
    assert profile.models == {"big": "big toy", "small": "small toy", "shared": "shared toy"}
    assert (profile.machine, profile.audio, profile.memory_mb) == (this_machine(), "ones", {"big": 3.0})
    assert set(profile.overheads) == {"publish", "round", "realign", "truncate"}
    assert [file.name for file in tmp_path.iterdir()] == ["profile.json"]


def interrupt_at(count: int) -> Callable[[Point], None]:
    told: list[Point] = []

    def progress(point: Point) -> None:
        told.append(point)
        if len(told) == count:
            raise KeyboardInterrupt

    return progress


def test_what_is_interrupted_goes_on_where_it_was(make_bench: MakeBench, tmp_path: Path) -> None:
    out, partial = tmp_path / "profile.json", tmp_path / "profile.json.partial"
    bench = make_bench()
    with pytest.raises(KeyboardInterrupt):
        profile_machine(bench, wanted_of(bench), out, interrupt_at(5))
    begun = load_profile(partial, partial=True)
    assert len(begun.timings) == 5
    assert not out.exists()
    with pytest.raises(KeyboardInterrupt):
        profile_machine(bench, wanted_of(bench), out, interrupt_at(9))
    assert len(load_profile(partial, partial=True).timings) == 9
    profile = profile_machine(bench, wanted_of(bench), out, ignore)
    assert begun.timings.items() <= profile.timings.items(), "nothing was timed again"
    assert profile.missing == ()
    assert not partial.exists()


def test_an_interrupted_memory_measurement_keeps_the_timings(make_bench: MakeBench, tmp_path: Path) -> None:
    def interrupted() -> Mapping[str, float]:
        raise KeyboardInterrupt

    bench, out = make_bench(), tmp_path / "profile.json"
    with pytest.raises(KeyboardInterrupt):
        profile_machine(bench, Wanted(wanted_of(bench).plan, "ones", interrupted, QUICK), out, ignore)
    assert load_profile(tmp_path / "profile.json.partial", partial=True).missing == ()


@pytest.mark.parametrize("widest", [2, 3])
def test_what_another_model_or_plan_left_is_not_continued(
    make_bench: MakeBench, tmp_path: Path, widest: int
) -> None:
    out = tmp_path / "profile.json"
    bench = make_bench(identity="other toy") if widest == 2 else make_bench()
    with pytest.raises(KeyboardInterrupt):
        profile_machine(bench, wanted_of(bench, widest), out, interrupt_at(5))
    earlier = load_profile(tmp_path / "profile.json.partial", partial=True)
    bench = make_bench()
    profile = profile_machine(bench, wanted_of(bench), out, ignore)
    assert profile.models["small"] == "small toy"
    assert not earlier.timings.items() & profile.timings.items()


def test_a_damaged_partial_file_is_begun_anew(make_bench: MakeBench, tmp_path: Path) -> None:
    (tmp_path / "profile.json.partial").write_text("{")
    bench = make_bench()
    assert profile_machine(bench, wanted_of(bench), tmp_path / "profile.json", ignore).missing == ()


def test_nothing_is_measured_for_a_file_that_cannot_be(make_bench: MakeBench, tmp_path: Path) -> None:
    bench = make_bench()
    with pytest.raises(InputError, match="no folder"):
        profile_machine(bench, wanted_of(bench), tmp_path / "none" / "profile.json", interrupt_at(1))


def test_the_real_models(base: WhisperModel, tiny: WhisperModel, tmp_path: Path) -> None:
    drafters = {"self": load_whisper_self_drafter(base), "whisper-tiny.en": tiny}
    bench = Bench(Subjects("whisper-base", base, drafters), SPEECH, 1)
    plan = bench.plan(2, (1.0,), (8,))
    assert plan == Plan(1, "whisper-base", ("self", "whisper-tiny.en"), ("self",), 2, (8,), (1.0,))
    profile = profile_machine(
        bench, Wanted(plan, "noise", no_memory, Rule(2, most=2)), tmp_path / "p.json", ignore
    )
    costs = Costs(load_profile(tmp_path / "p.json"))
    assert profile.missing == ()
    assert costs.encode_ms("whisper-base", 1, 1) > costs.verify_ms(2, 8, 1, 1) > costs.round_ms
    assert costs.encode_ms("whisper-base", 1, 1) > costs.encode_ms("self", 1, 1)
    assert costs.step_ms("whisper-tiny.en", 8, 1, beside=True) > costs.publish_ms
