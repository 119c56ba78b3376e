"""Any sample format and channel count to mono float32."""

import numpy as np
from numpy.typing import NDArray

from as2d.audio.blocks import Samples

SCALES = {
    "uint8": 1 / 2**7,
    "int16": 1 / 2**15,
    "int32": 1 / 2**31,
    "float32": 1.0,
    "float64": 1.0,
}
"""The types that samples may have, and what maps their full scale to 1. Bytes are unsigned, as in wav."""


def mono(samples: NDArray[np.generic]) -> Samples:
    """Mean over the channels of samples [channels, n], of a type in `SCALES`, as float32 [n].

    What does not fit float32 becomes infinite; callers check.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mixed = samples.mean(axis=0, dtype=np.float64)
        centred = mixed - 128 if samples.dtype == np.uint8 else mixed
        return np.asarray(centred * SCALES[samples.dtype.name], np.float32)
