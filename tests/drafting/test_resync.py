"""A producer that goes on from the committed text when asked."""

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Event
from time import perf_counter, sleep

import pytest

from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.drafting.producer import Producer
from as2d.drafting.resync import Requests, draft_and_resync

SOON = 5.0
Halted = Callable[[], bool]


class Echo:
    """Publishes the number of committed tokens, again and again if it is endless."""

    def __init__(self, *, endless: bool = False) -> None:
        self.buffer = CandidateBuffer()
        self.requests: Requests = SimpleQueue()
        self.heard: list[tuple[int, ...]] = []
        self.endless = endless
        self.stop = Event()
        self.producer = Producer(lambda buffer, stop: self.run(), self.buffer)

    def run(self) -> None:
        draft_and_resync(self.draft, self.buffer, self.requests, self.stop)

    def draft(self, committed: tuple[int, ...], halted: Halted) -> None:
        self.heard.append(committed)
        self.buffer.publish([len(committed)], [0.5])
        while self.endless and not halted():
            sleep(0.001)

    def end(self) -> None:
        self.stop.set()
        self.requests.put(None)
        assert self.producer.join(SOON)


@pytest.fixture(params=[False, True])
def echo(request: pytest.FixtureRequest) -> Iterator[Echo]:
    echo = Echo(endless=request.param)
    echo.producer.start()
    yield echo
    echo.end()


def until(condition: Callable[[], bool]) -> None:
    end = perf_counter() + SOON
    while not condition():
        assert perf_counter() < end
        sleep(0.001)


def test_each_request_begins_a_new_stream(echo: Echo) -> None:
    for committed in ((), (7, 8), (7, 8, 9)):
        if committed:
            echo.requests.put(committed)
        start = len(committed)
        until(lambda start=start: echo.buffer.snapshot()[0::3] == ((start,), start))  # type: ignore[misc]
    assert echo.heard == [(), (7, 8), (7, 8, 9)]
    assert echo.buffer.fault is None


def test_while_it_has_nothing_to_say_the_buffer_is_closed(echo: Echo) -> None:
    until(lambda: echo.buffer.snapshot()[2] is not echo.endless)
    echo.requests.put((7, 8))
    until(lambda: echo.buffer.snapshot() == Snapshot((2,), (0.5,), closed=not echo.endless, start=2))


def test_a_request_that_comes_first_is_not_lost() -> None:
    echo = Echo()
    echo.requests.put((7, 8))
    echo.producer.start()
    until(lambda: echo.buffer.snapshot().start == 2)
    echo.end()


def test_a_stopped_producer_does_not_go_on() -> None:
    echo = Echo()
    echo.stop.set()
    echo.requests.put((7, 8))
    echo.producer.start()
    assert echo.producer.join(SOON)
    assert echo.heard == [()]
