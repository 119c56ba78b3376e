"""The one thread of a session that computes: requests in turn, and what is left for the background."""

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from threading import Lock, Thread
from typing import Any, TypeVar

from as2d.errors import ClosedError
from as2d.session.queue import FairQueue
from as2d.session.request import Request

T = TypeVar("T")

_CLOSED = "the session is closed; make a new one"


class Worker:
    """Does the work of requests, one at a time. Any thread may use it."""

    def __init__(self) -> None:
        self._queue = FairQueue()
        self._pending: dict[Request[Any], Hashable] = {}
        self._closed = False
        self._lock = Lock()
        self._thread = Thread(target=self._work, name="as2d-session", daemon=True)
        self._thread.start()

    def enqueue(
        self,
        request: Request[T],
        work: Callable[[], T],
        lane: Hashable,
        audio: AbstractContextManager[object] | None = None,
    ) -> Request[T]:
        """Queue the work; however it ends, and if it never begins, the audio is freed. Raises ClosedError."""
        freed = audio or nullcontext()

        def job() -> None:
            with freed:
                request.answer(work)
            with self._lock:
                self._pending.pop(request, None)

        with self._lock:
            if self._queue.put(lane, job):
                self._pending[request] = lane
                return request
        with freed:
            raise ClosedError(_CLOSED)

    def check_open(self) -> None:
        """ClosedError once the worker is closed."""
        if self._closed:
            raise ClosedError(_CLOSED)

    def in_background(self, lane: Hashable, job: Callable[[], None]) -> None:
        """Do the job, which must not raise, when no request waits; never once the worker is closed."""
        self._queue.put_background(lane, job)

    @property
    def requests_wait(self) -> bool:
        """Whether background work should make way."""
        return self._queue.requests_wait

    def cancel(self, lane: Hashable) -> None:
        """Cancel all requests of a lane."""
        with self._lock:
            for request, its_lane in self._pending.items():
                if its_lane == lane:
                    request.cancel()

    def close(self) -> None:
        """Cancel what is queued or running and end the thread. May be called again."""
        with self._lock:
            self._closed = True
            self._queue.close()
            for request in self._pending:
                request.cancel()
        self._thread.join()

    def _work(self) -> None:
        while (job := self._queue.take()) is not None:
            job()
            del job  # while it waits for the next one, it would keep the audio of this one
