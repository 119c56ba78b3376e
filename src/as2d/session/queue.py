"""Whose turn it is: lanes are served in turn, and work in the background when nobody waits."""

from collections import deque
from collections.abc import Callable, Hashable
from threading import Condition

Job = Callable[[], None]


class Lanes:
    """Jobs in lanes: a lane's own are first in, first out, and the lanes take turns. For one thread at a time."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[Job]] = {}

    def __bool__(self) -> bool:
        """Whether any job waits."""
        return bool(self._waiting)

    def put(self, lane: Hashable, job: Job) -> None:
        """Add a job behind those of its lane; a lane without any waits behind the others."""
        self._waiting.setdefault(lane, deque()).append(job)

    def take(self) -> Job:
        """The first job of the lane whose turn it is, which then waits behind the others. One must be there."""
        lane = next(iter(self._waiting))
        jobs = self._waiting.pop(lane)
        job = jobs.popleft()
        if jobs:
            self._waiting[lane] = jobs
        return job


class FairQueue:
    """Requests and background jobs, each in lanes, for one worker. Background jobs come after all requests."""

    def __init__(self) -> None:
        self._requests = Lanes()
        self._background = Lanes()
        self._closed = False
        self._changed = Condition()

    def put(self, lane: Hashable, job: Job) -> bool:
        """Add a job; False once the queue is closed."""
        return self._put(self._requests, lane, job)

    def put_background(self, lane: Hashable, job: Job) -> bool:
        """Add a job for when no request waits; False once the queue is closed."""
        return self._put(self._background, lane, job)

    @property
    def requests_wait(self) -> bool:
        """Whether any job waits that is not for the background."""
        return bool(self._requests)

    def take(self) -> Job | None:
        """The next job, as soon as there is one. Once closed: the requests that still wait, then None."""
        with self._changed:
            self._changed.wait_for(lambda: self._requests or self._background or self._closed)
            if self._requests:
                return self._requests.take()
            return None if self._closed else self._background.take()

    def close(self) -> None:
        """Take no more jobs. May be called again."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _put(self, lanes: Lanes, lane: Hashable, job: Job) -> bool:
        with self._changed:
            if not self._closed:
                lanes.put(lane, job)
                self._changed.notify()
            return not self._closed
