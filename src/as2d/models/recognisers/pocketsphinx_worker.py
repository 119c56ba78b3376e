"""The process that pocketsphinx.py starts, by path: it imports nothing of as2d, and so starts quickly."""

import sys
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

FRAME_BYTES = 320
"""10 ms of int16 samples at 16 kHz."""


class Utterance:
    """What is being heard. The second passes are off: they would take a second more, behind the last word."""

    def __init__(self, connection: Connection) -> None:
        package: Any = import_module("pocketsphinx")
        self._decoder = package.Decoder(samprate=16_000, loglevel="FATAL", fwdflat=False, bestpath=False)
        self._connection = connection
        self._open = False

    def hear(self, pcm: bytes, last: bool) -> str:
        """Hear a chunk, until the next message comes; give the text so far."""
        if not self._open:
            self._decoder.reinit_feat()  # else it starts from the loudness of the last window
            self._decoder.start_utt()
            self._open = True
        for start in range(0, len(pcm), FRAME_BYTES):
            if self._connection.poll():
                break
            self._decoder.process_raw(pcm[start : start + FRAME_BYTES])
        if last:
            self.end()
        hypothesis = self._decoder.hyp()
        return hypothesis.hypstr if hypothesis else ""

    def end(self) -> None:
        """Make ready for the next window."""
        if self._open:
            self._decoder.end_utt()
            self._open = False


def serve(connection: Connection) -> None:
    """Answer each message with one text, until the other end is closed."""
    utterance = Utterance(connection)
    connection.send("ready")
    while True:
        try:
            message = connection.recv()
        except EOFError:
            return
        if message is None:
            utterance.end()
            connection.send("")
        else:
            connection.send(utterance.hear(*message))


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
