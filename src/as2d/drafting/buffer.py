"""The append-only stream between one producer (the writer) and one decoding loop (the reader)."""

from collections.abc import Sequence
from typing import NamedTuple

from as2d.errors import ClosedError, InputError


class Snapshot(NamedTuple):
    """Everything published at one moment; immutable, so it stays true while the writer goes on.

    `start` is how many committed tokens precede the stream: 0 unless the producer was restarted from them.
    """

    tokens: tuple[int, ...] = ()
    probabilities: tuple[float, ...] = ()
    closed: bool = False
    start: int = 0


class CandidateBuffer:
    """One source's candidates for one window: append-only, one writer, one reader, no lock.

    The writer replaces one attribute that holds an immutable snapshot, which Python does atomically: a reader
    sees whole batches or nothing of them, and never waits. Copying the few hundred tokens of a window takes
    the writer a few microseconds.
    """

    def __init__(self) -> None:
        self._snapshot = Snapshot()
        self._fault: str | None = None

    @property
    def fault(self) -> str | None:
        """Why the producer failed ("TypeName: message"), or None."""
        return self._fault

    def publish(self, tokens: Sequence[int], probabilities: Sequence[float]) -> None:
        """Append one batch. Ids that no vocabulary has are harmless: the loop does not propose them."""
        _check_batch(tokens, probabilities)
        before = self._snapshot
        if before.closed:
            raise ClosedError("the candidate buffer is closed; publish before close()")
        self._snapshot = before._replace(
            tokens=(*before.tokens, *tokens), probabilities=(*before.probabilities, *probabilities)
        )

    def restart(self, start: int) -> None:
        """Begin a new, open stream behind the first `start` committed tokens. Later streams start later.

        So `start` tells the streams of a buffer apart, each of which is append-only.
        """
        if start <= self._snapshot.start:
            raise InputError(
                f"a stream that starts at {start} cannot follow one that starts at {self._snapshot.start}"
            )
        self._snapshot = Snapshot(start=start)

    def close(self, fault: str | None = None) -> None:
        """Say that this stream is complete, and why if that is a fault. The first fault is kept."""
        self._fault = self._fault or fault
        self._snapshot = self._snapshot._replace(closed=True)

    def snapshot(self) -> Snapshot:
        """What is published now; never blocks, copies nothing."""
        return self._snapshot


def _check_batch(tokens: Sequence[int], probabilities: Sequence[float]) -> None:
    if len(tokens) != len(probabilities):
        raise InputError(
            f"{len(tokens)} tokens with {len(probabilities)} probabilities; publish one for each token"
        )
    if not all(type(token) is int for token in tokens):
        raise InputError("a published token is not an int; convert it with int()")
