"""A file's sound, decoded by libav frame by frame; damage is noted, and what can be decoded is kept."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import BinaryIO, cast

import av
import numpy as np
from av.audio.stream import AudioStream as LibavStream
from av.container import InputContainer
from av.error import FFmpegError
from numpy.typing import NDArray

from as2d.audio.damage import cut_short, mp3_declares_length
from as2d.audio.mono import mono
from as2d.audio.resample import Piece
from as2d.errors import AudioError

_DECLARING = ("flac", "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "aiff")
_REMEDY = "give a wav, flac, mp3, m4a or ogg file, or raw samples as (array, rate)"


class _Reader:
    """What libav reads from: no name, so only the content decides the format."""

    def __init__(self, file: BinaryIO) -> None:
        self.read = file.read
        self.seek = file.seek
        self.tell = file.tell


class FileDecoder:
    """The best audio track of a file; `damaged` and `seconds` tell how decoding went so far."""

    def __init__(self, name: str, file: BinaryIO, closing: ExitStack) -> None:
        """Raises AudioError where libav finds no audio track. `closing` closes libav's side, not `file`."""
        self._name = name
        self._file = file
        self._container = closing.enter_context(_open_container(name, file))
        self._stream = _audio_track(name, self._container)
        self.damaged = False
        self.seconds = 0.0

    def pieces(self) -> Iterator[Piece]:
        """Mono pieces at the file's rate, which may change on the way."""
        for frame in self._frames():
            self.seconds += frame.samples / frame.sample_rate
            yield Piece(mono(_channels(frame)), frame.sample_rate)

    def _frames(self) -> Iterator[av.AudioFrame]:
        for packet in self._packets():
            self.damaged |= packet.is_corrupt
            try:
                frames = packet.decode()
            except FFmpegError:
                self.damaged = True  # the packets after it may be fine
            else:
                yield from frames

    def _packets(self) -> Iterator["av.Packet[LibavStream]"]:
        """The packets of the track, and an empty one that flushes the decoder."""
        try:
            yield from self._container.demux(self._stream)
        except (FFmpegError, OSError):
            self.damaged = True
            yield _end_of(self._stream)

    def shortfall(self) -> str | None:
        """After the last piece: a warning that says how much was read, or None for a sound file."""
        declared = self._declared_seconds()
        missing = declared is not None and self.seconds < declared * 0.99 - 0.1
        if not (missing or self.damaged or cut_short(self._file, self._container.format.name)):
            return None
        part = f"{self.seconds:.2f} s of {declared:.2f} s" if missing else f"{self.seconds:.2f} s"
        return f"the audio is damaged or cut short: {part} could be read and are used"

    def _declared_seconds(self) -> float | None:
        """The length that the file itself states; None where there is none, or only libav's estimate."""
        name = self._container.format.name
        if not (mp3_declares_length(self._file) if name == "mp3" else name in _DECLARING):
            return None
        if self._stream.duration and self._stream.time_base:
            return float(self._stream.duration * self._stream.time_base)
        alone = len(self._container.streams) == 1
        return self._container.duration / av.time_base if alone and self._container.duration else None


def _end_of(stream: LibavStream) -> "av.Packet[LibavStream]":
    """The empty packet that makes the decoder give out what it still holds."""
    packet = av.Packet()
    packet.stream = stream
    return cast("av.Packet[LibavStream]", packet)


def _open_container(name: str, file: BinaryIO) -> InputContainer:
    try:
        # a playlist must not make libav open other files or addresses
        return av.open(_Reader(file), "r", metadata_errors="ignore", options={"protocol_whitelist": "none"})
    except (FFmpegError, OSError) as error:
        raise AudioError(f"{name} is not audio that can be decoded; {_REMEDY}") from error


def _audio_track(name: str, container: InputContainer) -> LibavStream:
    track = container.streams.best("audio")
    if not isinstance(track, LibavStream):
        raise AudioError(f"{name} holds no audio track; {_REMEDY}")
    return track


def _channels(frame: av.AudioFrame) -> NDArray[np.generic]:
    """The samples as [channels, n]; packed formats come interleaved as [1, n · channels]."""
    samples = frame.to_ndarray()
    return samples if frame.format.is_planar else samples.reshape(-1, frame.layout.nb_channels).T
