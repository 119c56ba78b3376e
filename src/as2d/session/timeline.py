"""The audio of a live recording: windows that are complete, and what is still open."""

from collections import deque
from collections.abc import Iterable

from as2d.audio import Window
from as2d.audio.blocks import Samples
from as2d.audio.live import LiveWindows


class Timeline:
    """Windows of audio that arrives; for one thread at a time.

    `samples` have been fed. The last `keep` of them are remembered; `remembered` is the first sample that still is.
    """

    def __init__(
        self, open_: LiveWindows, keep: int, complete: Iterable[Window] = (), samples: int = 0
    ) -> None:
        self._open = open_
        self._rest: list[Window] | None = None
        self._keep = keep
        self._complete = deque(complete)
        self.samples = samples
        self.remembered = self._complete[0].start if self._complete else 0

    @property
    def complete(self) -> tuple[Window, ...]:
        """The windows that will not change, as far as they are remembered."""
        return tuple(self._complete)

    def feed(self, samples: Samples) -> list[Window]:
        """The windows that these samples complete."""
        self.samples += len(samples)
        self._rest = None
        return self._completed(self._open.feed(samples))

    def finish(self) -> list[Window]:
        """The windows of all that is open: no more comes."""
        rest = self._open.rest()
        self._open, self._rest = LiveWindows(), None
        return self._completed(rest)

    def windows(self) -> tuple[Window, ...]:
        """All windows that are remembered, the open ones as if the audio ended now."""
        if self._rest is None:
            self._rest = self._open.rest()
        return (*self._complete, *self._rest)

    def open(self) -> LiveWindows:
        """What is not complete, as it is now whatever comes later."""
        return self._open.fork()

    def forget(self) -> None:
        """Forget all audio, though not how much there was."""
        self._complete.clear()
        self._open, self._rest = LiveWindows(), None
        self.remembered = self.samples

    def _completed(self, windows: list[Window]) -> list[Window]:
        self._complete.extend(windows)
        while self._complete and self._complete[0].end <= self.samples - self._keep:
            self.remembered = self._complete.popleft().end
        return windows
