"""Text of audio that arrives: stable for windows that are closed, tentative for the one that is open."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from as2d.audio import Window
from as2d.audio.closing import ClosingWindows
from as2d.errors import InputError
from as2d.records import SAMPLE_RATE, FinishReason, Options, Result, SourceStats, Stats, UsedMethod
from as2d.runtime.pair import SpeechWindow
from as2d.session.desk import Desk
from as2d.session.options import OptionFields
from as2d.session.request import Request, wait_for
from as2d.session.seconds import in_seconds
from as2d.session.transcription import Plan, check_options, decode_windows, make_plan, result_of

Float32 = NDArray[np.float32]

_NO_SAMPLES: Float32 = np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """The text of one window, which is audio from `start_s` to `end_s`, counted from 0 among those with speech.

    A tentative text is replaced by the next one of its window, and at last by the stable one, which never changes.
    `tokens` are without the end id. `lag_ms` is how late the text is: a tentative one counts from the arrival of the
    last sample of the block that it follows, a stable one from that of the last sample of its window; None where
    nobody noted arrivals. `method` to `sources` say how this one text was decoded.
    """

    kind: Literal["stable", "tentative"]
    window: int
    start_s: float
    end_s: float
    text: str
    tokens: tuple[int, ...]
    language: str | None
    finish_reason: FinishReason
    method: UsedMethod
    exact: bool
    stats: Stats
    sources: tuple[SourceStats, ...]
    lag_ms: float | None = None


class LiveText:
    """Made by `Session.live`: turns audio that arrives into text, on the session's worker, in turn with its requests.

    Windows close as `audio.closing` says. Each block that is pushed has the open window decoded once, and each window
    once more when it closes: whatever the length of the audio, the work for a block is bounded. What was said of the
    open window before is a source of candidates beside the drafters, which costs nothing and changes no token. For one
    thread at a time.
    """

    def __init__(self, desk: Desk, *, max_window_s: float = 15.0, **options: Unpack[OptionFields]) -> None:
        """Windows are at most `max_window_s` long (5 to 30); the options are the fields of `Options`.

        Selects who drafts, as a request would, which may take a while the first time on a machine. Raises InputError
        and what a request of these options raises.
        """
        self._windows = ClosingWindows(_in_samples(max_window_s))
        self._selector, self._worker = desk
        chosen = Options(**options)
        check_options(self._selector, chosen)
        self._plan = self._made(chosen)
        self._waiting: deque[Window] = deque()
        self._stable = 0
        self._said: dict[int, tuple[int, ...]] = {}
        """The last tentative tokens of each window that is not stable, by the sample at which it starts."""
        self._shown = (0, 0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why somebody that could have drafted does not."""
        return self._plan.selection.warnings

    def push(self, samples: Float32) -> Iterator[LiveEvent]:
        """Take the next block, mono samples [n] at 16 kHz; the texts as they come.

        The open window's text comes first, since that is what somebody waits for; then those of the windows that the
        block closed, if any. What is not iterated is decoded at the next push. Raises InputError for samples that are
        no such block, which changes nothing, and what decoding raises.
        """
        self._waiting += self._windows.feed(checked_block(samples))
        return self._texts()

    def finish(self, samples: Float32 = _NO_SAMPLES) -> Iterator[LiveEvent]:
        """Take the last block and say that the audio has ended: all texts that are not stable yet, as stable ones."""
        self._waiting += self._windows.feed(checked_block(samples))
        self._waiting += self._windows.finish()
        return self._stable_texts()

    def _texts(self) -> Iterator[LiveEvent]:
        window = self._windows.open_window()
        if window.speech and self._shown != (window.start, window.end):
            yield self._tentative_text(window)
        yield from self._stable_texts()

    def _tentative_text(self, window: Window) -> LiveEvent:
        index = self._stable + len(self._waiting)
        event = _event("tentative", index, window, self._decoded(window))
        self._said[window.start] = event.tokens
        self._shown = (window.start, window.end)
        return event

    def _stable_texts(self) -> Iterator[LiveEvent]:
        while self._waiting:
            window = self._waiting[0]
            event = _event("stable", self._stable, window, self._decoded(window))
            self._waiting.popleft()
            self._said.pop(window.start, None)
            self._stable += 1
            yield event

    def _decoded(self, window: Window) -> Result:
        speech = SpeechWindow(window.start, window.samples)
        decoding = replace(self._plan.decoding, hypothesis=self._said.get(window.start, ()))
        plan = replace(self._plan, decoding=decoding)
        request: Request[Result] = Request()

        def work() -> Result:
            return result_of(plan, decode_windows(plan, [speech], request), request, len(window.samples), ())

        return wait_for(self._worker.enqueue(request, work, self))

    def _made(self, options: Options) -> Plan:
        """How all windows are decoded; whether drafting is exact is probed now, not when a text is awaited."""
        request: Request[Any] = Request()

        def work() -> Plan:
            plan = _remembering(make_plan(self._selector, options, request, prepared=False, languages={None}))
            if plan.decoding.drafts:
                _ = plan.selection.pair.exact
            return plan

        plan: Plan = wait_for(self._worker.enqueue(request, work, self))
        return plan


def _in_samples(max_window_s: object) -> int:
    seconds = in_seconds(max_window_s)
    if seconds is None:
        raise InputError(f"`max_window_s` is {max_window_s!r}; give seconds, 5 to 30")
    return round(seconds * SAMPLE_RATE)


def _remembering(plan: Plan) -> Plan:
    """The plan; for auto as2d even where nobody drafts, since the previous text costs nothing."""
    return plan if plan.method != "auto" else replace(plan, decoding=replace(plan.decoding, method="as2d"))


def checked_block(samples: object) -> Float32:
    """The samples, if they are a block of audio: mono float32 [n] at 16 kHz. Else InputError."""
    if not isinstance(samples, np.ndarray) or samples.dtype != np.float32 or samples.ndim != 1:
        kind = (
            f"{samples.dtype} {samples.shape}" if isinstance(samples, np.ndarray) else type(samples).__name__
        )
        raise InputError(f"the block is {kind}; give mono float32 samples [n] at 16 kHz")
    if not np.isfinite(samples).all():
        raise InputError("the block holds NaN or infinite samples; replace them by numbers")
    return samples


def _event(kind: Literal["stable", "tentative"], index: int, window: Window, result: Result) -> LiveEvent:
    return LiveEvent(
        kind=kind,
        window=index,
        start_s=window.start / SAMPLE_RATE,
        end_s=window.end / SAMPLE_RATE,
        text=result.text,
        tokens=result.tokens,
        language=result.language,
        finish_reason=result.finish_reason,
        method=result.method,
        exact=result.exact,
        stats=result.stats,
        sources=result.sources,
    )
