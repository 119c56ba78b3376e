"""Blocks of samples: the unit in which audio flows through the package."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]
"""Mono audio, shape [n], nominally within [-1, 1]."""


def regrouped(blocks: Iterable[Samples], size: int) -> Iterator[Samples]:
    """The same samples in blocks of exactly `size` samples; the last may be shorter, none is empty."""
    pending: list[Samples] = []
    held = 0
    for block in blocks:
        rest = block
        while held + len(rest) >= size:
            pending.append(rest[: size - held])
            rest = rest[size - held :]
            yield np.concatenate(pending)
            pending, held = [], 0
        if len(rest):
            pending.append(rest)
            held += len(rest)
    if held:
        yield np.concatenate(pending)
