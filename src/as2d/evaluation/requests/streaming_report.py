"""What a stream adds up to, and how that is told. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from as2d.evaluation.analysis.trend import slope
from as2d.evaluation.requests import markdown
from as2d.evaluation.requests.long import Part
from as2d.evaluation.requests.streaming import Block, Pace, Text

SETTLED_S = 60.0
"""Memory is looked at from here on, so that models are loaded and arenas have grown."""

_LEGEND = """\
Service time: from when a block is taken to its last text. Lag of tentative text: from the arrival of the last sample
of its block to the text; of stable text: from the arrival of the last sample of its window. Widened: blocks that held
more than a block, since they were late. Backlog: audio that waited when the stream ended, beyond the last block. CPU:
processor time over wall time and cores. Identical: stable texts whose tokens are exactly those of target-only on the
same windows, decoded afterwards. Memory: of the whole process; slope by Theil and Sen after the first minute of
audio."""


@dataclass(frozen=True, slots=True)
class Lags:
    """Of texts of one kind, in milliseconds."""

    texts: int
    p50_ms: float
    p95_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What a stream adds up to; None for what is not known. Memory is in MB."""

    blocks: int
    widened: int
    service_mean_ms: float
    service_p95_ms: float
    tentative: Lags | None
    stable: Lags | None
    end_backlog_s: float | None
    cpu_share: float | None
    memory_start_mb: float | None
    memory_end_mb: float | None
    slope_mb_a_minute: float | None
    compared: int
    identical: int


def summarise(texts: Sequence[Text], blocks: Sequence[Block], pace: Pace | None, cores: int) -> Figures:
    """Of at least one block. Without a pace the stream was interrupted."""
    service = [block.service_ms for block in blocks]
    memory = [
        (block.end_s, block.memory_mb)
        for block in blocks
        if block.end_s >= SETTLED_S and block.memory_mb is not None
    ]
    by_second = slope(memory)
    compared = [text for text in texts if text.expected is not None]
    return Figures(
        blocks=len(blocks),
        widened=sum(block.widened for block in blocks),
        service_mean_ms=fmean(service),
        service_p95_ms=float(np.percentile(service, 95)),
        tentative=_lags([text.lag_ms for text in texts if text.kind == "tentative"]),
        stable=_lags([text.lag_ms for text in texts if text.kind == "stable"]),
        end_backlog_s=pace.end_backlog_s if pace else None,
        cpu_share=pace.cpu_s / (pace.wall_s * cores) if pace else None,
        memory_start_mb=memory[0][1] if memory else None,
        memory_end_mb=memory[-1][1] if memory else None,
        slope_mb_a_minute=None if by_second is None else 60 * by_second,
        compared=len(compared),
        identical=sum(text.tokens == text.expected for text in compared),
    )


def different(texts: Sequence[Text]) -> list[Text]:
    """The stable texts that an exact method should have given otherwise."""
    return [
        text for text in texts if text.exact and text.expected is not None and text.tokens != text.expected
    ]


def as_dict(
    texts: Sequence[Text],
    blocks: Sequence[Block],
    figures: Figures,
    parts: Sequence[Part],
    header: Mapping[str, str],
) -> dict[str, Any]:
    """All that is known, to be written as JSON."""
    return {
        "header": dict(header),
        "recording": [asdict(part) for part in parts],
        "summary": asdict(figures),
        "texts": [asdict(text) for text in texts],
        "blocks": [asdict(block) for block in blocks],
    }


def report(figures: Figures, header: Mapping[str, str]) -> str:
    """The report: header, figures, what they mean."""
    rows = {
        "blocks, of them widened": f"{figures.blocks}, {figures.widened}",
        "service time of a block, mean, p95": f"{figures.service_mean_ms:.0f} ms, {figures.service_p95_ms:.0f} ms",
        "lag of tentative text, p50, p95, most": _told(figures.tentative),
        "lag of stable text, p50, p95, most": _told(figures.stable),
        "backlog at the end": f"{markdown.number(figures.end_backlog_s, '.1f')} s",
        "CPU": markdown.number(figures.cpu_share, ".0%"),
        "memory after the first minute, at the end": f"{markdown.number(figures.memory_start_mb, '.0f')} MB, "
        f"{markdown.number(figures.memory_end_mb, '.0f')} MB",
        "memory slope": f"{markdown.number(figures.slope_mb_a_minute, '+.2f')} MB a minute",
        "stable texts identical": f"{figures.identical} of {figures.compared}",
    }
    blocks = ["# as2d bench stream", markdown.header_lines(header), markdown.table(("", ""), rows.items())]
    return "\n\n".join([*blocks, "## Legend", _LEGEND]) + "\n"


def _lags(found: Sequence[float]) -> Lags | None:
    if not found:
        return None
    p50, p95, most = np.percentile(found, [50, 95, 100])
    return Lags(len(found), float(p50), float(p95), float(most))


def _told(lags: Lags | None) -> str:
    if lags is None:
        return markdown.DASH
    return f"{lags.p50_ms:.0f}, {lags.p95_ms:.0f}, {lags.max_ms:.0f} ms ({lags.texts} texts)"
