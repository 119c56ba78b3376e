"""What of a live recording a request looks at: fixed when it arrives, and widened to whole windows. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from as2d.audio import Window
from as2d.errors import InputError
from as2d.records import SAMPLE_RATE, Rebuilt, View
from as2d.session.preparing import Ready
from as2d.session.seconds import in_seconds


@dataclass(frozen=True, slots=True)
class Asked:
    """The seconds that were asked for, and the ends of them that were named; `last` are counted from the end."""

    last: float | None = None
    since: float | None = None
    until: float | None = None

    def __post_init__(self) -> None:
        """InputError for what cannot be."""
        for name in ("last", "since", "until"):
            _check_seconds(name, getattr(self, name))
        if self.last is not None and self.since is not None:
            raise InputError("`last` and `since` both say where the view begins; give one of them")
        if self.since is not None and self.until is not None and self.until < self.since:
            raise InputError(
                f"the view ends at {self.until} s, before it begins at {self.since} s; give `until` above `since`"
            )

    def end(self, duration_s: float) -> float:
        """Where the view was to end."""
        return duration_s if self.until is None else float(self.until)

    def start(self, duration_s: float) -> float:
        """Where the view was to begin."""
        if self.last is not None:
            return max(0.0, min(self.end(duration_s), duration_s) - float(self.last))
        return float(self.since or 0.0)


@dataclass(frozen=True, slots=True)
class LiveView:
    """Whole windows of a recording, one after the other, from sample `start` to `end`."""

    asked_start_s: float
    asked_end_s: float
    start: int
    end: int
    windows: tuple[Window, ...]
    warnings: tuple[str, ...]

    @property
    def speech(self) -> tuple[Window, ...]:
        """The windows with speech."""
        return tuple(window for window in self.windows if window.speech)

    @property
    def samples(self) -> int:
        """Its length."""
        return self.end - self.start

    def report(self, prepared: Sequence[Ready] = ()) -> View:
        """What the result says of it, given its windows with speech as they came."""
        return View(
            self.asked_start_s,
            self.asked_end_s,
            self.start / SAMPLE_RATE,
            self.end / SAMPLE_RATE,
            reused=sum(ready.reused for ready in prepared),
            prepared=sum(not ready.reused for ready in prepared),
            rebuilt=tuple(
                Rebuilt(ready.window.start / SAMPLE_RATE, ready.window.end / SAMPLE_RATE, ready.why)
                for ready in prepared
                if ready.why
            ),
        )


def view_of(windows: Sequence[Window], samples: int, asked: Asked, warnings: Sequence[str] = ()) -> LiveView:
    """The windows of a recording of `samples` samples that hold what was asked for, as far as they are remembered.

    `warnings` are those of the recording.
    """
    duration_s = samples / SAMPLE_RATE
    start_s, end_s = asked.start(duration_s), asked.end(duration_s)
    first, last = (min(samples, round(second * SAMPLE_RATE)) for second in (start_s, end_s))
    inside = tuple(window for window in windows if window.start < last and window.end > first < last)
    return LiveView(
        asked_start_s=start_s,
        asked_end_s=end_s,
        start=inside[0].start if inside else first,
        end=inside[-1].end if inside else last,
        windows=inside,
        warnings=(*warnings, *_beyond(asked, duration_s), *_forgotten(windows, first, last)),
    )


def _beyond(asked: Asked, duration_s: float) -> list[str]:
    named = {"last": asked.last, "since": asked.since, "until": asked.until}
    return [
        f"the view reaches beyond the recording, which had {duration_s:.2f} s when the request arrived: "
        f"`{name}` is {seconds:.2f} s"
        for name, seconds in named.items()
        if seconds is not None and seconds > duration_s
    ]


def _forgotten(windows: Sequence[Window], first: int, last: int) -> list[str]:
    remembered = windows[0].start if windows else 0
    if first >= min(last, remembered):
        return []
    seconds = remembered / SAMPLE_RATE
    return [f"audio before {seconds:.2f} s has been forgotten; listen with a larger `keep_s` to keep more"]


def _check_seconds(name: str, seconds: object) -> None:
    if seconds is None:
        return
    number = in_seconds(seconds)
    if number is None or number < 0:
        raise InputError(f"`{name}` is {seconds!r}; give seconds of the recording, from 0 up")
