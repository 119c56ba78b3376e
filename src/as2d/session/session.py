"""The front door: load a target and its drafters once, then prepare and answer."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from queue import SimpleQueue
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Literal, Self, TypedDict, TypeVar, Unpack, get_args

from as2d.audio import AudioInput
from as2d.configuration.deployed import deploy
from as2d.configuration.drafters import AUTO, Drafter, drafters_for
from as2d.configuration.selection import Selector
from as2d.errors import ClosedError, InputError
from as2d.models.contract import AudioModel
from as2d.models.whisper.model import TargetPrecision, load_whisper
from as2d.records import Event, Method, Options, Result, Task
from as2d.runtime.cores import available_cores
from as2d.session.recording import PreparedRecording, Recording, prepare_recording
from as2d.session.request import Request
from as2d.session.transcription import answer, check_options

DEFAULT_MODEL = "whisper-base"
DEFAULT_DRAFTER = AUTO

T = TypeVar("T")
_Job = Callable[[], None]


class OptionFields(TypedDict, total=False):
    """The fields of `Options`, as keyword arguments."""

    method: Method
    language: str | None
    task: Task
    to: str | None
    question: str | None
    context: str
    budget: int | None
    batch: Literal["word"] | int
    any_language: bool
    resync: bool


class Session:
    """A loaded target and its drafters that answer one request at a time, in the order of their arrival.

    `model` is a name (`as2d models list`), a folder, or an object that implements `AudioModel`. A drafter may be the
    same, a `Recogniser`, "self" (made of a Whisper target), "pocketsphinx", "onnx-asr:NAME" or "sherpa-onnx:FOLDER"; it
    is loaded when first needed. Several draft together. "auto" is the best of those that come with as2d, as measured
    once on this machine; with None the target decodes alone. `precision` is that of the target's decoder weights.
    `threads` is how many cores target and drafters share (None: all that the process may use). `configuration` is a
    file that `as2d tune` wrote, perhaps on another machine; without, the method auto uses the user's own file where
    that fits. Any thread may use a session; close it, or use it as a context manager. Raises ModelNotFoundError,
    ModelDamagedError, CacheError or InputError.
    """

    def __init__(
        self,
        model: str | PathLike[str] | AudioModel = DEFAULT_MODEL,
        drafter: Drafter | Sequence[Drafter] | None = DEFAULT_DRAFTER,
        *,
        precision: TargetPrecision = "int8",
        threads: int | None = None,
        configuration: str | PathLike[str] | None = None,
    ) -> None:
        if precision not in get_args(TargetPrecision):
            raise InputError(
                f"there is no precision {precision!r}; use one of {', '.join(get_args(TargetPrecision))}"
            )
        target: AudioModel = load_whisper(model, precision) if isinstance(model, str | PathLike) else model
        cores = available_cores() if threads is None else threads
        drafters = drafters_for(target, drafter)
        deployed = deploy(configuration, target, drafters, cores)
        self._selector = Selector(target, drafters, cores, deployed)
        self._pair = self._selector.pair
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._pending: set[Request[Any]] = set()
        self._closed = False
        self._lock = Lock()
        self._worker = Thread(target=self._work, name="as2d-session", daemon=True)
        self._worker.start()

    @property
    def drafters(self) -> tuple[str, ...]:
        """The names of the drafters that may be used, loaded or not."""
        return tuple(source.name for source in self._selector.drafters.sources)

    def prepare(
        self,
        audio: AudioInput,
        *,
        language: str | None = None,
        context: str = "",
        any_language: bool = False,
    ) -> PreparedRecording:
        """Encode audio with the target and the drafters, for any number of later requests, all with that context.

        Raises AudioError, UnsupportedError or ClosedError.
        """
        instruction = check_options(self._selector, Options(language=language, context=context))
        recording = Recording(audio)
        request: Request[PreparedRecording] = Request()

        def work() -> PreparedRecording:
            return prepare_recording(
                self._pair,
                recording,
                instruction,
                request.cancelled,
                any_language=any_language,
                chosen=self._selector.to_prepare(request.cancelled),
            )

        return _wait(self._enqueue(request, recording, work))

    def submit(
        self, audio: AudioInput | PreparedRecording, **options: Unpack[OptionFields]
    ) -> Request[Result]:
        """Queue a request; the options are the fields of `Options`.

        Raises AudioError, InputError or ClosedError for what can be known at once.
        """
        chosen = Options(**options)
        check_options(self._selector, chosen)
        request: Request[Result] = Request()
        if isinstance(audio, PreparedRecording):
            return self._enqueue(
                request, nullcontext(), lambda: answer(self._selector, audio, chosen, request)
            )
        recording = Recording(audio)
        return self._enqueue(request, recording, lambda: answer(self._selector, recording, chosen, request))

    def transcribe(self, audio: AudioInput | PreparedRecording, **options: Unpack[OptionFields]) -> Result:
        """Answer a request and wait for it; an interrupt cancels it. Options and errors as in `submit`."""
        return _wait(self.submit(audio, **options))

    def stream(
        self, audio: AudioInput | PreparedRecording, **options: Unpack[OptionFields]
    ) -> Iterator[Event]:
        """The commits of a request as they come; leaving the loop cancels it. Options and errors as in `submit`."""
        return self.submit(audio, **options).events()

    def close(self) -> None:
        """Cancel what is queued or running and free the threads. May be called again."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
            for request in self._pending:
                request.cancel()
        self._worker.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _enqueue(
        self, request: Request[T], audio: AbstractContextManager[object], work: Callable[[], T]
    ) -> Request[T]:
        """Queue the work; however it ends, and if it never begins, the audio is freed."""

        def job() -> None:
            with audio:
                _answer(request, work)
            with self._lock:
                self._pending.discard(request)

        with self._lock:
            if not self._closed:
                self._pending.add(request)
                self._jobs.put(job)
                return request
        with audio:
            raise ClosedError("the session is closed; make a new one")

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _answer(request: Request[T], work: Callable[[], T]) -> None:
    """Do the work unless nobody wants it any more; whatever it raises becomes the request's error."""
    if request.cancelled.is_set():
        request.fail()
        return
    try:
        value = work()
    except BaseException as error:  # the worker serves the next request whatever happened to this one
        request.fail(error)
    else:
        request.succeed(value)


def _wait(request: Request[T]) -> T:
    try:
        return request.result()
    except BaseException:
        request.cancel()
        raise
