"""Audio in real time: nothing is lost, blocks widen when they are late, lags count from arrival."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from threading import Event
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.errors import AudioError, InputError
from as2d.models.contract import AudioModel
from as2d.session import Session
from as2d.session.live_text import LiveEvent
from as2d.session.pacing import Arrivals, Block, LiveBlock, LiveEnd, LiveItem, follow, paced, run_live

Floats = NDArray[np.float32]
ToyFactory = Callable[..., AudioModel]
CLIPS = Path(__file__).parents[1] / "clips"
TEXT = "Ask not what your country can do for you."
SECOND = 16_000


def ramp(count: int) -> Floats:
    return np.arange(count, dtype=np.float32)


def pieces(samples: Floats, sizes: Sequence[int]) -> list[Floats]:
    return np.split(samples, np.cumsum(sizes[:-1]))


def arrived(source: Iterable[Floats]) -> Arrivals:
    """All of the source, read before anything is taken."""
    arrivals = Arrivals(source)
    arrivals.start()
    arrivals._reader.join()
    return arrivals


def endless(given: list[Floats], forever: Event) -> Iterator[Floats]:
    """Some pieces, and then nothing for ever."""
    yield from given
    forever.wait()


@pytest.fixture
def forever() -> Iterator[Event]:
    event = Event()
    yield event
    event.set()


@pytest.fixture(autouse=True)
def _cache(own_cache: Path) -> None:
    """Toys are probed like any model; keep that out of the user's cache."""


@pytest.fixture(scope="module")
def speech() -> Floats:
    with open_audio(CLIPS / "jfk.flac") as stream:
        return np.concatenate(list(stream))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 500), min_size=1, max_size=20), st.integers(1, 900), st.booleans())
def test_every_sample_is_taken_once_and_in_order(sizes: list[int], size: int, early: bool) -> None:
    samples = ramp(sum(sizes))
    arrivals = Arrivals(pieces(samples, sizes))
    arrivals.start()
    if early:
        arrivals._reader.join()
    blocks: list[Block] = []
    while not blocks or not blocks[-1].last:
        blocks.append(arrivals.take(size))
    np.testing.assert_array_equal(np.concatenate([block.samples for block in blocks]), samples)
    assert all(len(block.samples) >= size for block in blocks if not block.last)
    assert arrivals.waiting == 0


def test_what_is_late_is_taken_at_once() -> None:
    block = arrived([ramp(400)] * 10).take(1000)
    assert (len(block.samples), block.last) == (4000, True)


def test_what_is_on_time_comes_in_blocks_of_the_size(forever: Event) -> None:
    def source() -> Iterator[Floats]:
        for _ in range(4):
            sleep(0.02)
            yield ramp(700)
        forever.wait()

    arrivals = Arrivals(source())
    arrivals.start()
    assert [len(arrivals.take(1000).samples) for _ in range(2)] == [1000, 1000]
    arrivals.stop()
    assert len(arrivals.take(1000).samples) <= 800


def test_a_stopped_source_gives_what_has_arrived(forever: Event) -> None:
    arrivals = Arrivals(endless([ramp(300), ramp(300)], forever))
    arrivals.start()
    while arrivals.waiting < 600:
        sleep(0.001)
    arrivals.stop()
    block = arrivals.take(1000)
    assert (len(block.samples), block.last) == (600, True)
    assert arrivals.error is None


def test_a_source_that_fails_gives_all_before_that() -> None:
    def source() -> Iterator[Floats]:
        yield ramp(300)
        raise AudioError("broken")

    arrivals = Arrivals(source())
    arrivals.start()
    block = arrivals.take(1000)
    assert (len(block.samples), block.last) == (300, True)
    assert isinstance(arrivals.error, AudioError)


@pytest.mark.parametrize(
    "bad", [np.zeros(9), np.zeros((9, 2), np.float32), np.full(9, np.nan, np.float32), [0.0]]
)
def test_what_is_no_block_ends_the_source_there(bad: Any) -> None:
    arrivals = arrived([ramp(300), bad, ramp(300)])
    block = arrivals.take(1000)
    assert (len(block.samples), block.last) == (300, True)
    assert isinstance(arrivals.error, InputError)


def test_a_source_may_fill_the_same_array_again() -> None:
    array = ramp(3)

    def source() -> Iterator[Floats]:
        yield array
        array[:] = 7
        yield array

    assert arrived(source()).take(6).samples.tolist() == [0, 1, 2, 7, 7, 7]


def test_what_waited_when_the_source_ended_is_known() -> None:
    arrivals = arrived([ramp(400)] * 10)
    assert arrivals.untaken == 0
    arrivals.take(1000)
    assert arrivals.untaken == 4000


