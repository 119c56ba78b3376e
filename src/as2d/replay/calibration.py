"""Costs taken from native runs, so that replay can be judged apart from how well a profile was measured.

Each kind of call has a level for each width; how it grows with the text in the cache and with the audio is a slope that
all widths share. A call lasts until the next begins, so that what the loops do between calls is part of it. It counts
as beside a drafter, or alone, only if that was so all the time.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from as2d.errors import InputError
from as2d.replay.native import NativeRun
from as2d.replay.timed import Log
from as2d.replay.trace import WindowTrace

_SLOWEST = 10
"""One in so many calls, the slowest, is not asked how costs grow: it was preempted."""
_STOPPED = 50
"""Medians that a call takes at most; in a longer one the whole process was stopped."""


class _Sample(NamedTuple):
    """One call: its width, the text and the audio that it depends on, and what it took."""

    width: int
    context: float
    audio_s: float
    ms: float


class _Kind(NamedTuple):
    """Calls that one fit describes: the model, its cores, and the other model at work, if any."""

    model: str
    cores: int
    beside: str | None


_Samples = dict[_Kind, list[_Sample]]


class _Fit(NamedTuple):
    """Milliseconds: a level for each width, what each token of text and each second of audio adds, and the least."""

    levels: Mapping[int, float]
    slopes: tuple[float, float]
    least: float

    def at(self, width: int, context: float, audio_s: float) -> float:
        """Widths that never occurred cost what the nearest that did costs, of two equally near the wider."""
        nearest = min(self.levels, key=lambda known: (abs(known - width), -known))
        a_token, a_second = self.slopes
        return max(self.least, self.levels[nearest] + a_token * context + a_second * audio_s)


class CalibratedCosts:
    """Implements `Costs` for prepared windows under configurations like those of the runs."""

    publish_ms = 0.0
    """Part of a step."""
    round_ms = 0.0
    """Part of a call."""
    align_ms = 0.0

    def __init__(self, target: str, calls: _Samples, openings: _Samples) -> None:
        self._target = target
        self._calls = {kind: _fit(samples) for kind, samples in calls.items()}
        self._openings = {kind: _fit(samples) for kind, samples in openings.items()}

    def verify_ms(
        self, width: int, context: float, audio_s: float, cores: int, beside: str | None = None
    ) -> float:
        """One call of the target. A width that never occurred beside somebody, but alone, is scaled from that."""
        kind = _Kind(self._target, cores, beside)
        own = self._calls.get(kind)
        if own is not None and width in own.levels:
            return own.at(width, context, audio_s)
        donor = self._donor(width, cores) or own
        if donor is None:
            raise InputError(f"no run had the target on {cores} cores; calibrate with runs that do")
        share = own.at(1, context, audio_s) / donor.at(1, context, audio_s) if own else 1.0
        return donor.at(width, context, audio_s) * share

    def step_ms(self, drafter: str, context: float, audio_s: float, *, beside: bool, cores: int = 1) -> float:
        """One token of a drafter."""
        kind = _Kind(drafter, cores, self._target if beside else None)
        fit = self._calls.get(kind) or self._calls.get(kind._replace(beside=self._target))
        if fit is None:
            raise InputError(f"no run had {drafter} on {cores} cores; calibrate with runs that do")
        return fit.at(1, context, audio_s)

    def open_ms(self, model: str, audio_s: float, cores: int, beside: str | None = None) -> float:
        """The prompt; where it never was opened beside that model, as it was otherwise."""
        own = self._openings.get(_Kind(model, cores, beside))
        fits = [own] if own else [fit for kind, fit in self._openings.items() if kind.model == model]
        if not fits:
            raise InputError(f"no run opened {model}; calibrate with runs that do")
        return fits[0].at(1, 0.0, audio_s)

    def encode_ms(self, model: str, audio_s: float, cores: int, beside: str | None = None) -> float:
        """Refused with InputError: runs are of prepared windows."""
        raise InputError(
            f"{model} was not seen to encode {audio_s:g} s on {cores} cores beside {beside}; use a profile"
        )

    def _donor(self, width: int, cores: int) -> _Fit | None:
        """Calls of that width on as many cores, whoever was at work."""
        for kind, fit in self._calls.items():
            if kind.model == self._target and kind.cores == cores and width in fit.levels:
                return fit
        return None


def calibrate(target: str, runs: Iterable[NativeRun], traces: Iterable[WindowTrace]) -> CalibratedCosts:
    """The costs of runs with that target, and those of drafters alone from traces (recorded on one core)."""
    calls: _Samples = defaultdict(list)
    openings: _Samples = defaultdict(list)
    for run in runs:
        for kind, sample in (*_verified(target, run), *_drafted(target, run)):
            calls[kind].append(sample)
        for kind, sample in _opened(target, run):
            openings[kind].append(sample)
    for trace in traces:
        for kind, sample in _alone(trace):
            calls[kind].append(sample)
    return CalibratedCosts(target, calls, openings)


def _verified(target: str, run: NativeRun) -> Iterator[tuple[_Kind, _Sample]]:
    starts = [*(call.start for call in run.target.calls), run.ended]
    for call, (start, end) in zip(run.target.calls, pairwise(starts), strict=True):
        active = [name for name, log in zip(run.names, run.drafters, strict=True) if log.closed >= end]
        mixed = any(start < log.closed < end for log in run.drafters)
        if not mixed and len(active) <= 1:
            kind = _Kind(target, call.threads, active[0] if active else None)
            yield kind, _Sample(len(call.tokens), call.context, run.audio_s, end - start)


def _drafted(target: str, run: NativeRun) -> Iterator[tuple[_Kind, _Sample]]:
    for name, log in zip(run.names, run.drafters, strict=True):
        for context, (start, end) in enumerate(pairwise(_step_starts(log))):
            if end <= run.ended:
                kind = _Kind(name, run.configuration.drafter_threads, target)
                yield kind, _Sample(1, context, run.audio_s, end - start)


def _opened(target: str, run: NativeRun) -> Iterator[tuple[_Kind, _Sample]]:
    cores = run.configuration.cores.cores_for(len(run.names))
    beside = run.names[0] if run.names else None
    yield _Kind(target, cores, beside), _Sample(1, 0, run.audio_s, run.first_root - run.arrived)
    for name, log in zip(run.names, run.drafters, strict=True):
        if log.calls:
            kind = _Kind(name, run.configuration.drafter_threads, target)
            yield kind, _Sample(1, 0, run.audio_s, log.calls[0].start - run.arrived)


def _alone(trace: WindowTrace) -> Iterator[tuple[_Kind, _Sample]]:
    for name, stream in trace.streams.items():
        for context, step in enumerate(stream.steps):
            yield _Kind(name, 1, None), _Sample(1, context, trace.audio_s, step.ms)


def _step_starts(log: Log) -> list[float]:
    return [*(call.start for call in log.calls), log.closed]


def _fit(measured: Sequence[_Sample]) -> _Fit:
    samples = _running(measured)
    slopes = _slopes(samples)
    levels: dict[int, list[float]] = defaultdict(list)
    for sample in samples:
        levels[sample.width].append(sample.ms - slopes[0] * sample.context - slopes[1] * sample.audio_s)
    return _Fit(
        {width: fmean(values) for width, values in levels.items()},
        slopes,
        min(sample.ms for sample in samples),
    )


def _slopes(samples: Sequence[_Sample]) -> tuple[float, float]:
    """What text and audio add, by least squares within each width; nothing ever gets cheaper by more of them."""
    rows = np.array([(sample.context, sample.audio_s, sample.ms) for sample in _ordinary(samples)])
    widths = np.array([sample.width for sample in _ordinary(samples)])
    for width in np.unique(widths):
        rows[widths == width] -= rows[widths == width].mean(axis=0)
    solved, *_ = np.linalg.lstsq(rows[:, :2], rows[:, 2], rcond=None)
    return max(float(solved[0]), 0.0), max(float(solved[1]), 0.0)


def _ordinary(samples: Sequence[_Sample]) -> list[_Sample]:
    """Without the slowest of each width, which were preempted."""
    by_width: dict[int, list[_Sample]] = defaultdict(list)
    for sample in samples:
        by_width[sample.width].append(sample)
    kept = (sorted(some, key=lambda sample: sample.ms) for some in by_width.values())
    return [sample for some in kept for sample in some[: len(some) - len(some) // _SLOWEST]]


def _running(samples: Sequence[_Sample]) -> list[_Sample]:
    """Without those in which the process was stopped. Preempted calls stay: a window has them as well."""
    most = _STOPPED * median(sample.ms for sample in samples)
    return [sample for sample in samples if sample.ms <= most]
