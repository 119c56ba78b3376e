"""Catch-up: a producer that goes on from the committed text when asked. It leaves the paper's method.

In the paper a producer sees audio and instruction only. With this option it also sees what the target committed, so
that a draft that has fallen behind or lost its place is not written on in vain.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event

from as2d.drafting.buffer import CandidateBuffer

Requests = SimpleQueue[tuple[int, ...] | None]
"""Committed tokens to go on from; None: the window has ended."""


def draft_and_resync(
    draft: Callable[[tuple[int, ...], Callable[[], bool]], None],
    buffer: CandidateBuffer,
    requests: Requests,
    stop: Event,
) -> None:
    """Draft from nothing, then from each requested text, which ends the draft before, until told to end.

    `draft` is given the committed tokens to go on from, and what says that it is to end. While it has nothing to do
    the buffer is closed, so that the target has the core.
    """

    def halted() -> bool:
        return stop.is_set() or not requests.empty()

    draft((), halted)
    while not stop.is_set():
        if requests.empty():
            buffer.close()
        committed = requests.get()
        if committed is None:
            return
        buffer.restart(len(committed))
        draft(committed, halted)
