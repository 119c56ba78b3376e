"""Recordings that go on while they are asked about."""

from dataclasses import replace
from os import PathLike
from threading import Lock
from typing import Any, NamedTuple, Self, Unpack

from numpy.typing import NDArray

from as2d.audio import AudioInput, open_audio
from as2d.audio.blocks import Samples
from as2d.audio.live import LiveInput, LiveWindows
from as2d.errors import ClosedError, InputError
from as2d.models.contract import prefix_of
from as2d.records import SAMPLE_RATE, Instruction, Options, Result
from as2d.session.background import Background
from as2d.session.desk import Desk
from as2d.session.live_answer import answer_about, nothing_said
from as2d.session.options import OptionFields
from as2d.session.preparing import Preparer, Span, spans_of, storable
from as2d.session.request import Request, wait_for
from as2d.session.saved import Saved, read_saved, write_saved
from as2d.session.seconds import in_seconds
from as2d.session.timeline import Timeline
from as2d.session.transcription import check_options
from as2d.session.view import Asked, LiveView, view_of


class Limits(NamedTuple):
    """How much of a recording is kept: bytes of what is prepared, seconds of audio."""

    memory: int
    keep_s: float


class LiveRecording:
    """Audio that arrives, is prepared in the background, and can be asked about at any time. Made by `Session.listen`.

    Windows that are complete are encoded while no request waits. Any thread may use a recording; close it, or use it as
    a context manager.
    """

    def __init__(self, desk: Desk, instruction: Instruction, limits: Limits, saved: Saved) -> None:
        """`instruction` is what is prepared for, and says the language and context of requests that do not."""
        self._desk = desk
        self._instruction = instruction
        self._input = LiveInput(saved.sample_rate)
        self._timeline = Timeline(
            saved.open, round(limits.keep_s * SAMPLE_RATE), saved.complete, saved.samples
        )
        self._preparer = Preparer(desk.selector, instruction, limits.memory, saved.packed)
        self._warnings = list(saved.warnings)
        self._finished = saved.finished
        self._closed = False
        self._feeding = Lock()
        self._changed = Lock()
        self._background = Background(desk.worker, self._preparer, self._timeline)
        self._background.add(saved.complete)

    @property
    def duration_s(self) -> float:
        """Seconds of audio that have been fed."""
        return self._timeline.samples / SAMPLE_RATE

    @property
    def prepared_s(self) -> float:
        """Seconds of complete windows that a request need not prepare."""
        with self._changed:
            complete = self._timeline.complete
        ready = (window for window in complete if not window.speech or self._preparer.has(window))
        return sum(window.end - window.start for window in ready) / SAMPLE_RATE

    @property
    def prepared_bytes(self) -> int:
        """Bytes of what is prepared, at most the `memory` given to `listen`."""
        return self._preparer.held

    def feed(self, samples: NDArray[Any], sample_rate: int | None = None) -> None:
        """The next samples: [n] or [n, channels], float32, float64 or int16. Never waits for encoding or decoding.

        Raises InputError for NaN or infinity, another type, or another rate or channel count than before, and the
        recording goes on with what it had; ClosedError.
        """
        with self._feeding:
            self._check_open()
            self._add(self._input.convert(samples, sample_rate))

    def feed_file(self, audio: AudioInput) -> None:
        """All of a file, its bytes, or (samples, rate) at once. Raises AudioError or ClosedError."""
        with self._feeding, open_audio(audio) as stream:
            self._check_open()
            self._add(self._input.flush())
            for block in stream:
                self._add(block)
            self._warnings.extend(stream.warnings)

    def finish(self) -> None:
        """Say that no more comes: what is open is then complete. May be called again."""
        with self._feeding:
            if self._finished or self._closed:
                return
            self._add(self._input.flush())
            with self._changed:
                self._finished = True
                self._background.add(self._timeline.finish())

    def submit(
        self,
        *,
        last: float | None = None,
        since: float | None = None,
        until: float | None = None,
        deadline_s: float | None = None,
        **options: Unpack[OptionFields],
    ) -> Request[Result]:
        """Queue a request for the last seconds, for those from `since` to `until`, or for all that there is now.

        What is fed later changes nothing. The view is widened to whole windows; the result says what it was. The
        options are the fields of `Options`; language and context are the recording's where they are not given, and so
        is the language where it is None. Raises InputError, DeadlineError or ClosedError for what can be known at once.
        """
        asked = Asked(last, since, until)
        usual = Options(language=self._instruction.language, context=self._instruction.context)
        chosen = replace(usual, **options)
        check_options(self._desk.selector, chosen)
        request: Request[Result] = Request(deadline_s)
        with self._changed:
            self._check_not_closed()
            windows = self._timeline.windows()
            view = view_of(windows, self._timeline.samples, asked, self._warnings)
            if view.speech:
                return self._desk.worker.enqueue(
                    request, lambda: self._answer(view, spans_of(windows), chosen, request), self
                )
        request.answer(lambda: nothing_said(self._desk.selector.target, view, chosen, request))
        return request

    def request(
        self,
        *,
        last: float | None = None,
        since: float | None = None,
        until: float | None = None,
        deadline_s: float | None = None,
        **options: Unpack[OptionFields],
    ) -> Result:
        """Answer a request and wait for it; an interrupt cancels it. Arguments and errors as in `submit`."""
        return wait_for(self.submit(last=last, since=since, until=until, deadline_s=deadline_s, **options))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all complete windows are prepared, or could not be, for `timeout` seconds at most; whether so."""
        return self._background.wait(timeout)

    def save(self, folder: str | PathLike[str]) -> None:
        """Keep the audio, and what the target has encoded of it, in a folder that `Session.open_recording` opens.

        An earlier save in the folder is replaced as a whole, or stays as it was. Some milliseconds that a resampler
        holds back are not in it. Raises UnsupportedError for a model whose prepared audio cannot be saved, InputError
        for a folder that holds something else, SaveError where it cannot be written, and ClosedError.
        """
        write_saved(folder, self._saved(), self._desk.selector.target.identity)

    def close(self) -> None:
        """Cancel its requests and drop all that is kept. May be called again."""
        with self._changed:
            self._closed = True
            self._timeline.forget()
        self._background.close()
        self._desk.worker.cancel(self)
        self._preparer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _saved(self) -> Saved:
        packed = self._preparer.packed()
        with self._changed:
            self._check_not_closed()
            return Saved(
                sample_rate=self._input.rate,
                complete=self._timeline.complete,
                open=self._timeline.open(),
                samples=self._timeline.samples,
                packed=packed,
                language=self._instruction.language,
                context=self._instruction.context,
                prefix=self._preparer.prefix,
                warnings=tuple(self._warnings),
                finished=self._finished,
            )

    def _check_not_closed(self) -> None:
        if self._closed:
            raise ClosedError("the recording is closed; listen again")

    def _check_open(self) -> None:
        if self._closed or self._finished:
            raise ClosedError("the recording is finished or closed; listen again")

    def _add(self, samples: Samples) -> None:
        """A second at a time, so that requests need not wait for speech detection in all of it."""
        for first in range(0, len(samples), SAMPLE_RATE):
            with self._changed:
                self._check_open()
                self._background.add(self._timeline.feed(samples[first : first + SAMPLE_RATE]))

    def _answer(
        self, view: LiveView, spans: frozenset[Span], options: Options, request: Request[Result]
    ) -> Result:
        """On the worker. Windows that have become longer since an earlier request are forgotten."""
        with self._changed:
            remembered = spans | spans_of(self._timeline.complete)
        self._preparer.forget(lambda span: span not in remembered)
        return answer_about(self._desk.selector, self._preparer, view, options, request)


def new_recording(desk: Desk, instruction: Instruction, limits: Limits, sample_rate: int) -> LiveRecording:
    """A recording that begins now. Raises InputError for a rate or limits that cannot be."""
    _check_limits(limits)
    return LiveRecording(desk, instruction, limits, Saved(sample_rate=sample_rate, open=LiveWindows()))


def open_saved(desk: Desk, folder: str | PathLike[str], limits: Limits) -> LiveRecording:
    """A recording that was saved. Raises InputError, and UnsupportedError for a model that is not `Storable`."""
    _check_limits(limits)
    target = desk.selector.target
    storable(target)
    saved = read_saved(folder, target.identity)
    options = Options(language=saved.language, context=saved.context)
    instruction = check_options(desk.selector, options)
    if prefix_of(target, instruction) != saved.prefix:
        saved = replace(saved, packed={})
    return LiveRecording(desk, instruction, limits, saved)


def _check_limits(limits: Limits) -> None:
    if not isinstance(limits.memory, int) or isinstance(limits.memory, bool) or limits.memory < 0:
        raise InputError(f"`memory` is {limits.memory!r}; give bytes, from 0 up")
    keep_s = in_seconds(limits.keep_s)
    if keep_s is None or keep_s <= 0:
        raise InputError(f"`keep_s` is {limits.keep_s!r}; give seconds, above 0")
