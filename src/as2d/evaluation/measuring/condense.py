"""From a decode to a run, and from the runs of a window to its row; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from as2d.evaluation.contender import Contender
from as2d.evaluation.host import Readings
from as2d.evaluation.measuring.lineup import Decoded
from as2d.evaluation.measuring.recorder import busy_ms, overlap_ms
from as2d.evaluation.rows import SCHEMA, Row, Run, TimeLine


@dataclass(frozen=True, slots=True)
class Source:
    """What measured, and what corpus: the same in all rows of a bench."""

    commit: str
    host: str
    versions: Mapping[str, str]
    corpus: str


@dataclass(frozen=True, slots=True)
class Window:
    """A window as its rows name it: "CLIP#n", and where it lies in the clip in seconds."""

    name: str
    clip: str
    kind: str
    language: str
    start_s: float
    end_s: float


def make_run(
    decoded: Decoded, readings: Readings, *, window: str, contender: str, repetition: int, time_line: bool
) -> Run:
    """The run to write down; with `time_line`, everything that happened in it."""
    drawn = TimeLine(decoded.drafting, decoded.verifying, decoded.steps) if time_line else None
    return Run(
        window=window,
        contender=contender,
        repetition=repetition,
        tokens=decoded.tokens,
        finish_reason=decoded.finish_reason,
        decode_ms=_rounded(decoded.decode_ms),
        producer_done_ms=_rounded(decoded.producer_done_ms),
        call_ms=_rounded(decoded.call_ms),
        draft_ms=_rounded(busy_ms(decoded.drafting)),
        verify_ms=_rounded(busy_ms(decoded.verifying)),
        overlap_ms=_rounded(overlap_ms(decoded.drafting, decoded.verifying)),
        cpu_s=_rounded(readings.cpu_s),
        rounds=decoded.tally.rounds,
        proposed=decoded.tally.proposed,
        accepted=decoded.tally.accepted,
        widths=dict(sorted(decoded.tally.widths.items())),
        faults=decoded.faults,
        peak_memory_mb=readings.peak_memory_mb,
        cpu_mhz=readings.cpu_mhz,
        temperature_c=readings.temperature_c,
        energy_j=readings.energy_j,
        time_line=drawn,
    )


def make_row(
    source: Source,
    window: Window,
    contender: Contender,
    runs: Sequence[Run],
    *,
    expected: tuple[int, ...],
    text: str,
) -> Row:
    """The row of all runs of a window by one contender; `expected` are target-only's tokens."""
    first = runs[0]
    return Row(
        schema=SCHEMA,
        commit=source.commit,
        host=source.host,
        versions=source.versions,
        corpus=source.corpus,
        window=window.name,
        clip=window.clip,
        kind=window.kind,
        language=window.language,
        start_s=window.start_s,
        end_s=window.end_s,
        method=contender.method,
        drafter=contender.drafter,
        budget=contender.budget,
        cores=contender.cores,
        drafter_cores=contender.drafter_cores,
        contender=contender.key,
        tokens=first.tokens,
        text=text,
        identical=all(run.tokens == expected for run in runs),
        finish_reason=first.finish_reason,
        looped=first.finish_reason == "repetition",
        capped=first.finish_reason == "length",
        repetitions=len(runs),
        decode_ms=median(run.decode_ms for run in runs),
        decode_ms_runs=tuple(run.decode_ms for run in runs),
        producer_done_ms=median(run.producer_done_ms for run in runs),
        call_ms=median(run.call_ms for run in runs),
        draft_ms=median(run.draft_ms for run in runs),
        verify_ms=median(run.verify_ms for run in runs),
        overlap_ms=median(run.overlap_ms for run in runs),
        cpu_s=median(run.cpu_s for run in runs),
        rounds=float(median(run.rounds for run in runs)),
        proposed=float(median(run.proposed for run in runs)),
        accepted=float(median(run.accepted for run in runs)),
        widths=_mean_widths(runs),
        faults=tuple(dict.fromkeys(fault for run in runs for fault in run.faults)),
        peak_memory_mb=_known_median(run.peak_memory_mb for run in runs),
        cpu_mhz=_known_median(run.cpu_mhz for run in runs),
        temperature_c=_known_median(run.temperature_c for run in runs),
        energy_j=_known_median(run.energy_j for run in runs),
        time_line=next((run.time_line for run in reversed(runs) if run.time_line), None),
    )


def _mean_widths(runs: Sequence[Run]) -> dict[int, float]:
    """Mean rounds of each width."""
    widths = {width for run in runs for width in run.widths}
    return {width: fmean(run.widths.get(width, 0) for run in runs) for width in sorted(widths)}


def _known_median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _rounded(value: float) -> float:
    """Ten times finer than the clock is worth."""
    return round(value, 4)
