"""Audio language models that answer sooner on small devices, without changing a single output token.

import as2d
print(as2d.transcribe("speech.wav").text)
"""

from as2d._version import __version__
from as2d.errors import As2dError
from as2d.records import Commit, Event, Options, Result, Segment, SourceStats, Stats
from as2d.session import LiveRecording, PreparedRecording, Request, Session, transcribe

__all__ = [
    "As2dError",
    "Commit",
    "Event",
    "LiveRecording",
    "Options",
    "PreparedRecording",
    "Request",
    "Result",
    "Segment",
    "Session",
    "SourceStats",
    "Stats",
    "__version__",
    "transcribe",
]
