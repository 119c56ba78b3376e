"""The calls that are timed, and the other side at work meanwhile."""

import threading
from collections.abc import Callable, Sequence
from time import sleep

import numpy as np
import pytest

from as2d.errors import InputError, ModelError
from as2d.models.contract import AudioModel
from as2d.profiling.bench import Bench
from as2d.profiling.plan import Other, Point
from as2d.profiling.subjects import Subjects

MakeBench = Callable[..., Bench]
ToyFactory = Callable[..., AudioModel]


def test_a_call_forwards_the_width_behind_the_context_and_forgets_it(toy: ToyFactory) -> None:
    seen: list[int] = []

    def step(prefix: Sequence[int]) -> int:
        seen.append(len(prefix))
        return 1

    bench = Bench(Subjects("big", toy(step), {}), np.zeros(16_000, np.float32), 2)
    point = Point("forward", "big", 1, 1.0, 5, 3)
    call = bench.calls([point])[point]
    seen.clear()
    assert call() > 0
    assert call() > 0
    assert seen == [5, 6, 7, 5, 6, 7]


def test_a_length_of_audio_is_encoded_once_for_its_decoders(make_bench: MakeBench) -> None:
    encoded: list[int] = []
    bench = make_bench(on_prepare=lambda: encoded.append(1))
    planned = [Point("forward", "small", cores, 1.0, context, 1) for cores in (1, 2) for context in (2, 4)]
    for call in bench.calls(planned).values():
        call()
    assert len(encoded) == 1


def test_encoding_and_opening_are_done_anew_in_each_call(make_bench: MakeBench) -> None:
    done: list[str] = []
    bench = make_bench(on_prepare=lambda: done.append("encode"), on_open=lambda: done.append("open"))
    encode, opened = Point("encode", "small", 1, 1.0), Point("open", "small", 1, 1.0)
    bench.prepared("small", 1.0)
    calls = {**bench.calls([encode]), **bench.calls([opened])}
    done.clear()
    for point in (encode, encode, opened, opened):
        calls[point]()
    assert done == ["encode", "encode", "open", "open"]


@pytest.mark.parametrize(
    "other", [Other("small", 1, 1), Other("shared", 1, 1), Other("small", 1, 0), Other("big", 1, 8)]
)
def test_the_other_side_works_until_it_is_not_needed(make_bench: MakeBench, other: Other) -> None:
    bench, before = make_bench(), set(threading.enumerate())
    with bench.busy(other, 1.0):
        (thread,) = set(threading.enumerate()) - before
        sleep(0.01)
        assert thread.is_alive(), "it goes on from the start at its end"
    assert not thread.is_alive()


def test_nobody_else_works_alone(make_bench: MakeBench) -> None:
    before = set(threading.enumerate())
    with make_bench().busy(None, 1.0):
        assert set(threading.enumerate()) <= before


def test_the_drafter_drafts_again_and_again(make_bench: MakeBench, toy: ToyFactory) -> None:
    starts: list[int] = []
    often = threading.Event()
    text = b"Hello."

    def step(prefix: Sequence[int]) -> int:
        if not prefix:
            starts.append(1)
            if len(starts) > 3:
                often.set()
        return 256 if len(prefix) >= len(text) else text[len(prefix)]

    bench = Bench(Subjects("big", toy("Hello."), {"small": toy(step)}), np.zeros(16_000, np.float32), 2)
    with bench.busy(Other("small", 1, 1), 1.0):
        assert often.wait(10)


def test_a_side_that_fails_is_told(toy: ToyFactory) -> None:
    asked = threading.Event()

    def step(prefix: Sequence[int]) -> int:
        asked.set()
        raise RuntimeError("no luck")

    bench = Bench(Subjects("big", toy("Hello."), {"small": toy(step)}), np.zeros(16_000, np.float32), 2)
    with (
        pytest.raises(ModelError, match=r"small failed .*no luck.*leave it out"),
        bench.busy(Other("small", 1, 1), 1.0),
    ):
        assert asked.wait(10)


def test_what_is_raised_meanwhile_stops_the_other_side(make_bench: MakeBench) -> None:
    bench, before = make_bench(), set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt), bench.busy(Other("small", 1, 1), 1.0):
        raise KeyboardInterrupt
    assert set(threading.enumerate()) <= before


def test_contexts_fit_the_smallest_model(make_bench: MakeBench) -> None:
    assert make_bench().plan().contexts == (8, 64, 192)
    assert make_bench(capacity=100).plan().contexts == (8, 64, 75)
    assert make_bench(capacity=100).plan(widest=1).contexts == (8, 64, 92), "the other side verifies 8 tokens"
    with pytest.raises(InputError, match="no room"):
        make_bench(capacity=20).plan()
