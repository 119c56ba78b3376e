"""`as2d transcribe`: files in, transcripts out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Literal

import typer

from as2d.cli.formats import WRITERS, Format
from as2d.cli.output import FolderOutput, Output, StandardOutput
from as2d.cli.progress import ProgressBar, can_be_seen
from as2d.cli.report import details, notices, say, saying_what_is_logged, summary
from as2d.decoding.methods import TRAITS
from as2d.errors import AudioError, InputError
from as2d.models.whisper.model import TargetPrecision
from as2d.records import Method, Result, SpeechTask
from as2d.runtime.cores import available_cores, split_cores
from as2d.session import DEFAULT_DRAFTER, DEFAULT_MODEL, Session
from as2d.session.session import OptionFields

_SOME_FAILED = 1
_ALL_FAILED = 2

_Audio = Annotated[list[str], typer.Argument(metavar="AUDIO...", help="Files with sound; - is stdin.")]
_Model = Annotated[str, typer.Option(help="A name from `as2d models list`, or a model folder.")]
_Drafter = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="The same, self, pocketsphinx, onnx-asr:NAME, sherpa-onnx:FOLDER, auto (the best one) or none. May be "
        "repeated: they draft together.  [default: auto]",
    ),
]
_Method = Annotated[
    Method,
    typer.Option(
        help="How to decode; the tokens are the same. auto: as2d or target-only, whichever is faster. All others are "
        "there to be compared with."
    ),
]
_Budget = Annotated[
    int | None,
    typer.Option(help="Most drafted tokens a round, 0 to 24; speculative decoding with K = budget + 1."),
]
_Threads = Annotated[int | None, typer.Option(help="Cores to use. Without: all that the process may use.")]
_Language = Annotated[str | None, typer.Option(help="The language spoken (en, french). Without: detected.")]
_Task = Annotated[SpeechTask, typer.Option(help="translate: English text, whatever is spoken.")]
_Precision = Annotated[TargetPrecision, typer.Option(help="Of the model's decoder weights.")]
_Configuration = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="What `as2d tune` wrote, on whatever machine. Without: your own, where it fits."
    ),
]
_Batch = Annotated[
    str, typer.Option(metavar="word|N", help="Publish drafts word by word, or N tokens at once.")
]
_Resync = Annotated[
    bool, typer.Option("--resync", help="as2d: let drafters that are lost go on from the committed text.")
]
_Format = Annotated[
    Format, typer.Option(help="txt: a line a window; json: a line a file; jsonl: a line a commit.")
]
_OutputDir = Annotated[Path | None, typer.Option(help="Write one file each there, nothing on stdout.")]
_Offline = Annotated[
    bool,
    typer.Option(
        "--offline", help="Never use the network. Always so: models are installed packages or folders."
    ),
]
_Quiet = Annotated[bool, typer.Option("--quiet", help="Nothing on stderr but errors.")]
_Verbose = Annotated[bool, typer.Option("--verbose", help="More about each file on stderr.")]


def command(
    audio: _Audio,
    *,
    model: _Model = DEFAULT_MODEL,
    drafter: _Drafter = None,
    method: _Method = "auto",
    budget: _Budget = None,
    threads: _Threads = None,
    language: _Language = None,
    task: _Task = "transcribe",
    precision: _Precision = "int8",
    configuration: _Configuration = None,
    batch: _Batch = "word",
    resync: _Resync = False,
    output_format: _Format = "txt",
    output_dir: _OutputDir = None,
    offline: _Offline = False,  # noqa: ARG001 -- there is nothing to switch off
    quiet: _Quiet = False,
    verbose: _Verbose = False,
) -> int:
    """Transcribe or translate audio: the transcript on stdout, all else on stderr.

    Exit status 0: done. 1: some of several files failed. 2: nothing could be done.
    """
    if quiet and verbose:
        raise InputError("--quiet and --verbose contradict each other; give one of them")
    output = _output(audio, output_format, output_dir)
    options = OptionFields(
        method=method, language=language, task=task, budget=budget, batch=_batch(batch), resync=resync
    )
    named = _named(drafter or [DEFAULT_DRAFTER])
    begin = perf_counter()
    with (
        saying_what_is_logged(quiet=quiet, verbose=verbose),
        Session(model, named, precision=precision, threads=threads, configuration=configuration) as session,
    ):
        if verbose:
            seconds = perf_counter() - begin
            who = _drafters(session, named, threads, method)
            say(f"{model} ({precision}), {who}: loaded in {seconds:.2f} s")
        run = _Run(session, options, output_format, output, quiet=quiet, verbose=verbose)
        failed = sum(not run.succeeds(file) for file in audio)
    return _status(failed, len(audio))


@dataclass(frozen=True)
class _Run:
    """What all files of one command share."""

    session: Session
    options: OptionFields
    output_format: Format
    output: Output
    quiet: bool
    verbose: bool

    def succeeds(self, file: str) -> bool:
        """Transcribe a file; a bad one is named and left, all other errors end the command."""
        try:
            self._transcribe(file)
        except AudioError as error:
            say(f"error: {error}")
            return False
        return True

    def _transcribe(self, file: str) -> None:
        writer = WRITERS[self.output_format](file)
        with self.output.open(file) as sink:
            request = self.session.submit(file, **self.options)
            with self._bar(file) as bar:
                for event in request.events():
                    bar.update(event)
                    if text := writer.event(event):
                        with bar.hidden():
                            sink.write(text)
            result = request.result()
            sink.write(writer.result(result))
        self._report(file, result, sink.path)

    def _bar(self, file: str) -> ProgressBar:
        visible = not self.quiet and can_be_seen(writes_every_commit=self.output_format == "jsonl")
        return ProgressBar(file, visible=visible)

    def _report(self, file: str, result: Result, path: Path | None) -> None:
        if self.quiet:
            return
        for notice in notices(result):
            say(f"warning: {file}: {notice}")
        if self.verbose:
            say(f"{file}: {details(result)}, written to {path or 'standard output'}")
        say(f"{file}: {summary(result)}")


def _output(files: Sequence[str], output_format: Format, folder: Path | None) -> Output:
    if folder is not None:
        return FolderOutput(folder, output_format, files)
    if output_format in ("srt", "vtt") and len(files) > 1:
        raise InputError(f"several files cannot share one {output_format}; give --output-dir")
    return StandardOutput("\n" if output_format == "txt" else "")


def _batch(text: str) -> Literal["word"] | int:
    if text == "word":
        return "word"
    if not text.isdecimal():
        raise InputError(f"there is no batch {text!r}; use word or a number of tokens")
    return int(text)


def _named(drafters: Sequence[str]) -> Sequence[str] | None:
    """None where there are to be none."""
    if "none" not in drafters:
        return drafters
    if len(drafters) > 1:
        raise InputError("--drafter none contradicts the other drafters; give one or the other")
    return None


def _drafters(session: Session, named: Sequence[str] | None, threads: int | None, method: Method) -> str:
    """Who may draft, and the cores."""
    cores = split_cores(available_cores() if threads is None else threads)
    names = session.drafters
    if not names:
        return f"drafters none, cores {cores.alone}"
    best = named is not None and DEFAULT_DRAFTER in named
    beside = cores.cores_for(1 if best else len(names))
    choice = "the best of " if best else ""
    in_turn = method != "auto" and TRAITS[method].serial
    target = "in turn with the drafter" if in_turn else f"{beside} beside the drafters"
    return f"drafters {choice}{', '.join(names)}, cores {cores.alone} ({target})"


def _status(failed: int, files: int) -> int:
    if failed == 0:
        return 0
    return _ALL_FAILED if failed == files else _SOME_FAILED
