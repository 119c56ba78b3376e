"""What came of the requests of a soak."""

from collections import Counter
from threading import Lock

_KEPT = 20
"""Messages of one kind that are kept; the rest is only counted."""


class Tally:
    """Counts outcomes and keeps what went wrong. Any number of threads may use it."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.errors: list[str] = []
        self._lock = Lock()

    def count(self, *outcomes: str) -> None:
        """One more of each."""
        with self._lock:
            self.counts.update(outcomes)

    def note_wrong(self, message: str) -> None:
        """An answer that differs from the target's own."""
        self._note("wrong", self.wrong, message)

    def note_error(self, message: str) -> None:
        """Something that should not have been raised."""
        self._note("errors", self.errors, message)

    def _note(self, outcome: str, kept: list[str], message: str) -> None:
        with self._lock:
            self.counts[outcome] += 1
            if len(kept) < _KEPT:
                kept.append(message)
