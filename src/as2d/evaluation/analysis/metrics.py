"""What the rows of one contender, or of two on the same windows, add up to. Pure.

A sample is the rows of one contender, one a window. Times are those of the clock `producer_done_ms` ("resource-
complete": until every producer has stopped too) where nothing else is said.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import numpy as np

from as2d.evaluation.analysis.bootstrap import Interval, interval
from as2d.evaluation.rows import Row

Clock = Literal["producer_done_ms", "decode_ms"]

Sample = Sequence[Row]


class Spoken(Protocol):
    """What is in one language."""

    @property
    def language(self) -> str:
        """ISO 639-1."""


S = TypeVar("S", bound=Spoken)


@dataclass(frozen=True, slots=True)
class Drafting:
    """How the rounds went; None where a sample has nothing to divide by.

    `acceptance` is accepted / proposed, `coverage` accepted / useful tokens, `k1_share` the share of rounds without a
    candidate, `tokens_a_round` useful tokens / rounds, `drafting_share` the drafter's share of the time,
    `hidden_share` the share of the drafter's time in which the target computed too.
    """

    acceptance: float | None
    coverage: float | None
    k1_share: float | None
    tokens_a_round: float | None
    drafting_share: float | None
    hidden_share: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a sample cost beside decode time; None where the machine does not tell.

    `call_p50_ms` and `call_p95_ms` are percentiles of the response latency over windows.
    """

    call_p50_ms: float
    call_p95_ms: float
    cpu_s_a_token: float | None
    energy_j_a_token: float | None
    peak_memory_mb: float | None


def by_contender(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The sample of each contender, in the order of the rows."""
    samples: dict[str, list[Row]] = {}
    for row in rows:
        samples.setdefault(row.contender, []).append(row)
    return samples


def groups(spoken: Sequence[S]) -> dict[str, list[S]]:
    """English, other languages and all; those that have a member."""
    split = {
        "English": [one for one in spoken if one.language == "en"],
        "other languages": [one for one in spoken if one.language != "en"],
        "all": list(spoken),
    }
    return {name: members for name, members in split.items() if members}


def on_windows(sample: Sample, windows: Iterable[str]) -> list[Row]:
    """The rows of a sample that are of these windows."""
    wanted = frozenset(windows)
    return [row for row in sample if row.window in wanted]


def paired(sample: Sample, baseline: Sample) -> list[tuple[Row, Row]]:
    """The rows of both on each window that both ran."""
    others = {row.window: row for row in baseline}
    return [(row, others[row.window]) for row in sample if row.window in others]


def pooled_tps(sample: Sample, clock: Clock = "producer_done_ms") -> float:
    """All useful tokens over all time, a second; 0 of nothing."""
    return share(1000.0 * tokens(sample), sum(getattr(row, clock) for row in sample)) or 0.0


def tps_interval(sample: Sample, clock: Clock = "producer_done_ms") -> Interval | None:
    """Pooled tokens a second with its interval."""
    columns = [(1000 * len(row.tokens), getattr(row, clock)) for row in sample]
    return interval(columns, lambda sums: sums[:, 0] / sums[:, 1])


def speed_up(sample: Sample, baseline: Sample) -> Interval | None:
    """Pooled tokens a second over those of the baseline, on the windows that both ran; None where there are none."""
    columns = [
        (len(row.tokens), row.producer_done_ms, len(other.tokens), other.producer_done_ms)
        for row, other in paired(sample, baseline)
    ]
    return interval(columns, lambda sums: (sums[:, 0] / sums[:, 1]) / (sums[:, 2] / sums[:, 3]))


def slow_share(sample: Sample, baseline: Sample) -> Interval | None:
    """Share of the windows that both ran which take more time a token than the baseline's."""
    columns = [(ms_a_token(row) > ms_a_token(other), 1) for row, other in paired(sample, baseline)]
    return interval(columns, lambda sums: sums[:, 0] / sums[:, 1])


def drafting(sample: Sample) -> Drafting:
    """How the rounds of a sample went."""
    accepted = _total(sample, "accepted")
    draft_ms = _total(sample, "draft_ms")
    rounds = sum(sum(row.widths.values()) for row in sample)
    return Drafting(
        acceptance=share(accepted, _total(sample, "proposed")),
        coverage=share(accepted, tokens(sample)),
        k1_share=share(sum(row.widths.get(1, 0) for row in sample), rounds),
        tokens_a_round=share(tokens(sample), _total(sample, "rounds")),
        drafting_share=share(draft_ms, _total(sample, "producer_done_ms")),
        hidden_share=share(_total(sample, "overlap_ms"), draft_ms),
    )


def cost(sample: Sample) -> Cost:
    """What a sample, which is not empty, cost beside decode time."""
    p50, p95 = np.percentile([row.call_ms for row in sample], [50, 95])
    energies, memories = known(sample, "energy_j"), known(sample, "peak_memory_mb")
    complete = len(energies) == len(sample)
    return Cost(
        call_p50_ms=float(p50),
        call_p95_ms=float(p95),
        cpu_s_a_token=share(_total(sample, "cpu_s"), tokens(sample)),
        energy_j_a_token=share(sum(energies), tokens(sample)) if complete else None,
        peak_memory_mb=max(memories, default=None),
    )


def tokens(sample: Sample) -> int:
    """Useful tokens."""
    return sum(len(row.tokens) for row in sample)


def ms_a_token(row: Row) -> float:
    """Milliseconds for each useful token of a window; a window without any counts as one."""
    return row.producer_done_ms / max(1, len(row.tokens))


def share(part: float, whole: float) -> float | None:
    """`part` of `whole`; None of nothing."""
    return part / whole if whole else None


def known(sample: Sample, field: str) -> list[float]:
    """The values of a field, as far as the machine told them."""
    return [value for row in sample if (value := getattr(row, field)) is not None]


def _total(sample: Sample, field: str) -> float:
    return float(sum(getattr(row, field) for row in sample))
