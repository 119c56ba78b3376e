"""What is said on stderr when `as2d live` ends."""

from collections.abc import Sequence

import numpy as np

from as2d.session.live_text import LiveEvent
from as2d.session.pacing import LiveBlock, LiveEnd, LiveItem


class LiveSummary:
    """Counts what happens, in one line at the end."""

    def __init__(self) -> None:
        self._tentative: list[float] = []
        self._stable: list[float] = []
        self._blocks = self._widened = self._cut_short = 0
        self._audio_s = self._backlog_s = 0.0
        self._methods: dict[str, None] = {}
        self._drafters: dict[str, None] = {}
        self._faults: dict[str, str] = {}

    def add(self, item: LiveItem) -> None:
        """Count an item."""
        match item:
            case LiveEvent():
                self._add_event(item)
            case LiveBlock():
                self._blocks += 1
                self._widened += item.widened
                self._audio_s = item.end_s
            case LiveEnd():
                self._backlog_s = item.backlog_s

    def _add_event(self, event: LiveEvent) -> None:
        lags = self._stable if event.kind == "stable" else self._tentative
        if event.lag_ms is not None:
            lags.append(event.lag_ms)
        self._cut_short += event.kind == "stable" and event.finish_reason in ("length", "repetition")
        self._methods[event.method] = None
        for source in event.sources:
            if source.windows:
                self._drafters[source.name] = None
            if source.fault:
                self._faults.setdefault(source.name, source.fault)

    @property
    def notices(self) -> list[str]:
        """What the user should know besides the texts."""
        faults = [
            f"the drafter {name} failed, which cost only time: {why}" for name, why in self._faults.items()
        ]
        return [*faults, f"the text of {self._cut_short} windows is cut short"] if self._cut_short else faults

    @property
    def line(self) -> str:
        """The summary; `-` where there was no text."""
        used = [method for method in self._methods if method != "target-only"] or list(self._methods)
        return ", ".join(
            (
                f"audio {self._audio_s:.1f} s",
                f"stable texts {len(self._stable)}",
                f"lag of tentative text {_spread(self._tentative)}",
                f"of stable text {_spread(self._stable)}",
                f"blocks {self._blocks}",
                f"widened {self._widened}",
                f"backlog {self._backlog_s:.1f} s",
                f"method {'+'.join(used) or '-'}",
                f"drafters {'+'.join(self._drafters) or '-'}",
            )
        )


def _spread(lags_ms: Sequence[float]) -> str:
    """Percentiles in seconds."""
    if not lags_ms:
        return "-"
    p50, p95, most = np.percentile(lags_ms, [50, 95, 100]) / 1000
    return f"p50 {p50:.2f} p95 {p95:.2f} max {most:.2f} s"
