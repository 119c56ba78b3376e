"""The producer's thread under every fault, and the free-running draft."""

from collections.abc import Callable, Sequence
from threading import Event
from time import perf_counter, sleep

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.drafting.prefix import PrefixDrafter
from as2d.drafting.producer import Draft, Producer, free_run
from as2d.drafting.publication import Publisher
from as2d.errors import InputError
from as2d.models.contract import Rows

SOON = 5.0


class Scripted:
    """Says what a function of its cache says."""

    root = 7

    def __init__(self, model: Callable[[Sequence[int]], int], capacity: int = 1000) -> None:
        self.model = model
        self.capacity = capacity
        self.cache = [5, 6]
        self.calls = 0

    @property
    def length(self) -> int:
        return len(self.cache)

    def forward(self, tokens: Sequence[int]) -> Rows:
        if self.length + len(tokens) > self.capacity:
            raise InputError("no room")
        self.calls += 1
        greedy = []
        for token in tokens:
            self.cache.append(token)
            greedy.append(self.model(self.cache))
        return Rows(tuple(greedy), (0.5,) * len(greedy))

    def scores(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        raise AssertionError("for the exactness probe only")

    def truncate(self, length: int) -> None:
        del self.cache[length:]

    def use_threads(self, threads: int) -> None:
        raise AssertionError("a producer keeps its core")


class Pairs:
    """A vocabulary in which every even token begins a word."""

    size = 100
    weak_tokens: frozenset[int] = frozenset()
    word_starts: frozenset[int] = frozenset()

    def encode(self, text: str) -> tuple[int, ...]:
        raise AssertionError("the drafter has the same tokens")

    def decode(self, tokens: Sequence[int]) -> str:
        raise AssertionError("the drafter has the same tokens")

    def token_bytes(self, token: int) -> bytes:
        return b"word" if token % 2 else b" word"


PAIRS = Pairs()


def drafter(decoder: Scripted, limit: int = 100) -> PrefixDrafter:
    return PrefixDrafter(decoder, PAIRS, PAIRS, end_ids=frozenset({0, 1}), limit=limit)


def run(draft: Draft) -> tuple[CandidateBuffer, Producer]:
    buffer = CandidateBuffer()
    producer = Producer(draft, buffer)
    producer.start()
    assert producer.join(SOON)
    assert buffer.snapshot().closed
    return buffer, producer


def drafted(
    decoder: Scripted, *, limit: int = 100, stop: Event | None = None, said: Sequence[int] = ()
) -> tuple[int, ...]:
    buffer = CandidateBuffer()
    source = drafter(decoder, limit)
    source.rewind(said)
    free_run(source, Publisher(buffer, "word"), (stop or Event()).is_set)
    assert not buffer.snapshot().closed
    return buffer.snapshot().tokens


def counting(cache: Sequence[int]) -> int:
    return cache[-1] + 1


def test_a_draft_publishes_and_its_buffer_is_closed() -> None:
    before = perf_counter()
    buffer, producer = run(lambda buffer, stop: buffer.publish([1, 2], [0.5, 0.5]))
    assert buffer.snapshot().tokens == (1, 2)
    assert buffer.fault is None
    assert producer.done_at is not None
    assert before <= producer.done_at <= perf_counter()


@pytest.mark.parametrize(
    "error",
    [ValueError("bad head"), MemoryError("full"), SystemExit(3), KeyboardInterrupt("x"), GeneratorExit("y")],
)
def test_whatever_is_raised_becomes_the_fault(error: BaseException) -> None:
    def draft(buffer: CandidateBuffer, stop: Event) -> None:
        buffer.publish([1], [0.5])
        raise error

    buffer, producer = run(draft)
    assert buffer.fault == f"{type(error).__name__}: {error}"
    assert buffer.snapshot().tokens == (1,)
    assert producer.done_at is not None


def test_a_draft_that_says_nothing() -> None:
    buffer, _ = run(lambda buffer, stop: None)
    assert buffer.snapshot() == Snapshot(closed=True)
    assert buffer.fault is None


def test_a_malformed_batch_is_a_fault() -> None:
    buffer, _ = run(lambda buffer, stop: buffer.publish([1, 2], [0.5]))
    assert buffer.fault is not None
    assert buffer.fault.startswith("InputError: ")
    assert buffer.snapshot().tokens == ()


def test_publishing_after_an_early_close_is_a_fault() -> None:
    def draft(buffer: CandidateBuffer, stop: Event) -> None:
        buffer.close()
        buffer.publish([1], [0.5])

    buffer, _ = run(draft)
    assert buffer.fault is not None
    assert buffer.fault.startswith("ClosedError: ")


def test_a_late_draft_is_seen_when_it_comes() -> None:
    may_publish = Event()

    def draft(buffer: CandidateBuffer, stop: Event) -> None:
        may_publish.wait(SOON)
        buffer.publish([1], [0.5])

    buffer = CandidateBuffer()
    producer = Producer(draft, buffer)
    producer.start()
    assert buffer.snapshot() == Snapshot()
    assert producer.done_at is None
    may_publish.set()
    assert producer.join(SOON)
    assert buffer.snapshot().tokens == (1,)


def test_stop_ends_an_endless_draft() -> None:
    def draft(buffer: CandidateBuffer, stop: Event) -> None:
        while not stop.is_set():
            buffer.publish([1], [0.5])
            sleep(0.001)

    buffer = CandidateBuffer()
    producer = Producer(draft, buffer)
    producer.start()
    assert not producer.join(0.01)
    producer.stop()
    assert producer.join(SOON)
    assert buffer.snapshot().closed
    assert buffer.fault is None


def test_a_draft_that_ignores_stop_holds_nobody() -> None:
    release = Event()

    def draft(buffer: CandidateBuffer, stop: Event) -> None:
        release.wait(SOON)

    producer = Producer(draft, CandidateBuffer())
    producer.start()
    producer.stop()
    assert not producer.join(0.05)
    assert producer._thread.daemon
    release.set()
    assert producer.join(SOON)


def test_a_producer_may_be_stopped_before_it_starts() -> None:
    producer = Producer(lambda buffer, stop: None, CandidateBuffer())
    producer.stop()
    assert producer.join(SOON)


def test_without_a_thread_to_have_the_source_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("as2d.drafting.producer.Thread.start", start)
    buffer, producer = run(lambda buffer, stop: None)
    assert buffer.fault == "RuntimeError: can't start new thread"
    assert producer.done_at is not None


def test_a_free_run_drafts_from_its_own_history_to_the_end_id() -> None:
    decoder = Scripted(lambda cache: 0 if len(cache) == 8 else counting(cache))
    assert drafted(decoder) == (8, 9, 10, 11, 12)
    assert decoder.cache == [5, 6, 7, 8, 9, 10, 11, 12]


def test_a_free_run_ends_at_its_limit() -> None:
    assert drafted(Scripted(counting), limit=5) == (8, 9, 10, 11, 12)


def test_a_free_run_ends_when_its_cache_is_full() -> None:
    assert drafted(Scripted(counting, capacity=6)) == (8, 9, 10, 11)


def test_a_free_run_ends_in_a_loop() -> None:
    assert drafted(Scripted(lambda cache: 4)) == (4,) * 24


def test_a_free_run_ends_when_told() -> None:
    stop = Event()

    def model(cache: Sequence[int]) -> int:
        if len(cache) == 5:
            stop.set()
        return counting(cache)

    assert drafted(Scripted(model), stop=stop) == (8, 9, 10)


def test_a_free_run_goes_on_from_what_was_said_in_one_call() -> None:
    decoder = Scripted(lambda cache: 0 if len(cache) == 9 else counting(cache))
    assert drafted(decoder, said=(20, 21, 22)) == (23, 24, 25)
    assert decoder.cache == [5, 6, 7, 20, 21, 22, 23, 24, 25]
    assert decoder.calls == 4


@pytest.mark.parametrize(("limit", "capacity"), [(3, 1000), (100, 5)])
def test_a_free_run_that_has_no_room_behind_what_was_said_says_nothing(limit: int, capacity: int) -> None:
    decoder = Scripted(counting, capacity=capacity)
    assert drafted(decoder, limit=limit, said=(20, 21, 22)) == ()
    assert decoder.calls == 0


def test_a_free_run_in_a_thread() -> None:
    buffer, _ = run(
        lambda buffer, stop: free_run(drafter(Scripted(counting), 20), Publisher(buffer, 8), stop.is_set)
    )
    assert buffer.snapshot().tokens == tuple(range(8, 28))
