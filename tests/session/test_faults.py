"""Whatever a drafter does, the request completes with the target's tokens and says what went wrong."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import pytest

from as2d.models.contract import AudioModel
from as2d.session import Session

ToyFactory = Callable[..., AudioModel]
TEXT = "Ask not what your country can do for you."
END = 256


@pytest.fixture(autouse=True)
def _cache(own_cache: Path) -> None:
    """Toys are probed like any model; keep that out of the user's cache."""


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Set when the test is over, for drafters that would hang for ever."""
    event = threading.Event()
    yield event
    event.set()
    for thread in threading.enumerate():
        if thread.name == "as2d-producer":
            thread.join(5)


def unhurried(prefix: Sequence[int]) -> int:
    """A target that gives its drafter time to fail."""
    if tuple(prefix) == tuple(TEXT.encode()[: len(prefix)]):
        sleep(0.002)
    return (*TEXT.encode(), END)[len(prefix)] if len(prefix) <= len(TEXT) else END


def failing() -> None:
    raise RuntimeError("no luck")


def failing_step(prefix: Sequence[int]) -> int:
    raise RuntimeError("no luck")


@pytest.mark.parametrize("fields", [{"on_prepare": failing}, {"on_open": failing}, {"step": failing_step}])
@pytest.mark.parametrize("prepared", [True, False])
def test_a_drafter_that_fails_is_named_in_the_warnings(
    toy: ToyFactory, clips: Mapping[str, Path], fields: dict[str, Any], prepared: bool
) -> None:
    drafter = toy(fields.get("step", TEXT), **{key: fields[key] for key in fields if key != "step"})
    with Session(toy(unhurried), drafter, threads=2) as session:
        audio: Any = session.prepare(clips["jfk"]) if prepared else clips["jfk"]
        result = session.transcribe(audio, method="as2d")
        alone = session.transcribe(audio, method="target-only")
    assert result.tokens == alone.tokens
    assert result.text == TEXT
    assert result.finish_reason == "stop"
    assert result.warnings == ("the drafter toy failed, which cost only time: RuntimeError: no luck",)


def test_auto_does_without_a_drafter_that_fails(toy: ToyFactory, clips: Mapping[str, Path]) -> None:
    with Session(toy(unhurried), toy(TEXT, on_open=failing), threads=2) as session:
        for audio in (session.prepare(clips["jfk"]), clips["jfk"]):
            result = session.transcribe(audio)
            assert (result.text, result.method, result.exact) == (TEXT, "target-only", True)
            assert result.warnings == ("the drafter toy is not used: RuntimeError: no luck",)


def test_a_drafter_that_hangs_delays_an_answer_by_a_second(
    toy: ToyFactory, clips: Mapping[str, Path], release: threading.Event
) -> None:
    def hang(prefix: Sequence[int]) -> int:
        release.wait(30)
        return 0

    with Session(toy(unhurried), toy(hang), threads=2) as session:
        prepared = session.prepare(clips["jfk"])
        began = perf_counter()
        result = session.transcribe(prepared, method="as2d")
        assert perf_counter() - began < 2.5
    assert result.text == TEXT
    assert "did not stop within 1 s and was left behind" in result.warnings[0]


def test_the_same_fault_in_every_window_is_told_once(toy: ToyFactory, clips: Mapping[str, Path]) -> None:
    with Session(toy(unhurried), toy(failing_step), threads=2) as session:
        prepared = session.prepare(clips["jfk"])
        many = type(prepared)(prepared.windows * 4, prepared.samples, prepared.warnings)
        result = session.transcribe(many, method="as2d")
    assert len(result.segments) == 4
    assert len(result.warnings) == 1


def test_a_model_that_is_not_exact_says_so(toy: ToyFactory, clips: Mapping[str, Path]) -> None:
    calls = iter(range(10**9))

    def unsteady(prefix: Sequence[int]) -> int:
        return next(calls) % 200

    with Session(toy(unsteady, limit=30), toy(TEXT), threads=2) as session:
        assert not session.transcribe(clips["jfk"], method="as2d").exact
        assert session.transcribe(clips["jfk"], method="target-only").exact
