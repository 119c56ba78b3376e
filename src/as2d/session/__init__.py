"""Sessions: load models once, prepare audio, answer requests."""

from collections.abc import Sequence
from os import PathLike
from typing import Unpack

from as2d.audio import AudioInput
from as2d.configuration.drafters import Drafter
from as2d.models.contract import AudioModel
from as2d.records import Result
from as2d.session.live import LiveRecording
from as2d.session.options import OptionFields
from as2d.session.recording import PreparedRecording
from as2d.session.request import Request
from as2d.session.session import DEFAULT_DRAFTER, DEFAULT_MODEL, Session

__all__ = [
    "DEFAULT_DRAFTER",
    "DEFAULT_MODEL",
    "Drafter",
    "LiveRecording",
    "PreparedRecording",
    "Request",
    "Session",
    "transcribe",
]


def transcribe(
    audio: AudioInput,
    model: str | PathLike[str] | AudioModel = DEFAULT_MODEL,
    drafter: Drafter | Sequence[Drafter] | None = DEFAULT_DRAFTER,
    **options: Unpack[OptionFields],
) -> Result:
    """Transcribe or translate one recording; the options are the fields of `Options`.

    Loads the models for this call alone: keep a `Session` for more than one. Raises As2dError.
    """
    with Session(model, drafter) as session:
        return session.transcribe(audio, **options)
