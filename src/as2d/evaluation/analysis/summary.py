"""All figures of a bench as one value that can be written as JSON. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from as2d.errors import InputError
from as2d.evaluation.analysis.bootstrap import RESAMPLES, Interval
from as2d.evaluation.analysis.choice import (
    TAKES_TURNS,
    all_cores,
    best_serial,
    is_mean,
    is_peer,
    shown,
    target_only,
    with_mean_speculation,
)
from as2d.evaluation.analysis.metrics import (
    Sample,
    by_contender,
    cost,
    drafting,
    groups,
    on_windows,
    pooled_tps,
    slow_share,
    speed_up,
    tokens,
    tps_interval,
)
from as2d.evaluation.analysis.overlap import Overlap, overlaps
from as2d.evaluation.rows import SCHEMA, Row


def summarise(
    rows: Sequence[Row],
    accuracies: Mapping[str, Mapping[str, Any]] | None = None,
    skipped: Sequence[str] = (),
    missing_peers: Mapping[str, str] | None = None,
    task: str = "transcribe",
) -> dict[str, Any]:
    """The figures of a bench, JSON-able.

    `accuracies` are by contender key what `accuracies`, `translation_scores` or `answer_scores` give, depending on the
    `task`, such as "translate to en". `skipped` names the clips that
    could not be measured, `missing_peers` says why a peer was not run. Groups are English, other languages and all,
    and apart from these the windows that looped or ran into the limit, which are in the others too. Figures with an
    interval are {"value", "low", "high"}; what cannot be known is None. InputError: there is no row.
    """
    if not rows:
        raise InputError("nothing was measured: no rows; run as2d bench on a corpus with speech first")
    return {
        "schema": SCHEMA,
        "header": {"task": task, **_header(rows)},
        "skipped": list(skipped),
        "missing_peers": dict(missing_peers or {}),
        "bootstrap": {"level": 0.95, "resamples": RESAMPLES, "unit": "window"},
        "groups": {name: _group(members, all_cores(rows)) for name, members in _groups(rows).items()},
        "accuracies": {key: dict(figures) for key, figures in (accuracies or {}).items()},
    }


def _header(rows: Sequence[Row]) -> dict[str, Any]:
    clips = {row.window: row for row in rows}
    return {
        "host": _distinct(row.host for row in rows),
        "commit": _distinct(row.commit for row in rows),
        "corpus": _distinct(row.corpus for row in rows),
        "versions": {name: version for row in rows for name, version in row.versions.items()},
        "cores": all_cores(rows),
        "clips": len({row.clip for row in rows}),
        "windows": len(clips),
        "seconds": sum(row.end_s - row.start_s for row in clips.values()),
        "languages": _counts(row.language for row in clips.values()),
        "kinds": _counts(row.kind for row in clips.values()),
        "repetitions": min(row.repetitions for row in rows),
        "looped": sum(row.looped for row in clips.values()),
        "capped": sum(row.capped for row in clips.values()),
    }


def _distinct(values: Iterable[str]) -> list[str]:
    return sorted(set(values))


def _counts(values: Iterable[str]) -> dict[str, int]:
    """How often each occurs, the most frequent first."""
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _groups(rows: Sequence[Row]) -> dict[str, list[Row]]:
    unfinished = {row.window for row in rows if (row.looped or row.capped) and not is_peer(row.method)}
    apart = {"looped or capped": on_windows(rows, unfinished)} if unfinished else {}
    return groups(rows) | apart


def _group(rows: Sequence[Row], cores: int) -> dict[str, Any]:
    samples = with_mean_speculation(by_contender(rows))
    return {
        "windows": len({row.window for row in rows}),
        "shown": shown(samples),
        "contenders": {key: _figures(sample, samples, cores) for key, sample in samples.items()},
        "overlap": [_overlap(compared) for compared in overlaps(samples)],
    }


def _figures(sample: Sample, samples: Mapping[str, Sample], cores: int) -> dict[str, Any]:
    return {
        **_identity(sample),
        "tps": _interval(tps_interval(sample)),
        "tps_decode": _interval(tps_interval(sample, "decode_ms")),
        **_finished(sample),
        **_comparison(sample, samples, cores),
        **_drafting(sample),
        **asdict(cost(sample)),
    }


def _identity(sample: Sample) -> dict[str, Any]:
    first = sample[0]
    return {
        "method": first.method,
        "drafter": first.drafter,
        "budget": first.budget,
        "cores": first.cores,
        "drafter_cores": first.drafter_cores,
        "mean_over_k": is_mean(first),
        "peer": is_peer(first.method),
        "windows": len(sample),
        "tokens": tokens(sample),
        "identical": sum(row.identical for row in sample),
        "faults": sum(len(row.faults) for row in sample),
    }


def _finished(sample: Sample) -> dict[str, Any]:
    """The same without the windows that looped or were capped, since these flatter the tokens a second."""
    finished = [row for row in sample if not (row.looped or row.capped)]
    return {
        "looped": sum(row.looped for row in sample),
        "capped": sum(row.capped for row in sample),
        "tps_finished": pooled_tps(finished) if finished else None,
    }


def _comparison(sample: Sample, samples: Mapping[str, Sample], cores: int) -> dict[str, Any]:
    one, every = target_only(samples, 1), target_only(samples, cores)
    serial = best_serial(samples, {row.window for row in sample})
    return {
        "ratio_one_core": _interval(speed_up(sample, one)),
        "ratio_all_cores": _interval(speed_up(sample, every)),
        "ratio_serial": _interval(speed_up(sample, samples[serial])) if serial else None,
        "best_serial": serial,
        "slow_one_core": _interval(slow_share(sample, one)),
        "slow_all_cores": _interval(slow_share(sample, every)),
    }


def _drafting(sample: Sample) -> dict[str, float | None]:
    """How the rounds went; only serial methods have a drafting share, only the others can hide it."""
    figures = asdict(drafting(sample))
    meaningless = "hidden_share" if sample[0].method in TAKES_TURNS else "drafting_share"
    return figures | {meaningless: None}


def _interval(figure: Interval | None) -> dict[str, float | None] | None:
    return None if figure is None else asdict(figure)


def _overlap(compared: Overlap) -> dict[str, Any]:
    return {
        **asdict(compared),
        "ideal": compared.overlapping_parts.ideal,
        "gain": compared.gain,
        "predicted": compared.predicted,
        "overhead": compared.overhead,
        "pays": compared.pays,
        "explained": compared.explained,
    }
