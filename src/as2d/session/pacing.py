"""Audio in real time: every sample that arrives is kept, and worked on in blocks that widen under overload."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Thread
from time import perf_counter, sleep
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from as2d.audio import MAX_SAMPLES
from as2d.audio.blocks import regrouped
from as2d.errors import InputError
from as2d.records import SAMPLE_RATE
from as2d.session.live_text import LiveEvent, LiveText, checked_block
from as2d.session.options import OptionFields

if TYPE_CHECKING:
    from as2d.session.session import Session

Float32 = NDArray[np.float32]

PIECE = SAMPLE_RATE // 10
"""Samples that a paced source gives at once, as a sound card would."""
MIN_BLOCK_S = 0.1
"""Seconds of the shortest block."""


@dataclass(frozen=True, slots=True)
class LiveBlock:
    """A block of audio that has been worked on, from `start_s` to `end_s`.

    `service_ms` counts from when it was taken to its last text, `backlog_s` the seconds of audio that
    had arrived by then and wait for the next block. `widened` says that it holds more than a block, as it was late.
    """

    start_s: float
    end_s: float
    service_ms: float
    backlog_s: float
    widened: bool


@dataclass(frozen=True, slots=True)
class LiveEnd:
    """All texts are out. `backlog_s` is what waited when the source ended, beyond the block that was still filling."""

    audio_s: float
    backlog_s: float


LiveItem = LiveEvent | LiveBlock | LiveEnd


def run_live(
    session: "Session",
    source: Iterable[Float32],
    block_s: float = 4.0,
    speed: float | None = 1.0,
    *,
    max_window_s: float = 15.0,
    **options: Unpack[OptionFields],
) -> Iterator[LiveItem]:
    """The texts of mono audio at 16 kHz that arrives, each with its lag; after each block how it went, then the end.

    `source` is any blocks of samples; they are given in real time times `speed` (None: as they come, from a source that
    has a pace of its own). Raises InputError, and what decoding raises; what the source raises, and InputError for what
    is no block of samples, once all before it is out.
    """
    live = session.live(max_window_s=max_window_s, **options)
    return follow(live, Arrivals(source if speed is None else paced(source, speed)), block_s)


def follow(live: LiveText, arrivals: "Arrivals", block_s: float = 4.0) -> Iterator[LiveItem]:
    """As `run_live`, for what may have begun to arrive already. InputError for an impossible block."""
    if not MIN_BLOCK_S <= block_s < float("inf"):
        raise InputError(f"blocks of {block_s:g} s are not possible; use {MIN_BLOCK_S} or more")
    return _follow(live, arrivals, round(block_s * SAMPLE_RATE))


def _follow(live: LiveText, arrivals: "Arrivals", size: int) -> Iterator[LiveItem]:
    arrivals.start()
    taken, last = 0, False
    try:
        while not last:
            samples, last = arrivals.take(size)
            begin, start, taken = perf_counter(), taken, taken + len(samples)
            for event in live.finish(samples) if last else live.push(samples):
                heard = taken if event.kind == "tentative" else round(event.end_s * SAMPLE_RATE)
                yield replace(event, lag_ms=_ms_since(arrivals.arrived(heard)))
            if len(samples):
                yield LiveBlock(
                    start_s=start / SAMPLE_RATE,
                    end_s=taken / SAMPLE_RATE,
                    service_ms=_ms_since(begin),
                    backlog_s=arrivals.waiting / SAMPLE_RATE,
                    widened=len(samples) > size,
                )
    finally:
        arrivals.stop()
    yield LiveEnd(taken / SAMPLE_RATE, max(0, arrivals.untaken - size) / SAMPLE_RATE)
    if arrivals.error is not None:
        raise arrivals.error


def _ms_since(moment: float) -> float:
    return (perf_counter() - moment) * 1000


def paced(source: Iterable[Float32], speed: float = 1.0) -> Iterator[Float32]:
    """The samples in pieces of 0.1 s, none before it would have been spoken. InputError for an impossible speed."""
    if not 0 < speed < float("inf"):
        raise InputError(f"a pace of {speed:g} is not possible; use 1 for real time, more to go faster")
    return _paced(source, speed * SAMPLE_RATE)


def _paced(source: Iterable[Float32], rate: float) -> Iterator[Float32]:
    begin, given = perf_counter(), 0
    for piece in regrouped(source, PIECE):
        given += len(piece)
        sleep(max(0.0, begin + given / rate - perf_counter()))
        yield piece


class _Piece(NamedTuple):
    """Samples, and when they arrived."""

    samples: Float32
    at: float


class _End(NamedTuple):
    """The source has ended: samples that waited then, and why, if not by itself."""

    untaken: int
    error: BaseException | None = None


class Block(NamedTuple):
    """What is to be worked on at once, and whether it is the last."""

    samples: Float32
    last: bool


class Arrivals:
    """What a source gives, read by a thread of its own and kept until it is taken."""

    def __init__(self, source: Iterable[Float32]) -> None:
        self._source = source
        self._queue: SimpleQueue[_Piece | _End] = SimpleQueue()
        self._reader = Thread(target=self._read, name="as2d-arrivals", daemon=True)
        self._held: list[Float32] = []
        self._arrived = 0
        self._taken = 0
        self._ends: list[int] = []
        self._times: list[float] = []
        self._end: _End | None = None
        self._given = 0
        self._stopped = False

    def start(self) -> None:
        """Begin to read; does nothing when that has begun."""
        if self._reader.ident is None:
            self._reader.start()

    def stop(self) -> None:
        """End the source here; what has arrived can still be taken. May be called by a signal handler, and again."""
        self._stopped = True
        self._queue.put(_End(self._given - self._taken))

    def join(self, timeout_s: float) -> None:
        """Wait until the source is not read any more, which a stopped one is not after its next piece."""
        if self._reader.ident is not None:
            self._reader.join(timeout_s)

    def take(self, size: int) -> Block:
        """The next `size` samples, as soon as they are there; all that have arrived if those are late, or the last."""
        self._look()
        on_time = self._arrived - self._taken < size
        while self._arrived - self._taken < size and self._end is None:
            self._receive(self._queue.get())
        waiting = self._arrived - self._taken
        block = self._cut(size if on_time and waiting > size else waiting)
        return Block(block, last=self._end is not None and self._taken == self._arrived)

    @property
    def given(self) -> int:
        """Samples that the source has given so far."""
        return self._given

    @property
    def waiting(self) -> int:
        """Samples that have arrived and are not taken."""
        self._look()
        return self._arrived - self._taken

    @property
    def untaken(self) -> int:
        """Samples that waited when the source ended; 0 before."""
        return self._end.untaken if self._end else 0

    @property
    def error(self) -> BaseException | None:
        """What ended the source, if it did not end by itself."""
        return self._end.error if self._end else None

    def arrived(self, sample: int) -> float:
        """When the sample before this position arrived (`time.perf_counter()`); known for all that is new in the last
        block and the 30 s before."""
        return self._times[min(bisect_left(self._ends, sample), len(self._times) - 1)]

    def _read(self) -> None:
        try:
            for samples in self._source:
                if self._stopped:
                    return
                block = checked_block(samples).copy()  # a source may fill the same array again
                self._given += len(block)
                self._queue.put(_Piece(block, perf_counter()))
        except BaseException as error:  # it is raised where the audio is taken
            self._queue.put(_End(self._given - self._taken, error))
        else:
            self._queue.put(_End(self._given - self._taken))

    def _look(self) -> None:
        """Receive what has come, without waiting."""
        try:
            while self._end is None:
                self._receive(self._queue.get_nowait())
        except Empty:
            pass

    def _receive(self, item: _Piece | _End) -> None:
        if isinstance(item, _End):
            self._end = item
        elif len(item.samples):
            self._arrived += len(item.samples)
            self._held.append(item.samples)
            self._ends.append(self._arrived)
            self._times.append(item.at)

    def _cut(self, size: int) -> Float32:
        held = np.concatenate([np.zeros(0, np.float32), *self._held])
        old = bisect_left(self._ends, self._taken - MAX_SAMPLES)
        del self._ends[:old], self._times[:old]
        self._taken += size
        self._held = [held[size:].copy()]
        return held[:size]
