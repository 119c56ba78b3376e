"""How the cores are shared between the target and its sources."""

import os

from as2d.decoding.as2d import CoreSplit
from as2d.errors import InputError

DRAFTER_THREADS = 1
"""A drafter's steps are too small to be worth a second core."""


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def split_cores(threads: int) -> CoreSplit:
    """One core for each source that drafts and the others for the target; all for the target when nobody drafts."""
    if threads < 1:
        raise InputError(f"{threads} threads cannot compute anything; use 1 or more")
    return CoreSplit(threads)
