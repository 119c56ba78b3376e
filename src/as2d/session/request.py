"""A request: queued, answered, cancellable, and watchable while it is answered."""

from collections.abc import Iterator
from queue import SimpleQueue
from threading import Event as Flag
from time import perf_counter
from typing import Generic, TypeVar

from as2d.errors import CancelledError
from as2d.records import Event

T = TypeVar("T")


class Request(Generic[T]):
    """One request on its way through a session, for a value of type T. Made by `Session.submit`.

    `arrived` is when it was made (`time.perf_counter()`); `cancelled` is set once nobody wants the answer.
    """

    def __init__(self) -> None:
        self.arrived = perf_counter()
        self.cancelled = Flag()
        self._done = Flag()
        self._value: T
        self._error: BaseException | None = None
        self._events: SimpleQueue[Event | None] = SimpleQueue()

    def cancel(self) -> None:
        """Ask for the answer to be dropped; its producer ends with it. Does nothing once answered."""
        self.cancelled.set()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the answer. Raises what went wrong, CancelledError, or TimeoutError after `timeout` seconds."""
        if not self._done.wait(timeout):
            raise TimeoutError(f"no answer within {timeout} s")
        if self._error is not None:
            raise self._error
        return self._value

    def events(self) -> Iterator[Event]:
        """The commits as they come, once; then what `result` raises, if anything. Leaving early cancels."""
        try:
            while (event := self._events.get()) is not None:
                yield event
            self.result()
        finally:
            self.cancel()

    def tell(self, event: Event) -> None:
        """Give an event to whoever watches."""
        self._events.put(event)

    def succeed(self, value: T) -> None:
        """Answer the request."""
        self._value = value
        self._end()

    def fail(self, error: BaseException | None = None) -> None:
        """End the request with an error; without one, as cancelled."""
        self._error = error or CancelledError("the request was cancelled")
        self._end()

    def _end(self) -> None:
        self._events.put(None)
        self._done.set()
