"""Toy models to profile, and profiles that nobody had to measure."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from as2d.models.contract import AudioModel
from as2d.profiling.bench import Bench
from as2d.profiling.machine import this_machine
from as2d.profiling.plan import Plan, Point, points
from as2d.profiling.profile import Profile, Timing
from as2d.profiling.subjects import Subjects

ToyFactory = Callable[..., AudioModel]
MakeBench = Callable[..., Bench]
MakeProfile = Callable[..., Profile]

SPEECH = np.ones(16_000, np.float32)


@pytest.fixture
def make_bench(toy: ToyFactory) -> MakeBench:
    """A bench of a toy target "big" and toy drafters; `shared` has no encoder. By name, other fields of "small"."""

    def make(threads: int = 2, **fields: Any) -> Bench:
        shared = toy("Hello there.", identity="shared toy")
        vars(shared)["share"] = lambda prepared: prepared
        small = toy("Hello there.", **({"identity": "small toy"} | fields))
        target = toy("Hello, there.", identity="big toy")
        return Bench(Subjects("big", target, {"small": small, "shared": shared}), SPEECH, threads)

    return make


@pytest.fixture
def make_profile() -> MakeProfile:
    """A profile in which a call takes K + context / 100 + length of audio / 1000 ms, and twice that beside another."""

    def make(**fields: Any) -> Profile:
        plan = Plan(2, "big", ("small", "shared"), ("shared",), **fields)
        models = {"big": "big toy", "small": "small toy", "shared": "shared toy"}
        timings = {point: Timing(milliseconds(point), 0.5, 5) for point in points(plan)}
        overheads = {name: Timing(0.001, 0.0, 5) for name in ("publish", "round", "realign", "truncate")}
        return Profile(
            "2026-01-01 00:00 UTC", this_machine(), models, "noise", plan, timings, overheads, {"big": 100.0}
        )

    return make


def milliseconds(point: Point) -> float:
    alone = point.width + point.context / 100 + point.audio_s / 1000
    return 2 * alone if point.beside else alone
