"""Clips as audio; those that are cut out of longer recordings, or joined from shorter ones, as files of their own."""

import wave
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from as2d.errors import AudioError
from as2d.evaluation.corpora.clip import Clip, Piece
from as2d.session.recording import Recording

_BLOCK = 1 << 16
"""Frames that are held at a time."""


@contextmanager
def open_clip(clip: Clip, longest_s: float = 30.0) -> Iterator[Recording]:
    """The audio of a clip and nothing else, in windows of up to that length, while the context is open.

    Raises AudioError as `as_file` and Recording.
    """
    with as_file(clip) as whole, Recording(whole.path, longest_s) as recording:
        yield recording


@contextmanager
def as_file(clip: Clip) -> Iterator[Clip]:
    """The clip with a file that holds it and nothing else, while the context is open; most clips have one already.

    Raises AudioError where a piece cannot be read, or the pieces do not fit together.
    """
    if not clip.pieces:
        yield clip
        return
    with TemporaryDirectory(prefix="as2d-") as folder:
        path = Path(folder) / "clip.wav"
        _join(clip.pieces, path)
        yield replace(clip, path=path, pieces=())


def _join(pieces: Sequence[Piece], path: Path) -> None:
    """Write the frames of all pieces, which are WAV files of one format, into one."""
    with _opened(pieces[0]) as first:
        form = first.getparams()
    with wave.open(str(path), "wb") as joined:
        joined.setparams(form)
        for piece in pieces:
            for block in _frames(piece, form[:3]):
                joined.writeframes(block)


def _frames(piece: Piece, form: tuple[int, int, int]) -> Iterator[bytes]:
    """The frames of a piece, as far as the recording has them; `form` is channels, bytes of a sample, and rate."""
    with _opened(piece) as recording:
        if recording.getparams()[:3] != form:
            raise AudioError(f"{piece.path} has another format than the pieces before it; convert all to one")
        rate, length = recording.getframerate(), recording.getnframes()
        start = min(length, round(piece.start_s * rate))
        end = length if piece.end_s is None else min(length, round(piece.end_s * rate))
        recording.setpos(start)
        for first in range(start, end, _BLOCK):
            yield recording.readframes(min(_BLOCK, end - first))


@contextmanager
def _opened(piece: Piece) -> Iterator[wave.Wave_read]:
    """A piece's recording; what is wrong with it is an AudioError."""
    try:
        with wave.open(str(piece.path), "rb") as recording:
            yield recording
    except (OSError, EOFError, wave.Error) as error:
        raise AudioError(
            f"{piece.path} cannot be cut ({error}); only WAV files with PCM can be, convert it"
        ) from error
