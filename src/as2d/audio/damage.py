"""Signs that a file was cut short, where libav gives none: it plays what is left and reports no error."""

import os
from typing import BinaryIO

TOLERANCE_BYTES = 4096
"""About a tenth of a second, and what some writers add to the size by mistake."""

_STREAMED = 0x7FFF_0000
_TAIL_BYTES = 1 << 17
_HEAD_BYTES = 1 << 12


def cut_short(file: BinaryIO, format_name: str) -> bool:
    """Whether a wav file is shorter than it says, or an Ogg file has no whole last page. Moves `file`."""
    size = file.seek(0, os.SEEK_END)
    if format_name == "wav":
        return wav_is_cut(_read(file, 0, 8), size)
    if format_name == "ogg":
        return ogg_is_cut(_read(file, max(0, size - _TAIL_BYTES), _TAIL_BYTES))
    return False


def wav_is_cut(head: bytes, size: int) -> bool:
    """Whether a RIFF header declares more than `size` bytes; 0 and 2 GiB or more mean an unknown size."""
    declared = int.from_bytes(head[4:8], "little")
    known = head[:4] == b"RIFF" and declared < _STREAMED
    return known and declared + 8 > size * 1.01 + TOLERANCE_BYTES


def ogg_is_cut(tail: bytes) -> bool:
    """Whether the last page in `tail` is incomplete or not marked as the last of its stream."""
    page = tail[tail.rfind(b"OggS") :]
    segments = page[27 : 27 + page[26]] if len(page) > 26 else b""
    is_last = bool(segments) and bool(page[5] & 4)
    return not is_last or len(page) < 27 + page[26] + sum(segments)


def mp3_declares_length(file: BinaryIO) -> bool:
    """Whether an mp3 file has a header frame with its length; else libav estimates it. Moves `file`."""
    head = _read(file, 0, 10)
    tag = sum((byte & 0x7F) << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=False))
    first_frame = _read(file, 10 + tag if head[:3] == b"ID3" else 0, _HEAD_BYTES)
    return any(mark in first_frame for mark in (b"Xing", b"Info", b"VBRI"))


def _read(file: BinaryIO, position: int, count: int) -> bytes:
    file.seek(position)
    return file.read(count)
