"""`as2d live`: text of audio while it arrives."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import RawIOBase
from threading import Event as Flag
from types import FrameType
from typing import Annotated, BinaryIO

import typer

from as2d.audio import open_audio
from as2d.audio.blocks import Samples
from as2d.audio.pcm import SampleFormat, pcm_samples
from as2d.cli import options as o
from as2d.cli.answering import Models, Saying, open_session
from as2d.cli.live_screen import LiveFormat, screen_for
from as2d.cli.live_summary import LiveSummary
from as2d.cli.output import StandardOutput
from as2d.cli.report import say
from as2d.errors import AudioError, InputError
from as2d.records import SAMPLE_RATE, SpeechTask
from as2d.session import DEFAULT_MODEL
from as2d.session.live_text import LiveEvent, LiveText
from as2d.session.pacing import MIN_BLOCK_S, Arrivals, follow, paced
from as2d.session.session import OptionFields

_INTERRUPTED = 130
_STDIN = "-"
_STOPPING_S = 1.0
"""How long the end waits for a file's reader."""

_Audio = Annotated[
    str, typer.Argument(metavar="[AUDIO]", help="A file, paced in real time; - is raw samples.")
]
_Block = Annotated[float, typer.Option(min=MIN_BLOCK_S, metavar="SECONDS", help="Audio worked on at once.")]
_Pace = Annotated[
    float | None, typer.Option(metavar="SPEED", help="Of a file: 2 is twice real time.  [default: 1]")
]
_Rate = Annotated[int | None, typer.Option(metavar="HZ", help="Of raw samples.  [default: 16000]")]
_SampleFormat = Annotated[SampleFormat | None, typer.Option(help="Of raw samples.  [default: s16le]")]
_Channels = Annotated[int | None, typer.Option(help="Of raw samples.  [default: 1]")]
_Task = Annotated[SpeechTask, typer.Option(help="translate: to the model's first language.")]
_LiveFormat = Annotated[
    LiveFormat,
    typer.Option("--output-format", help="txt: a line a window; jsonl: a line a text, tentative ones too."),
]


def command(
    audio: _Audio = _STDIN,
    *,
    block: _Block = 4.0,
    pace: _Pace = None,
    rate: _Rate = None,
    sample_format: _SampleFormat = None,
    channels: _Channels = None,
    model: o.Model = DEFAULT_MODEL,
    drafter: o.Drafter = None,
    method: o.MethodName = "auto",
    budget: o.Budget = None,
    threads: o.Threads = None,
    language: o.Language = None,
    context: o.Context = "",
    task: _Task = "transcribe",
    precision: o.Precision = "auto",
    engine: o.EngineName = "auto",
    device: o.DeviceName = "cpu",
    configuration: o.Configuration = None,
    output_format: _LiveFormat = "txt",
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> int:
    """Write down speech while it arrives: raw samples on stdin, or a file in real time.

    The text of a window of up to 15 s is stable once the window has closed, at a pause if there is one. Until then it
    is tentative: dimmed on a terminal, not shown in a pipe. Ctrl-C ends the audio, and all text comes out; a second one
    ends at once.
    """
    if quiet and verbose:
        raise InputError("--quiet and --verbose contradict each other; give one of them")
    source = _Input(audio, pace, rate, sample_format, channels)
    models = Models(model, drafter, threads, precision, engine, device, configuration)
    options = OptionFields(method=method, language=language, context=context, task=task, budget=budget)
    saying = Saying(output_format, None, quiet, verbose)
    with (
        source.arriving() as arriving,
        _until_interrupted(arriving.arrivals) as interrupted,
        open_session(models, saying, options) as session,
    ):
        live = session.live(**options)
        if not quiet:
            _say_warnings(live.warnings)
        _write_down(live, arriving, block, output_format, quiet=quiet)
        return _INTERRUPTED if interrupted.is_set() else 0


@dataclass(frozen=True)
class _Arriving:
    """What arrives, and what was wrong with the file that it comes from, once that has been read."""

    arrivals: Arrivals
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class _Input:
    """Where the samples come from, as the options say it."""

    audio: str
    pace: float | None
    rate: int | None
    sample_format: SampleFormat | None
    channels: int | None

    @contextmanager
    def arriving(self) -> Iterator[_Arriving]:
        """The source, while it is needed. Standard input is read from now on, a file when its samples are wanted.

        Raises InputError for options of the other kind of source, and AudioError.
        """
        if self.audio == _STDIN:
            arrivals = Arrivals(self._raw_samples())
            arrivals.start()
            yield _Arriving(arrivals)
            return
        self._refuse_raw_options()
        with open_audio(self.audio) as stream:
            arrivals = Arrivals(paced(stream, 1.0 if self.pace is None else self.pace))
            try:
                yield _Arriving(arrivals, stream.warnings)
            finally:
                arrivals.stop()
                arrivals.join(_STOPPING_S)

    def _raw_samples(self) -> Iterator[Samples]:
        if self.pace is not None:
            raise InputError("standard input has a pace of its own; leave --pace out, or give a file")
        return pcm_samples(
            _standard_input(),
            SAMPLE_RATE if self.rate is None else self.rate,
            self.sample_format or "s16le",
            1 if self.channels is None else self.channels,
        )

    def _refuse_raw_options(self) -> None:
        raw = {"--rate": self.rate, "--sample-format": self.sample_format, "--channels": self.channels}
        for option, value in raw.items():
            if value is not None:
                raise InputError(f"{option} is for raw samples on stdin; leave it out, a file says it itself")


def _standard_input() -> BinaryIO | RawIOBase:
    """Unbuffered, so that all that there is comes at once. AudioError where nobody can have put samples there."""
    if sys.stdin is None or sys.stdin.isatty():
        raise AudioError("no samples come on standard input; pipe them there, or name a file")
    file: BinaryIO | RawIOBase = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
    return file


def _write_down(
    live: LiveText, arriving: _Arriving, block_s: float, output_format: LiveFormat, *, quiet: bool
) -> None:
    """Show all texts, then say how it went."""
    summary = LiveSummary()
    with (
        StandardOutput("").open(_STDIN) as sink,
        screen_for(output_format, sink.write) as screen,
    ):
        for item in follow(live, arriving.arrivals, block_s):
            summary.add(item)
            if isinstance(item, LiveEvent):
                screen.show(item)
    if not quiet:
        _say_warnings([*arriving.warnings, *summary.notices])
        say(summary.line)


@contextmanager
def _until_interrupted(arrivals: Arrivals) -> Iterator[Flag]:
    """The first interrupt ends the audio, and is noted; a second one, or one before any audio, ends everything."""
    interrupted = Flag()
    before = signal.getsignal(signal.SIGINT)

    def end(_number: int, _frame: FrameType | None) -> None:
        if not arrivals.given:
            raise KeyboardInterrupt
        interrupted.set()
        arrivals.stop()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, end)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _say_warnings(warnings: Sequence[str]) -> None:
    for warning in warnings:
        say(f"warning: {warning}")
