"""The thread that drafts beside the target, and the loop that it usually runs."""

from collections.abc import Callable
from threading import Event, Thread
from time import perf_counter

from as2d.drafting.buffer import CandidateBuffer
from as2d.drafting.prefix import PrefixDrafter
from as2d.drafting.publication import Publisher
from as2d.drafting.words import Word

Draft = Callable[[CandidateBuffer, Event], None]
"""Publishes into the buffer until it has no more to say or the event is set."""


class Producer:
    """Runs a draft in its own daemon thread and closes the buffer behind it, whatever the draft does.

    A draft that fails only ends its source: the error becomes the buffer's fault.
    """

    def __init__(self, draft: Draft, buffer: CandidateBuffer) -> None:
        self._draft = draft
        self._buffer = buffer
        self._stop = Event()
        self._thread = Thread(target=self._run, name="as2d-producer", daemon=True)
        self._done_at: float | None = None

    @property
    def done_at(self) -> float | None:
        """`time.perf_counter()` when the draft ended; None before."""
        return self._done_at

    def start(self) -> None:
        """Begin to draft. If the system has no thread left, the source ends with that fault."""
        try:
            self._thread.start()
        except RuntimeError as error:
            self._end(_describe(error))

    def stop(self) -> None:
        """Ask the draft to end; returns at once."""
        self._stop.set()

    def join(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds for the thread; False if it still runs (it dies with the process)."""
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        fault: str | None = None
        try:
            self._draft(self._buffer, self._stop)
        except BaseException as error:  # even SystemExit: the thread ends here anyway, and must say so
            fault = _describe(error)
        finally:
            self._end(fault)

    def _end(self, fault: str | None) -> None:
        self._done_at = perf_counter()
        self._buffer.close(fault)


def free_run(drafter: PrefixDrafter, publisher: Publisher, halted: Callable[[], bool]) -> None:
    """Draft on from where the drafter is, and publish word by word, until it has no more to say or is halted."""
    while not halted() and (words := drafter.step()) is not None:
        _publish(words, publisher)
    _publish(drafter.flush(), publisher)
    publisher.finish()


def _publish(words: list[Word], publisher: Publisher) -> None:
    for word in words:
        publisher.add(*word)


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
