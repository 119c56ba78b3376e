"""What a soak found: as Markdown, and as JSON. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from as2d.evaluation.soak.run import Soak, SoakOptions
from as2d.evaluation.soak.watch import Reading, growth_mb, leaks, slope_mb_a_minute

_OUTCOMES = {
    "answers": "answers compared with the target's own",
    "inexact": "of them by a configuration that is not exact, and different",
    "cancelled": "cancelled",
    "overdue": "past their deadline",
    "left": "left before their end",
}


def failures(soak: Soak) -> list[str]:
    """Why a soak has failed; nothing where it has passed."""
    tally = soak.tally
    found = [f"wrong token: {message}" for message in tally.wrong]
    found += [f"error: {message}" for message in tally.errors]
    if not tally.counts["answers"]:
        found.append("no answer was compared; give it more minutes")
    return found + (leaks(soak.readings) if soak.readings else ["it did not get through warm-up"])


def progress(soak: Soak, options: SoakOptions) -> str:
    """A line for the moment."""
    counts, (first, now) = soak.tally.counts, (soak.readings[0], soak.readings[-1])
    return (
        f"{now.minutes - first.minutes:.1f} of {options.minutes:g} min: {counts['answers']} answers, "
        f"{counts['wrong']} wrong, {counts['errors']} errors, {counts['cancelled']} cancelled, "
        f"{counts['overdue']} overdue, {counts['left']} left, {soak.faults.counts.total()} faults injected; "
        f"{_held(now)}"
    )


def as_dict(soak: Soak, header: Mapping[str, Any]) -> dict[str, Any]:
    """All that is known, to be written as JSON."""
    return {
        "header": header,
        "counts": dict(soak.tally.counts),
        "faults": dict(soak.faults.counts),
        "readings": [_reading(reading) for reading in soak.readings],
        "slope_mb_a_minute": slope_mb_a_minute(soak.readings),
        "failures": failures(soak),
    }


def _reading(reading: Reading) -> dict[str, Any]:
    held = reading.held
    return {
        "minutes": reading.minutes,
        "memory_mb": held.memory_mb,
        "kept_mb": reading.kept_mb,
        "native_threads": held.native_threads,
        "threads": dict(held.threads),
        "files": dict(held.files),
    }


def markdown(soak: Soak, header: Mapping[str, Any]) -> str:
    """The report: with what, what was done, what is left, and whether that is right."""
    failed = failures(soak)
    verdict = "**failed**" if failed else "passed: no token was wrong, nothing leaked"
    lines = [f"* {name}: {value}" for name, value in header.items()]
    return "\n".join(
        [
            "# as2d soak",
            "",
            *lines,
            "",
            *_table(soak),
            "",
            f"Verdict: {verdict}",
            *(f"* {reason}" for reason in failed),
            "",
        ]
    )


def _table(soak: Soak) -> list[str]:
    counts = soak.tally.counts
    rows = {text: str(counts[outcome]) for outcome, text in _OUTCOMES.items()}
    rows |= {f"faults: a drafter {kind}": str(count) for kind, count in sorted(soak.faults.counts.items())}
    rows |= {"wrong answers": str(counts["wrong"]), "errors": str(counts["errors"]), **_memory(soak.readings)}
    return ["| | |", "| --- | ---: |", *(f"| {name} | {value} |" for name, value in rows.items())]


def _memory(readings: Sequence[Reading]) -> dict[str, str]:
    if not readings:
        return {}
    slope, growth = slope_mb_a_minute(readings), growth_mb(readings)
    told = "–" if slope is None else f"{slope:+.2f} MB a minute, {growth:+.0f} MB in all"
    return {"after warm-up": _held(readings[0]), "at the end": _held(readings[-1]), "memory slope": told}


def _held(reading: Reading) -> str:
    held = reading.held
    memory = "–" if held.memory_mb is None else f"{held.memory_mb:.0f}"
    native = "" if held.native_threads is None else f" ({held.native_threads} native)"
    kept = "" if reading.kept_mb is None else f" ({reading.kept_mb:.0f} with what the allocator keeps)"
    return f"{memory} MB{kept}, {held.threads.total()} threads{native}, {held.files.total()} files"
