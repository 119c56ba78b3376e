"""Whether a soak leaked anything, from what the process held at its settled moments. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from as2d.evaluation.analysis.trend import slope
from as2d.evaluation.process import Holdings

MOST_GROWTH_MB = 64.0
"""What memory may grow by over a run, by its slope. An arena of the engine may still find a longer window."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the process held when no request was open, so many minutes after the start.

    `kept_mb` is the memory before the allocator was told to give back what is free.
    """

    minutes: float
    held: Holdings
    kept_mb: float | None = None


def slope_mb_a_minute(readings: Sequence[Reading]) -> float | None:
    """Of the memory; None of too few readings, and where the system does not tell."""
    return slope([(one.minutes, one.held.memory_mb) for one in readings if one.held.memory_mb is not None])


def growth_mb(readings: Sequence[Reading]) -> float | None:
    """The slope times the time between the first and the last reading."""
    slope = slope_mb_a_minute(readings)
    return None if slope is None else slope * (readings[-1].minutes - readings[0].minutes)


def leaks(readings: Sequence[Reading]) -> list[str]:
    """What is wrong with the readings, of which the first was taken after warm-up; nothing where all is well."""
    first, last = readings[0], readings[-1]
    found = more_than(first.held, last.held)
    growth = growth_mb(readings)
    if growth is not None and growth > MOST_GROWTH_MB:
        found.append(f"memory grew by {growth:.0f} MB in {last.minutes - first.minutes:.1f} min")
    return found


def more_than(before: Holdings, after: Holdings) -> list[str]:
    """The threads and files that there were not before; native threads where Python's do not tell."""
    found = [*_more("threads", before.threads, after.threads), *_more("files", before.files, after.files)]
    native = (before.native_threads or 0, after.native_threads or 0)
    if not found and native[1] > native[0]:
        found.append(f"native threads: {native[0]} after warm-up, {native[1]} at the end")
    return found


def _more(kind: str, before: Counter[str], after: Counter[str]) -> Iterable[str]:
    if more := after - before:
        names = ", ".join(f"{count} of {name}" for name, count in sorted(more.items()))
        yield f"{kind}: {before.total()} after warm-up, {after.total()} at the end; more {names}"
