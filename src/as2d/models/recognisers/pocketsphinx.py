"""CMU PocketSphinx, whose wheel holds a US English model: small and offline, but often wrong.

It computes without releasing the interpreter's lock, which made the target beside it 2.5 to 6 times slower; so it has a
process of its own.
"""

import sys
import weakref
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import DEVNULL, Popen
from threading import Event

import numpy as np
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError
from as2d.extras import import_optional

_SCRIPT = Path(__file__).with_name("pocketsphinx_worker.py")
_POLL_SECONDS = 0.02
"""How often a waiting stream looks whether it was told to stop."""
_END_SECONDS = 1.0
"""How long a worker may take to end its utterance; it needs one frame, which is milliseconds."""


class PocketSphinx:
    """English only. A worker takes a second to start, so that idle ones are kept."""

    name = "pocketsphinx"
    languages = ("en",)

    def __init__(self) -> None:
        """Start a worker. Raises ModelNotFoundError where the package is missing, ModelDamagedError if it fails."""
        import_optional("pocketsphinx", "pocketsphinx")
        self._idle = [Worker()]

    def open(self, language: str, stop: Event) -> "PocketSphinxStream":  # noqa: ARG002 (it speaks one)
        """A stream on a worker of its own."""
        try:
            worker = self._idle.pop()
        except IndexError:  # another window is being heard, or the last worker was lost
            worker = Worker()
        return PocketSphinxStream(worker, self._idle, stop)


class Worker:
    """The process at the other end of a pipe: one text for each message. It ends with this object."""

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        self.owed = 0
        """Texts that have not come yet."""
        descriptor = theirs.fileno()
        command = [sys.executable, "-P", str(_SCRIPT), str(descriptor)]  # -P: this folder shadows the package
        self.process = Popen(command, pass_fds=[descriptor], stdin=DEVNULL)
        theirs.close()
        weakref.finalize(self, _end, self.process, self.connection)
        try:
            self.connection.recv()
        except EOFError as error:
            raise ModelDamagedError("pocketsphinx does not start; install it again") from error

    def ask(self, message: tuple[bytes, bool] | None) -> None:
        """Send a chunk (int16 samples, whether it is the last), or None to end the utterance at once."""
        self.connection.send(message)
        self.owed += 1

    def text(self, timeout: float) -> str | None:
        """The next text, or None if it has not come in `timeout` seconds. EOFError if the process has died."""
        if not self.connection.poll(timeout):
            return None
        self.owed -= 1
        text: str = self.connection.recv()
        return text


class PocketSphinxStream:
    """One utterance, whose text may change until its end."""

    def __init__(self, worker: Worker, idle: list[Worker], stop: Event) -> None:
        """`close` gives the worker back to `idle`."""
        self._worker = worker
        self._idle = idle
        self._stop = stop

    def accept(self, chunk: NDArray[np.float32], *, last: bool) -> str:
        """Hear the chunk; give the text so far, or none once told to stop."""
        pcm = (np.clip(chunk, -1, 1) * 32767).astype(np.int16)
        self._worker.ask((pcm.tobytes(), last))
        while not self._stop.is_set():
            if (text := self._worker.text(_POLL_SECONDS)) is not None:
                return text
        return ""

    def close(self) -> None:
        """End the utterance, and give the worker back if it answers; else it is killed with its last reference."""
        self._worker.ask(None)
        while self._worker.owed:
            if self._worker.text(_END_SECONDS) is None:
                return
        self._idle.append(self._worker)


def _end(process: "Popen[bytes]", connection: Connection) -> None:
    connection.close()
    process.kill()
    process.wait()
