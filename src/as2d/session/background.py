"""Windows of a live recording that are prepared before anybody asks for them."""

from collections import deque
from collections.abc import Iterable
from logging import getLogger
from threading import Condition, Event

from as2d.audio import Window
from as2d.errors import CancelledError
from as2d.session.preparing import Drafting, Preparer
from as2d.session.timeline import Timeline
from as2d.session.worker import Worker

_log = getLogger(__name__)


class Background:
    """Prepares the complete windows of one recording while no request waits. Any thread may use it."""

    def __init__(self, worker: Worker, preparer: Preparer, timeline: Timeline) -> None:
        """The timeline tells what is still remembered when a window's turn comes."""
        self._worker = worker
        self._preparer = preparer
        self._timeline = timeline
        self._interrupted = _Interrupted(worker)
        self._changed = Condition()
        self._waiting: deque[tuple[Window, Drafting]] = deque()

    def add(self, windows: Iterable[Window]) -> None:
        """Prepare those with speech, when their turn comes, if it is of use."""
        if not self._preparer.keeps:
            return
        drafting = (Drafting.NOBODY, Drafting.SPEAKERS) if self._preparer.drafts else (Drafting.NOBODY,)
        with self._changed:
            idle = not self._waiting
            self._waiting.extend((window, who) for window in windows if window.speech for who in drafting)
            if idle and self._waiting:
                self._worker.in_background(self, self._prepare_next)

    def wait(self, timeout: float | None) -> bool:
        """Wait until nothing is left to prepare, for `timeout` seconds at most; whether so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, timeout)

    def close(self) -> None:
        """Prepare nothing more. May be called again."""
        with self._changed:
            self._interrupted.set()
            self._waiting.clear()
            self._changed.notify_all()

    def _prepare_next(self) -> None:
        """One window for the target or for the drafters, so that a request need not wait long."""
        with self._changed:
            if not self._waiting:
                return
            window, drafting = self._waiting[0]
        try:
            self._prepare(window, drafting)
        except CancelledError:
            self._worker.in_background(self, self._prepare_next)
            return
        except Exception as error:  # a request that needs the window will raise it to who asks
            _log.warning(
                "a window of a live recording could not be prepared: %s: %s", type(error).__name__, error
            )
        with self._changed:
            if self._waiting:
                self._waiting.popleft()
            if self._waiting:
                self._worker.in_background(self, self._prepare_next)
            self._changed.notify_all()

    def _prepare(self, window: Window, drafting: Drafting) -> None:
        remembered = self._timeline.remembered
        self._preparer.forget(lambda span: span.end <= remembered)
        fresh = drafting is Drafting.NOBODY
        if window.end > remembered and (fresh or self._preparer.has(window)):
            self._preparer.ready(window, self._preparer.instruction, drafting, self._interrupted)


class _Interrupted(Event):
    """Set while the background has to make way for a request, and for good once it has nothing more to do."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker

    def is_set(self) -> bool:
        return super().is_set() or self._worker.requests_wait
