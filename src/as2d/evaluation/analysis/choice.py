"""Which contenders are looked at: the mean of standard speculation, the best serial method, the best of each. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from as2d.evaluation.analysis.metrics import Sample, known, on_windows, pooled_tps
from as2d.evaluation.contender import Contender
from as2d.evaluation.rows import Row
from as2d.records import METHODS

TABLE_ORDER = (
    "target-only",
    "speculative",
    "specasr",
    "lookahead",
    "as2d-without-decoupling",
    "as2d-without-budget",
    "as2d",
)
"""Our methods, in the order of the tables: baselines, ablations, the method."""

SERIAL = ("speculative", "specasr")
"""The serial methods that AS²D is compared with."""

TAKES_TURNS = (*SERIAL, "as2d-without-decoupling")
"""The methods whose drafter and target never compute at the same time."""

MEAN_WIDTHS = (5, 6, 7, 8)
"""K of standard speculation over which the paper takes the mean."""

WIDE = 12
"""K of standard speculation that is always shown."""

_MEANS = (
    "decode_ms",
    "producer_done_ms",
    "call_ms",
    "draft_ms",
    "verify_ms",
    "overlap_ms",
    "cpu_s",
    "rounds",
    "proposed",
    "accepted",
)


def is_peer(method: str) -> bool:
    """Whether a method is the name of another program."""
    return method not in METHODS


def without_failed_peers(rows: Sequence[Row]) -> tuple[list[Row], dict[str, str]]:
    """The rows of all but the peers that failed in some window, and why each of these did, by name."""
    failed: dict[str, str] = {}
    for row in rows:
        if is_peer(row.method) and row.faults:
            failed.setdefault(row.method, f"failed in {row.window}: {row.faults[0]}")
    return [row for row in rows if row.method not in failed], failed


def with_mean_speculation(samples: Mapping[str, Sample]) -> dict[str, Sample]:
    """The samples and the paper's mean of standard speculation, for each drafter and core split that ran all its K.

    The mean is over K = 5…8, window by window, of the time and of all other figures. The tokens are the same for every
    K, so its pooled tokens a second are the harmonic mean of those of the four K: a mean of the time a token.
    """
    by_width: dict[tuple[str | None, int, int], dict[int, Sample]] = {}
    for sample in samples.values():
        first = sample[0]
        if first.method == "speculative" and first.budget is not None:
            split = (first.drafter, first.cores, first.drafter_cores)
            by_width.setdefault(split, {})[first.budget + 1] = sample
    means = [
        _mean_sample([widths[width] for width in MEAN_WIDTHS])
        for widths in by_width.values()
        if widths.keys() >= set(MEAN_WIDTHS)
    ]
    return {**samples, **{mean[0].contender: mean for mean in means if mean}}


def _mean_sample(samples: Sequence[Sample]) -> list[Row]:
    by_window: dict[str, list[Row]] = {}
    for sample in samples:
        for row in sample:
            by_window.setdefault(row.window, []).append(row)
    return [_mean_row(rows) for rows in by_window.values() if len(rows) == len(samples)]


def _mean_row(rows: Sequence[Row]) -> Row:
    first = rows[0]
    means: dict[str, Any] = {field: fmean(getattr(row, field) for row in rows) for field in _MEANS}
    energies, memories = known(rows, "energy_j"), known(rows, "peak_memory_mb")
    contender = Contender("speculative", first.cores, first.drafter, None, first.drafter_cores)
    return replace(
        first,
        **means,
        contender=contender.key.replace("speculative", "speculative K5-8", 1),
        budget=None,
        identical=all(row.identical for row in rows),
        widths={
            width: fmean(row.widths.get(width, 0) for row in rows) for row in rows for width in row.widths
        },
        faults=tuple(fault for row in rows for fault in row.faults),
        energy_j=fmean(energies) if len(energies) == len(rows) else None,
        peak_memory_mb=max(memories, default=None),
        time_line=None,
    )


def is_mean(row: Row) -> bool:
    """Whether a row is the mean over K of standard speculation."""
    return row.method == "speculative" and row.budget is None


def target_only(samples: Mapping[str, Sample], cores: int) -> Sample:
    """The sample of target-only on so many cores; empty where it was not run."""
    return samples.get(Contender("target-only", cores).key, ())


def all_cores(rows: Iterable[Row]) -> int:
    """The cores of the machine: the most that any of our contenders had."""
    return max((row.cores for row in rows if not is_peer(row.method)), default=1)


def best_serial(
    samples: Mapping[str, Sample], windows: Collection[str], drafter: str | None = None
) -> str | None:
    """The fastest serial contender on these windows, known in hindsight; None where none ran all of them.

    Every K, every core split and every drafter compete, or every one of `drafter`.
    """
    whole = {
        key: members
        for key, sample in samples.items()
        if sample[0].method in SERIAL and not is_mean(sample[0]) and drafter in {None, sample[0].drafter}
        if len(members := on_windows(sample, windows)) == len(windows)
    }
    return fastest(whole)


def fastest(samples: Mapping[str, Sample]) -> str | None:
    """The contender with the most pooled tokens a second, on its own windows; None of none."""
    return max(samples, key=lambda key: pooled_tps(samples[key]), default=None)


def shown(samples: Mapping[str, Sample]) -> list[str]:
    """The contenders of a table, in its order: of each method, drafter and budget the fastest core split.

    Of standard speculation these are the mean, the best K and K = 12. Target-only and peers are shown on all their
    numbers of cores.
    """
    variants: dict[tuple[str | int | None, ...], dict[str, Sample]] = {}
    for key, sample in samples.items():
        variants.setdefault(_variant(sample[0]), {})[key] = sample
    best = {key: samples[key] for key in map(fastest, variants.values()) if key}
    return sorted(_without_minor_widths(best), key=lambda key: _place(samples[key][0]))


def best_of_each(samples: Mapping[str, Sample]) -> list[str]:
    """The contenders of a picture: target-only on one core and on all, and the best of each method but the ablations.

    The best is the fastest of those that ran the most windows.
    """
    methods = (method for method in TABLE_ORDER if not method.startswith(("target-only", "as2d-without")))
    cores = {1, all_cores(sample[0] for sample in samples.values())}
    references = [sample[0].contender for n in sorted(cores) if (sample := target_only(samples, n))]
    return references + [key for method in methods if (key := _best_of(samples, method))]


def _best_of(samples: Mapping[str, Sample], method: str) -> str | None:
    mine = {key: s for key, s in samples.items() if s[0].method == method and not is_mean(s[0])}
    most = max((len(sample) for sample in mine.values()), default=0)
    return fastest({key: sample for key, sample in mine.items() if len(sample) == most})


def _variant(row: Row) -> tuple[str | int | None, ...]:
    """What a core split is chosen for."""
    return row.method, row.drafter, row.budget, row.cores if row.drafter is None else None


def _without_minor_widths(samples: Mapping[str, Sample]) -> list[str]:
    fixed: dict[str | None, dict[str, Sample]] = {}
    for key, sample in samples.items():
        if sample[0].method == "speculative" and not is_mean(sample[0]):
            fixed.setdefault(sample[0].drafter, {})[key] = sample
    best = {fastest(widths) for widths in fixed.values()}
    wide = {
        key for widths in fixed.values() for key, sample in widths.items() if sample[0].budget == WIDE - 1
    }
    minor = {key for widths in fixed.values() for key in widths} - best - wide
    return [key for key in samples if key not in minor]


def _place(row: Row) -> tuple[int, str, str, int, int]:
    """Where a contender stands in a table."""
    rank = TABLE_ORDER.index(row.method) if not is_peer(row.method) else len(TABLE_ORDER)
    return rank, row.method, row.drafter or "", row.budget or 0, row.cores
