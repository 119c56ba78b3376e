"""A request: queued, answered, cancellable, and watchable while it is answered."""

from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX, Lock
from threading import Event as Flag
from time import perf_counter, time
from typing import Generic, TypeVar

from as2d.errors import As2dError, CancelledError, DeadlineError, InputError
from as2d.records import Event
from as2d.session.failure import without_frames
from as2d.session.seconds import in_seconds

T = TypeVar("T")


class Unwanted(Flag):
    """Set once nobody wants an answer any more: it was cancelled, or is overdue."""

    def __init__(self, deadline: float | None) -> None:
        """`deadline` is on `time.perf_counter()`."""
        super().__init__()
        self._deadline = deadline

    def is_set(self) -> bool:
        """Whether to stop."""
        return super().is_set() or self.overdue

    @property
    def overdue(self) -> bool:
        """Whether the deadline has passed."""
        return self._deadline is not None and perf_counter() >= self._deadline

    def left(self) -> float | None:
        """Seconds until the deadline."""
        return None if self._deadline is None else min(TIMEOUT_MAX, max(0.0, self._deadline - perf_counter()))


class Request(Generic[T]):
    """One request on its way through a session, for a value of type T. Made by `Session.submit`.

    `arrived` is when it was made (`time.perf_counter()`, `arrived_at` as seconds since 1970) and `queued_ms` how long
    it then waited (None: it still does); `cancelled` is set once nobody wants the answer.
    """

    def __init__(self, deadline_s: float | None = None) -> None:
        """The deadline counts from now. Raises DeadlineError where it has passed already, InputError for no number."""
        self.arrived = perf_counter()
        self.arrived_at = time()
        self.queued_ms: float | None = None
        self._deadline_s = None if deadline_s is None else _checked_deadline(deadline_s)
        self.cancelled = Unwanted(None if self._deadline_s is None else self.arrived + self._deadline_s)
        self._ending = Lock()
        self._done = Flag()
        self._value: T
        self._error: BaseException | None = None
        self._events: SimpleQueue[Event | None] = SimpleQueue()

    def cancel(self) -> None:
        """Ask for the answer to be dropped; its producer ends with it. Does nothing once answered."""
        self.cancelled.set()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the answer. Raises what went wrong, CancelledError, DeadlineError, or TimeoutError after `timeout`
        seconds.
        """
        left = self.cancelled.left()
        waits = [seconds for seconds in (timeout, left) if seconds is not None]
        if not self._done.wait(min(waits, default=None)):
            if not self.cancelled.overdue:
                raise TimeoutError(f"no answer within {timeout} s")
            self.fail(self._unwanted())
        if self._error is not None:
            raise self._error
        return self._value

    def events(self) -> Iterator[Event]:
        """The commits as they come, each once; then what `result` raises, if anything. Leaving early cancels."""
        try:
            while (event := self._next_event()) is not None:
                yield event
            self.result()
        finally:
            self.cancel()

    def _next_event(self) -> Event | None:
        try:
            event = self._events.get(timeout=self.cancelled.left())
        except Empty:
            return None
        if event is None:
            self._events.put(None)  # for who watches once more, or in another thread
        return event

    def tell(self, event: Event) -> None:
        """Give an event to whoever watches."""
        self._events.put(event)

    def answer(self, work: Callable[[], T]) -> None:
        """Do the work unless nobody wants it any more; whatever it raises becomes the request's error."""
        self.queued_ms = self.since_ms()
        if self.cancelled.is_set():
            self.fail(self._unwanted())
            return
        try:
            value = work()
        except CancelledError:
            self.fail(self._unwanted())
        except BaseException as error:  # the worker serves the next request whatever happened to this one
            self.fail(without_frames(error))
        else:
            self.succeed(value)

    def since_ms(self) -> float:
        """Milliseconds since the request arrived."""
        return (perf_counter() - self.arrived) * 1000

    def succeed(self, value: T) -> None:
        """Answer the request, unless it has ended."""
        with self._ending:
            if not self._done.is_set():
                self._value = value
                self._end()

    def fail(self, error: BaseException) -> None:
        """End the request with an error, unless it has ended."""
        with self._ending:
            if not self._done.is_set():
                self._error = error
                self._end()

    def _unwanted(self) -> As2dError:
        if self.cancelled.overdue:
            return DeadlineError(
                f"no answer within the deadline of {self._deadline_s} s; ask for less audio, or allow more time"
            )
        return CancelledError("the request was cancelled")

    def _end(self) -> None:
        self._events.put(None)
        self._done.set()


def _checked_deadline(value: object) -> float:
    seconds = in_seconds(value)
    if seconds is None:
        raise InputError(f"the deadline is {value!r}; give seconds from now, or None")
    if seconds <= 0:
        raise DeadlineError(f"the deadline of {value} s has passed already; give a number above 0, or None")
    return seconds


def wait_for(request: Request[T]) -> T:
    """The answer; whatever ends the waiting cancels the request."""
    try:
        return request.result()
    except BaseException:
        request.cancel()
        raise