def test_arrivals_are_noted_and_old_ones_forgotten() -> None:
    begin = perf_counter()
    arrivals = Arrivals(paced(iter([ramp(3200)]), 2.0))
    arrivals.start()
    while not arrivals.take(3200).last:
        pass
    first, second = arrivals.arrived(1600), arrivals.arrived(1601)
    assert begin + 0.05 <= first < second
    assert arrivals.arrived(1) == first


def test_old_arrivals_are_forgotten(forever: Event) -> None:
    arrivals = Arrivals(endless([np.zeros(SECOND, np.float32)] * 100, forever))
    arrivals.start()
    while arrivals.waiting < 100 * SECOND:
        sleep(0.001)
    arrivals.take(SECOND)
    arrivals.stop()
    assert arrivals.take(SECOND).last
    assert arrivals._taken == 100 * SECOND
    assert 30 <= len(arrivals._times) <= 31
    assert arrivals.arrived(100 * SECOND) == arrivals._times[-1]


def test_a_paced_source_never_gives_anything_early() -> None:
    begin = perf_counter()
    given = 0
    for piece in paced([ramp(5000)], 4.0):
        given += len(piece)
        assert perf_counter() - begin >= given / (4 * SECOND)
    assert given == 5000


@pytest.mark.parametrize("speed", [0.0, -1.0, float("inf"), float("nan")])
def test_an_impossible_pace(speed: float) -> None:
    with pytest.raises(InputError, match="pace"):
        paced([], speed)


def collected(run: Iterator[LiveItem]) -> tuple[list[LiveEvent], list[LiveBlock], LiveEnd]:
    *items, end = run
    events = [item for item in items if isinstance(item, LiveEvent)]
    blocks = [item for item in items if isinstance(item, LiveBlock)]
    assert isinstance(end, LiveEnd)
    return events, blocks, end


def test_a_live_run_that_keeps_pace(toy: ToyFactory, speech: Floats) -> None:
    with Session(toy(TEXT), None, threads=2) as session:
        events, blocks, end = collected(run_live(session, [speech], 4.0, 16.0))
    assert [event.text for event in events if event.kind == "stable"] == [TEXT] * 2
    assert [round(block.end_s) for block in blocks] == [4, 8, 11]
    assert all(one.end_s == other.start_s for one, other in pairwise(blocks))
    assert not any(block.widened for block in blocks)
    assert (end.audio_s, end.backlog_s) == (11.0, 0.0)
    for event in events:
        assert event.lag_ms is not None
        assert event.lag_ms >= 0
    tentative = [event.lag_ms for event in events if event.kind == "tentative"]
    assert max(lag or 0 for lag in tentative) < 1000


def test_the_lag_of_stable_text_counts_from_the_end_of_its_window(toy: ToyFactory, speech: Floats) -> None:
    with Session(toy(TEXT), None, threads=2) as session:
        events, _, _ = collected(run_live(session, [speech], 11.0, 16.0))
    first = next(event for event in events if event.kind == "stable")
    waited = 1000 * (11.0 - first.end_s) / 16
    assert first.lag_ms is not None
    assert first.lag_ms >= waited - 20


def test_a_live_run_that_is_too_slow_widens_its_blocks_and_loses_nothing(
    toy: ToyFactory, speech: Floats
) -> None:
    slow = toy(TEXT, on_prepare=lambda: sleep(0.15))
    long = np.concatenate([speech] * 3)
    with Session(slow, None, threads=2) as session:
        events, blocks, end = collected(run_live(session, [long], 1.0, 40.0))
    assert any(block.widened for block in blocks)
    assert any(block.backlog_s > 0 for block in blocks)
    assert blocks[-1].end_s == end.audio_s == 33.0
    assert end.backlog_s > 0
    with Session(toy(TEXT), None, threads=2) as session:
        offline = session.live()
        expected = [*offline.finish(long)]
    stable = [event for event in events if event.kind == "stable"]
    assert [(e.start_s, e.end_s) for e in stable] == [(e.start_s, e.end_s) for e in expected]


def test_the_error_of_a_source_is_raised_when_all_texts_are_out(toy: ToyFactory, speech: Floats) -> None:
    def source() -> Iterator[Floats]:
        yield speech
        raise AudioError("broken")

    seen: list[LiveItem] = []
    with Session(toy(TEXT), None, threads=2) as session, pytest.raises(AudioError, match="broken"):
        seen.extend(run_live(session, source(), 4.0, None))
    stable = [item.text for item in seen if isinstance(item, LiveEvent) and item.kind == "stable"]
    assert stable == [TEXT] * 2
    assert isinstance(seen[-1], LiveEnd)


@pytest.mark.parametrize("block_s", [0.0, 0.05, float("inf"), float("nan")])
def test_an_impossible_block(toy: ToyFactory, block_s: float) -> None:
    with Session(toy(TEXT), None, threads=2) as session, pytest.raises(InputError, match="blocks of"):
        follow(session.live(), Arrivals([]), block_s)
