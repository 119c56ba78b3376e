"""Files in, answers out: what the commands that answer do."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from as2d.cli.formats import WRITERS, Format
from as2d.cli.output import FolderOutput, Output, StandardOutput
from as2d.cli.progress import ProgressBar, can_be_seen
from as2d.cli.report import details, notices, say, saying_what_is_logged, summary
from as2d.decoding.methods import TRAITS
from as2d.errors import AudioError, InputError
from as2d.models.load import Device, Engine, Precision
from as2d.records import Method, Result
from as2d.runtime.cores import available_cores, split_cores
from as2d.session import DEFAULT_DRAFTER, Session
from as2d.session.session import OptionFields

_SOME_FAILED = 1
_ALL_FAILED = 2


@dataclass(frozen=True)
class Models:
    """The models of a command, and what they run on."""

    model: str
    drafter: Sequence[str] | None
    threads: int | None
    precision: Precision = "auto"
    engine: Engine = "auto"
    device: Device = "cpu"
    configuration: Path | None = None


@dataclass(frozen=True)
class Saying:
    """What of the answers goes where, and what is said besides."""

    output_format: Format
    output_dir: Path | None
    quiet: bool
    verbose: bool


def answer_files(files: Sequence[str], models: Models, options: OptionFields, saying: Saying) -> int:
    """Answer about each file; the answers on stdout, all else on stderr.

    The exit status: 0 done, 1 some of several files failed, 2 nothing could be done. Raises As2dError.
    """
    if saying.quiet and saying.verbose:
        raise InputError("--quiet and --verbose contradict each other; give one of them")
    output = _output(files, saying)
    with open_session(models, saying, options) as session:
        run = _Run(session, options, output, saying)
        failed = sum(not run.succeeds(file) for file in files)
    return _status(failed, len(files))


@contextmanager
def open_session(models: Models, saying: Saying, options: OptionFields) -> Iterator[Session]:
    """A session with these models, while the context is open. What it logs is said. Raises As2dError."""
    named = _named(models.drafter or [DEFAULT_DRAFTER])
    begin = perf_counter()
    with (
        saying_what_is_logged(quiet=saying.quiet, verbose=saying.verbose),
        Session(
            models.model,
            named,
            precision=models.precision,
            engine=models.engine,
            device=models.device,
            threads=models.threads,
            configuration=models.configuration,
        ) as session,
    ):
        if saying.verbose:
            seconds = perf_counter() - begin
            precision = "" if models.precision == "auto" else f" ({models.precision})"
            who = _drafters(session, named, models.threads, options.get("method", "auto"))
            say(f"{models.model}{precision}, {who}: loaded in {seconds:.2f} s")
        yield session


@dataclass(frozen=True)
class _Run:
    """What all files of one command share."""

    session: Session
    options: OptionFields
    output: Output
    saying: Saying

    def succeeds(self, file: str) -> bool:
        """Answer about a file; a bad one is named and left, all other errors end the command."""
        try:
            self._answer(file)
        except AudioError as error:
            say(f"error: {error}")
            return False
        return True

    def _answer(self, file: str) -> None:
        writer = WRITERS[self.saying.output_format](file)
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
        visible = not self.saying.quiet and can_be_seen(
            writes_every_commit=self.saying.output_format == "jsonl"
        )
        return ProgressBar(file, visible=visible)

    def _report(self, file: str, result: Result, path: Path | None) -> None:
        if self.saying.quiet:
            return
        for notice in notices(result):
            say(f"warning: {file}: {notice}")
        if self.saying.verbose:
            say(f"{file}: {details(result)}, written to {path or 'standard output'}")
        say(f"{file}: {summary(result)}")


def _output(files: Sequence[str], saying: Saying) -> Output:
    output_format, folder = saying.output_format, saying.output_dir
    if folder is not None:
        return FolderOutput(folder, output_format, files)
    if output_format in ("srt", "vtt") and len(files) > 1:
        raise InputError(f"several files cannot share one {output_format}; give --output-dir")
    return StandardOutput("\n" if output_format == "txt" else "")


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
