"""The front door: load a target and its drafters once, then prepare and answer."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from os import PathLike
from types import TracebackType
from typing import Self, TypeVar, Unpack
from weakref import WeakSet

from as2d.audio import AudioInput
from as2d.configuration.deployed import deploy
from as2d.configuration.drafters import AUTO, Drafter, drafters_for
from as2d.configuration.selection import Selector
from as2d.errors import InputError
from as2d.models.contract import AudioModel
from as2d.models.load import Device, Engine, Precision, load_target
from as2d.records import SAMPLE_RATE, Event, Options, Result
from as2d.runtime.cores import available_cores
from as2d.session.desk import Desk
from as2d.session.live import Limits, LiveRecording, new_recording, open_saved
from as2d.session.live_text import LiveText
from as2d.session.options import OptionFields
from as2d.session.recording import PreparedRecording, Recording, prepare_recording
from as2d.session.request import Request, wait_for
from as2d.session.transcription import answer, check_options
from as2d.session.worker import Worker

DEFAULT_MODEL = "whisper-base"
DEFAULT_DRAFTER = AUTO

__all__ = ["DEFAULT_DRAFTER", "DEFAULT_MODEL", "OptionFields", "Session"]

T = TypeVar("T")


class Session:
    """A loaded target and its drafters that answer one request at a time.

    Requests for the session are answered in the order of their arrival; live recordings (`listen`) take turns with it.

    `model` is a name (`as2d models list`), a folder, or an object that implements `AudioModel`. A drafter may be the
    same, a `Recogniser`, "self" (made of a Whisper target), "pocketsphinx", "onnx-asr:NAME" or "sherpa-onnx:FOLDER"; it
    is loaded when first needed. Several draft together. "auto" is the best of those that come with as2d, as measured
    once on this machine; with None the target decodes alone. `precision` is that of a Whisper target's decoder weights
    on onnxruntime (auto: int8). `engine` is what computes models that are named (auto: onnxruntime for Whisper, torch
    for others), on `device`. `threads` is how many cores target and drafters share (None: all that the process may
    use). `configuration` is a file that `as2d tune` wrote, perhaps on another machine; without, the method auto uses
    the user's own file where that fits. Any thread may use a session; close it, or use it as a context manager. Raises
    ModelNotFoundError, ModelDamagedError, CacheError or InputError.
    """

    def __init__(
        self,
        model: str | PathLike[str] | AudioModel = DEFAULT_MODEL,
        drafter: Drafter | Sequence[Drafter] | None = DEFAULT_DRAFTER,
        *,
        precision: Precision = "auto",
        engine: Engine = "auto",
        device: Device = "cpu",
        threads: int | None = None,
        configuration: str | PathLike[str] | None = None,
    ) -> None:
        target = _target(model, precision, engine, device)
        cores = available_cores() if threads is None else threads
        drafters = drafters_for(target, drafter, engine, device)
        deployed = deploy(configuration, target, drafters, cores)
        self._selector = Selector(target, drafters, cores, deployed)
        self._pair = self._selector.pair
        self._worker = Worker()
        self._desk = Desk(self._selector, self._worker)
        self._live: WeakSet[LiveRecording] = WeakSet()

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
        deadline_s: float | None = None,
    ) -> PreparedRecording:
        """Encode audio with the target and the drafters, for any number of later requests, all with that context.

        Raises AudioError, UnsupportedError, DeadlineError once `deadline_s` seconds have passed, or ClosedError.
        """
        instruction = check_options(self._selector, Options(language=language, context=context))
        request: Request[PreparedRecording] = Request(deadline_s)
        recording = self._recording(audio)

        def work() -> PreparedRecording:
            return prepare_recording(
                self._pair,
                recording,
                instruction,
                request.cancelled,
                any_language=any_language,
                chosen=self._selector.to_prepare(request.cancelled),
            )

        return wait_for(self._worker.enqueue(request, work, self, recording))

    def submit(
        self,
        audio: AudioInput | PreparedRecording,
        *,
        deadline_s: float | None = None,
        **options: Unpack[OptionFields],
    ) -> Request[Result]:
        """Queue a request; the options are the fields of `Options`. The deadline counts from now.

        Raises AudioError, InputError, DeadlineError or ClosedError for what can be known at once.
        """
        chosen = Options(**options)
        check_options(self._selector, chosen)
        request: Request[Result] = Request(deadline_s)
        if isinstance(audio, PreparedRecording):
            return self._worker.enqueue(request, lambda: answer(self._selector, audio, chosen, request), self)
        recording = self._recording(audio)
        return self._worker.enqueue(
            request, lambda: answer(self._selector, recording, chosen, request), self, recording
        )

    def transcribe(
        self,
        audio: AudioInput | PreparedRecording,
        *,
        deadline_s: float | None = None,
        **options: Unpack[OptionFields],
    ) -> Result:
        """Answer a request and wait for it; an interrupt cancels it. Options and errors as in `submit`."""
        return wait_for(self.submit(audio, deadline_s=deadline_s, **options))

    def stream(
        self, audio: AudioInput | PreparedRecording, **options: Unpack[OptionFields]
    ) -> Iterator[Event]:
        """The commits of a request as they come; leaving the loop cancels it. Options and errors as in `submit`."""
        return self.submit(audio, **options).events()

    def listen(
        self,
        sample_rate: int = SAMPLE_RATE,
        *,
        language: str | None = None,
        context: str = "",
        memory: int = 1 << 30,
        keep_s: float = 3600.0,
    ) -> LiveRecording:
        """A recording that samples are fed to and that can be asked about meanwhile; it is prepared in the background.

        `language` and `context` are those of requests that do not say them, `memory` the most bytes of prepared audio
        that are kept (0: nothing is prepared before it is asked for); audio older than `keep_s` seconds is forgotten.
        Raises InputError, UnsupportedError or ClosedError.
        """
        instruction = check_options(self._selector, Options(language=language, context=context))
        return self._followed(new_recording(self._desk, instruction, Limits(memory, keep_s), sample_rate))

    def open_recording(
        self, folder: str | PathLike[str], *, memory: int = 1 << 30, keep_s: float = 3600.0
    ) -> LiveRecording:
        """A recording that `LiveRecording.save` wrote; more can be fed unless it was finished.

        Raises InputError for what is damaged or of another model or version, UnsupportedError for a model whose
        prepared audio cannot be saved, or ClosedError.
        """
        return self._followed(open_saved(self._desk, folder, Limits(memory, keep_s)))

    def _recording(self, audio: AudioInput) -> Recording:
        """The audio in windows as long as the target takes at once."""
        return Recording(audio, self._pair.target.capabilities.longest_s)

    def _followed(self, recording: LiveRecording) -> LiveRecording:
        """The recording, which is closed with the session."""
        self._live.add(recording)
        self._worker.check_open()
        return recording

    def live(self, *, max_window_s: float = 15.0, **options: Unpack[OptionFields]) -> LiveText:
        """Text of audio while it arrives: stable for closed windows, tentative for the open one. See `LiveText`."""
        return LiveText(self._desk, max_window_s=max_window_s, **options)

    def run(self, work: Callable[[], T], lane: Hashable | None = None) -> Request[T]:
        """Queue any work for the thread that answers requests. Lanes take turns; None is the session's own.

        Raises ClosedError; what the work raises is raised by the request's `result`.
        """
        return self._worker.enqueue(Request(), work, self if lane is None else lane)

    def close(self) -> None:
        """Cancel what is queued or running and free the threads. May be called again."""
        for recording in tuple(self._live):
            recording.close()
        self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _target(
    model: str | PathLike[str] | AudioModel, precision: Precision, engine: Engine, device: Device
) -> AudioModel:
    """The target, loaded if it is named."""
    if isinstance(model, str | PathLike):
        return load_target(model, precision=precision, engine=engine, device=device)
    if precision != "auto":
        raise InputError("a model that is loaded has its precision; leave that out, or name the model")
    return model
