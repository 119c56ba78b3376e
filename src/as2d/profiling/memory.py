"""The memory that a model adds to a process at its peak, measured in a fresh process.

`python -m as2d.profiling.memory TARGET PRECISION [DRAFTER]` prints the megabytes (10⁶ bytes) of the drafter, else of
the target: loading it, encoding 30 s of audio and decoding. A target is there before its drafter is loaded. Linux only.
"""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import numpy as np

from as2d.models.contract import AudioModel
from as2d.models.load import Precision, load_target
from as2d.profiling.subjects import instruction_for, load_subject
from as2d.records import SAMPLE_RATE

_STATUS = Path("/proc/self/status")
_SECONDS = 30


def peaks_mb(target: str, precision: str, drafters: Sequence[str]) -> dict[str, float]:
    """What each model adds to the peak, in MB; empty where the system does not tell."""
    if not _STATUS.exists():
        return {}
    found = {target: _peak_mb(target, precision)}
    found |= {drafter: _peak_mb(target, precision, drafter) for drafter in drafters}
    return {name: mb for name, mb in found.items() if mb is not None}


def _peak_mb(target: str, precision: str, drafter: str | None = None) -> float | None:
    command = [sys.executable, "-m", "as2d.profiling.memory", target, precision]
    ended = subprocess.run(
        [*command, *([drafter] if drafter else [])], capture_output=True, text=True, check=False
    )
    return float(ended.stdout) if ended.returncode == 0 else None


def _main(target: str, precision: str, drafter: str | None = None) -> None:
    before = _from_here()
    model = load_target(target, precision=cast(Precision, precision))
    _use(model)
    if drafter:
        before = _from_here()
        _use(load_subject(drafter, model))
    sys.stdout.write(f"{_field_mb('VmHWM') - before}\n")


def _use(model: AudioModel) -> None:
    prepared = model.prepare(np.zeros(_SECONDS * SAMPLE_RATE, np.float32), 1)
    model.open(prepared, instruction_for(model), 1).forward([0] * 8)


def _from_here() -> float:
    """Begin a new peak, and what is resident now. Where the system does not begin a new one, the old peak."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _field_mb("VmHWM")


def _field_mb(name: str) -> float:
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    _main(*sys.argv[1:])
