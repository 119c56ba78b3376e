"""AMI (English meetings): MEETING.Mix-Headset.wav, and the manual annotations in words/ and segments/.

A clip is one segment: what one speaker says without a long pause, cut out of the mix of all headsets. Where another
speaks as well, the reference is not all that is heard, and is in doubt.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from as2d.errors import InputError
from as2d.evaluation.corpora.clip import Clip, Piece

_MIX = ".Mix-Headset.wav"
_RECORDINGS = (f"*{_MIX}", f"*/audio/*{_MIX}", f"*/*/audio/*{_MIX}")
"""Flat, and as the corpus is downloaded: in amicorpus/MEETING/audio, from that folder or the one above it."""
_ID = "{http://nite.sourceforge.net/}id"
_HREF = re.compile(r"id\(([^)]*)\)")


class Segment(NamedTuple):
    """What one speaker says from `start_s` to `end_s` of a meeting."""

    speaker: str
    start_s: float
    end_s: float
    text: str


def recognises(folder: Path) -> bool:
    """Whether there is a recording of a meeting."""
    return any(next(folder.glob(pattern), None) for pattern in _RECORDINGS)


def read(folder: Path) -> Iterator[Clip]:
    """The segments of all meetings, in order, named MEETING/SPEAKER-NNNN. InputError without annotations."""
    annotations = _annotations(folder)
    for pattern in _RECORDINGS:
        for recording in sorted(folder.glob(pattern)):
            meeting = recording.name.removesuffix(_MIX)
            yield from _clips(meeting, recording, _segments(annotations, meeting))


def _annotations(folder: Path) -> Path:
    for candidate in (folder, *sorted(folder.glob("*"))):
        if (candidate / "words").is_dir() and (candidate / "segments").is_dir():
            return candidate
    raise InputError(
        f"{folder} has AMI recordings but no folders words and segments; unpack the manual annotations "
        "(ami_public_manual_1.6.2.zip) there"
    )


def _segments(annotations: Path, meeting: str) -> list[Segment]:
    """Of all speakers, by their start. InputError for a meeting that is not annotated."""
    files = sorted((annotations / "segments").glob(f"{meeting}.*.segments.xml"))
    if not files:
        raise InputError(
            f"{annotations} has no segments of {meeting}; unpack all manual annotations there, or remove the recording"
        )
    segments = [segment for path in files for segment in _segments_of(path, annotations)]
    return sorted(segments, key=lambda segment: segment.start_s)


def _segments_of(path: Path, annotations: Path) -> Iterator[Segment]:
    """Those of one speaker in which something is said."""
    words = _words(annotations / "words" / path.name.replace(".segments.", ".words."))
    speaker = path.name.split(".")[1]
    for segment in _parsed(path).iter("segment"):
        text = _text(segment, words)
        try:
            start, end = (float(segment.attrib[f"transcriber_{side}"]) for side in ("start", "end"))
        except (KeyError, ValueError) as error:
            raise InputError(
                f"{path} has a segment without times ({error}); download the annotations again"
            ) from error
        if text and end > start:
            yield Segment(speaker, start, end, text)


def _words(path: Path) -> Mapping[str, str | None]:
    """What is said by id, in order; None for punctuation and sounds that are no words."""
    return {
        element.attrib[_ID]: element.text if element.tag == "w" and "punc" not in element.attrib else None
        for element in _parsed(path)
        if _ID in element.attrib
    }


def _text(segment: ET.Element, words: Mapping[str, str | None]) -> str:
    """The words that a segment's child refers to, as "…#id(first)..id(last)" or "…#id(only)"."""
    order = list(words)
    said: list[str | None] = []
    for child in segment:
        ids = [name for name in _HREF.findall(child.attrib.get("href", "")) if name in words]
        if ids:
            said += [words[name] for name in order[order.index(ids[0]) : order.index(ids[-1]) + 1]]
    return " ".join(word for word in said if word)


def _parsed(path: Path) -> ET.Element:
    try:
        return ET.parse(path).getroot()
    except (OSError, ET.ParseError, LookupError, ValueError) as error:  # the latter two: of its encoding
        raise InputError(f"{path} cannot be read ({error}); download the annotations again") from error


def _clips(meeting: str, recording: Path, segments: list[Segment]) -> Iterator[Clip]:
    for number, segment in enumerate(segments):
        yield Clip(
            name=f"{meeting}/{segment.speaker}-{number:04}",
            path=recording,
            kind="meeting",
            language="en",
            reference=segment.text,
            duration_s=segment.end_s - segment.start_s,
            doubtful=_is_overlapped(segment, segments),
            pieces=(Piece(recording, segment.start_s, segment.end_s),),
        )


def _is_overlapped(segment: Segment, segments: list[Segment]) -> bool:
    return any(
        other.speaker != segment.speaker and other.start_s < segment.end_s and segment.start_s < other.end_s
        for other in segments
    )
