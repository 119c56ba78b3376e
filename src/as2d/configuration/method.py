"""What to run on this machine: which method, and with which budget."""

from typing import Literal

from as2d.records import Method

DEFAULT_BUDGET = 7
"""Candidates a round at most; the paper's choice for its phones, and near the best here (docs/benchmarks.md)."""


def choose_method(method: Method, *, prepared: bool, drafter: bool) -> Literal["as2d", "target-only"]:
    """Resolve "auto": what is faster end to end as far as is known.

    Drafting pays where the audio is already prepared. On audio that is not, the drafter's own encoder costs more than
    its drafting saves, so the target has all cores for itself.
    """
    if method != "auto":
        return method
    return "as2d" if prepared and drafter else "target-only"
