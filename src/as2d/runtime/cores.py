"""How the cores are shared between the target and its sources."""

import os

from as2d.decoding.as2d import CoreSplit
from as2d.errors import InputError

MOST_DRAFTER_THREADS = 2
"""Cores of a drafter that has all of them to itself: its steps are so small that two save a tenth or less."""


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def split_cores(threads: int, drafter_threads: int = 1) -> CoreSplit:
    """`drafter_threads` for each source that drafts and the others for the target; all for it when nobody drafts."""
    if threads < 1:
        raise InputError(f"{threads} threads cannot compute anything; use 1 or more")
    if not 1 <= drafter_threads <= threads:
        raise InputError(f"a drafter cannot have {drafter_threads} of {threads} threads; use 1 to {threads}")
    return CoreSplit(threads, drafter_threads)
