"""What the answers of an on-demand bench add up to, and how that is told. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from as2d.evaluation.analysis.bootstrap import Interval, interval
from as2d.evaluation.contender import Contender
from as2d.evaluation.requests import markdown
from as2d.evaluation.requests.long import Part
from as2d.evaluation.requests.ondemand import Answered

Latencies = Mapping[float, float]
"""Milliseconds by position."""

_LEGEND = """\
Response latency: from the request's arrival to its last token; of each position the median of its repetitions,
then p50 and p95 over positions. Ratios: latencies summed over positions, over those of target-only at the same
positions; [95% bootstrap interval over positions]. tok/s: useful tokens over decode time, encoding not counted.
Coverage: accepted / useful tokens. Prepared: all of the view had been encoded before the request; not prepared:
nothing had. Identical: answers with exactly the tokens of target-only on all cores with prepared audio. Peak
memory: of the whole process, which holds the recordings of all methods."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One contender, with prepared audio or without. Times are milliseconds; memory is in MB."""

    contender: str
    prepared: bool
    answers: int
    identical: int
    latency_p50_ms: float
    latency_p95_ms: float
    first_token_p50_ms: float | None
    tok_s: float | None
    coverage: float | None
    to_one_core: Interval | None
    to_all_cores: Interval | None
    encoded: int
    peak_memory_mb: float | None
    faults: int


def summarise(answers: Sequence[Answered], contenders: Sequence[Contender]) -> list[Figures]:
    """The figures of each contender that has answered, prepared first. Of target-only the first has all cores."""
    all_cores, one_core, *_ = (contender.key for contender in contenders)
    return [
        _figures(answers, contender.key, one_core, all_cores, prepared=prepared)
        for prepared in (True, False)
        for contender in contenders
        if _of(answers, contender.key, prepared=prepared)
    ]


def latencies(answers: Sequence[Answered], contender: str, *, prepared: bool) -> Latencies:
    """The median latency of a contender at each position."""
    by_position: dict[float, list[float]] = {}
    for answer in _of(answers, contender, prepared=prepared):
        by_position.setdefault(answer.position_s, []).append(answer.latency_ms)
    return {position: median(found) for position, found in by_position.items()}


def as_dict(
    answers: Sequence[Answered],
    contenders: Sequence[Contender],
    parts: Sequence[Part],
    header: Mapping[str, str],
) -> dict[str, Any]:
    """All that is known, to be written as JSON."""
    return {
        "header": dict(header),
        "recording": [asdict(part) for part in parts],
        "contenders": [contender.key for contender in contenders],
        "summary": [asdict(figures) for figures in summarise(answers, contenders)],
        "answers": [asdict(answer) for answer in answers],
    }


def report(answers: Sequence[Answered], contenders: Sequence[Contender], header: Mapping[str, str]) -> str:
    """The report: header, a table for prepared audio and one for audio that is not, what it means."""
    figures = summarise(answers, contenders)
    blocks = ["# as2d bench ondemand", markdown.header_lines(header)]
    for title, prepared in (("Audio prepared", True), ("Nothing prepared", False)):
        if rows := [one for one in figures if one.prepared == prepared]:
            blocks += [f"## {title}", _table(rows)]
    identical = sum(answer.identical for answer in answers)
    notes = [f"identical: {identical} of {len(answers)}"]
    if faults := sum(one.faults for one in figures):
        notes.append(f"Faults of drafters, which cost time only: {faults}.")
    return "\n\n".join([*blocks, *notes, "## Legend", _LEGEND]) + "\n"


def _figures(
    answers: Sequence[Answered], contender: str, one_core: str, all_cores: str, *, prepared: bool
) -> Figures:
    own = _of(answers, contender, prepared=prepared)
    times = latencies(answers, contender, prepared=prepared)
    p50, p95 = np.percentile(list(times.values()), [50, 95])
    firsts = [answer.first_token_ms for answer in own if answer.first_token_ms is not None]
    peaks = [answer.peak_memory_mb for answer in own if answer.peak_memory_mb is not None]
    decode_ms = sum(answer.decode_ms for answer in own)
    tokens = sum(len(answer.tokens) for answer in own)
    return Figures(
        contender=contender,
        prepared=prepared,
        answers=len(own),
        identical=sum(answer.identical for answer in own),
        latency_p50_ms=float(p50),
        latency_p95_ms=float(p95),
        first_token_p50_ms=median(firsts) if firsts else None,
        tok_s=1000 * tokens / decode_ms if decode_ms else None,
        coverage=sum(answer.accepted for answer in own) / tokens if tokens else None,
        to_one_core=ratio(times, latencies(answers, one_core, prepared=prepared)),
        to_all_cores=ratio(times, latencies(answers, all_cores, prepared=prepared)),
        encoded=sum(answer.encoded for answer in own),
        peak_memory_mb=max(peaks, default=None),
        faults=sum(len(answer.faults) for answer in own),
    )


def ratio(times: Latencies, others: Latencies) -> Interval | None:
    """The sum of the latencies over that of others, at the positions that both have."""
    columns = [(times[position], others[position]) for position in times if position in others]
    return interval(columns, lambda sums: sums[:, 0] / sums[:, 1])


def _of(answers: Sequence[Answered], contender: str, *, prepared: bool) -> list[Answered]:
    return [answer for answer in answers if answer.contender == contender and answer.prepared == prepared]


def _table(rows: Sequence[Figures]) -> str:
    head = (
        "method",
        "latency p50, ms",
        "p95, ms",
        "first token p50, ms",
        "tok/s",
        "coverage",
        "÷ one core",
        "÷ all cores",
        "identical",
        "peak memory, MB",
    )
    return markdown.table(head, map(_cells, rows))


def _cells(figures: Figures) -> tuple[str, ...]:
    return (
        figures.contender,
        f"{figures.latency_p50_ms:.0f}",
        f"{figures.latency_p95_ms:.0f}",
        markdown.number(figures.first_token_p50_ms, ".0f"),
        markdown.number(figures.tok_s, ".0f"),
        markdown.number(figures.coverage, ".2f"),
        markdown.interval(figures.to_one_core),
        markdown.interval(figures.to_all_cores),
        f"{figures.identical} of {figures.answers}",
        markdown.number(figures.peak_memory_mb, ".0f"),
    )
