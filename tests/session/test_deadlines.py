"""Deadlines of requests, and when they came and were answered."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from time import perf_counter, sleep, time
from typing import Any

import numpy as np
import pytest

from as2d.errors import As2dError, CancelledError, DeadlineError, InputError
from as2d.models.contract import AudioModel
from as2d.records import SAMPLE_RATE
from as2d.session import PreparedRecording, Session
from as2d.session.request import Request

ToyFactory = Callable[..., AudioModel]
CLIP = Path(__file__).parents[1] / "clips" / "jfk.flac"
SOON = 10.0


def endless(prefix: Sequence[int]) -> int:
    sleep(0.005)
    return ord("a") + len(prefix) * len(prefix) % 25


@pytest.fixture(autouse=True)
def _cache(own_cache: Path) -> None:
    """Toys are probed like any model; keep that out of the user's cache."""


@pytest.fixture
def slow(toy: ToyFactory) -> Iterator[tuple[Session, PreparedRecording]]:
    """A session whose answers take five seconds, and a recording for it."""
    with Session(toy(endless, limit=1000), None, threads=1) as session:
        yield session, session.prepare(CLIP)


@pytest.mark.parametrize("deadline", [0, 0.0, -1, -0.001])
def test_a_deadline_in_the_past_is_told_at_once(
    slow: tuple[Session, PreparedRecording], deadline: Any
) -> None:
    session, heard = slow
    for ask in (session.submit, session.transcribe):
        with pytest.raises(DeadlineError, match="has passed already; give a number above 0"):
            ask(heard, deadline_s=deadline)
    with pytest.raises(TimeoutError):
        session.prepare(CLIP, deadline_s=deadline)


@pytest.mark.parametrize("deadline", ["1", True, float("nan"), float("inf"), [1], 10**400])
def test_a_deadline_that_is_no_number_is_refused(
    slow: tuple[Session, PreparedRecording], deadline: Any
) -> None:
    session, heard = slow
    with pytest.raises(InputError, match="give seconds from now, or None"):
        session.submit(heard, deadline_s=deadline)


def test_one_that_passes_while_decoding_ends_the_request(slow: tuple[Session, PreparedRecording]) -> None:
    session, heard = slow
    began = perf_counter()
    request = session.submit(heard, deadline_s=0.2)
    texts = []
    with pytest.raises(DeadlineError, match=r"within the deadline of 0\.2 s"):
        texts += [event.text for event in request.events()]
    assert 0.19 < perf_counter() - began < 3
    with pytest.raises(DeadlineError):
        request.result()
    session.run(lambda: None).result(1)  # the worker is free again, long before an answer


def test_one_that_passes_frees_the_session_though_nobody_waits(
    slow: tuple[Session, PreparedRecording],
) -> None:
    session, heard = slow
    request = session.submit(heard, deadline_s=0.1)
    session.run(lambda: None).result(2)
    with pytest.raises(DeadlineError):
        request.result(0)


def test_one_that_passes_while_queued_is_told_in_time(slow: tuple[Session, PreparedRecording]) -> None:
    session, heard = slow
    first = session.submit(heard)
    second = session.submit(heard, deadline_s=0.1)
    began = perf_counter()
    with pytest.raises(DeadlineError):
        second.result()
    assert perf_counter() - began < 2
    first.cancel()
    with pytest.raises(CancelledError):
        first.result(SOON)


def test_an_answer_in_time_is_an_answer(toy: ToyFactory) -> None:
    with Session(toy("Yes."), None, threads=1) as session:
        for deadline in (30, 1e15):
            assert session.transcribe(CLIP, deadline_s=deadline).text == "Yes."
        assert session.prepare(CLIP, deadline_s=30).windows


def test_a_cancelled_request_stays_cancelled_when_its_deadline_is_far(
    slow: tuple[Session, PreparedRecording],
) -> None:
    session, heard = slow
    request = session.submit(heard, deadline_s=60)
    request.cancel()
    with pytest.raises(CancelledError):
        request.result(SOON)


def test_the_first_end_of_a_request_is_its_end() -> None:
    request: Request[int] = Request()
    request.fail(As2dError("first"))
    request.succeed(1)
    request.fail(As2dError("second"))
    with pytest.raises(As2dError, match="first"):
        list(request.events())


def test_the_result_says_when_it_came(toy: ToyFactory) -> None:
    gate = Event()
    before = time()
    with Session(toy("Yes."), None, threads=1) as session:
        session.run(lambda: gate.wait(SOON))
        request = session.submit(CLIP)
        sleep(0.05)
        gate.set()
        timing = request.result(SOON).timing
    assert timing
    assert before <= timing.arrived_at <= time()
    assert timing.first_token_ms is not None
    assert timing.last_token_ms is not None
    assert 50 <= timing.queued_ms < timing.first_token_ms < timing.last_token_ms


@pytest.mark.parametrize(
    ("says", "audio"), [("", CLIP), ("Yes.", (np.zeros(SAMPLE_RATE, np.float32), SAMPLE_RATE))]
)
def test_without_a_token_there_is_no_time_of_one(toy: ToyFactory, says: str, audio: Any) -> None:
    with Session(toy(says), None, threads=1) as session:
        timing = session.transcribe(audio).timing
    assert timing
    assert (timing.first_token_ms, timing.last_token_ms) == (None, None)


def test_any_work_can_be_run_and_its_error_is_raised(toy: ToyFactory) -> None:
    with Session(toy(""), None, threads=1) as session:
        assert session.run(lambda: 5).result(SOON) == 5
        with pytest.raises(ZeroDivisionError):
            session.run(lambda: 1 // 0, lane="mine").result(SOON)
