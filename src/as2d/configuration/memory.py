"""Whether a drafter fits into memory beside its target: estimated before it is loaded."""

from collections.abc import Iterable
from contextlib import suppress
from logging import getLogger
from pathlib import Path
from typing import Any, NoReturn

from as2d.drafting.prefix import PrefixDrafter
from as2d.errors import InputError
from as2d.records import Instruction

_log = getLogger(__name__)

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")
_EXPANSION = 2
"""Bytes in memory for each byte of weights on disk: 16-bit weights are computed with in 32 bits."""


def free_bytes(meminfo: Path = _MEMINFO, cgroup: Path = _CGROUP) -> int | None:
    """Memory that a process may still take, within its control group; None where the system does not tell."""
    return min(_told(meminfo, cgroup), default=None)


def _told(meminfo: Path, cgroup: Path) -> Iterable[int]:
    with suppress(OSError, ValueError, StopIteration):
        lines = meminfo.read_text(encoding="ascii").splitlines()
        yield int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024
    with suppress(OSError, ValueError):  # "max" is no number: the group has no limit
        limit = int((cgroup / "memory.max").read_text(encoding="ascii"))
        yield max(0, limit - int((cgroup / "memory.current").read_text(encoding="ascii")))


def fits(name: str, weights: Iterable[Path], free: int | None) -> bool:
    """Whether a drafter with these files of weights can be loaded; says so once where it cannot."""
    needed = _EXPANSION * sum(file.stat().st_size for file in weights)
    if free is None or needed <= free:
        return True
    _log.warning(
        "the drafter %s needs about %d MB and %d MB are free: the target decodes alone; free memory, or choose a "
        "smaller drafter or target",
        name,
        needed / 1e6,
        free / 1e6,
    )
    return False


ABSENT = "absent"
"""The identity of a source that there is no memory for."""


class Absent:
    """A source that there is no memory for. It never drafts, so that the target answers alone."""

    def __init__(self, name: str) -> None:
        self.name = name

    def can_draft(self, instruction: Instruction) -> bool:  # noqa: ARG002 -- nothing at all
        """Never."""
        return False

    def waits(self, instruction: Instruction) -> bool:  # noqa: ARG002 -- for nothing, ever
        """Always: it takes no core."""
        return True

    def prepare(self, *_: object) -> NoReturn:
        """Refused with InputError."""
        raise InputError(f"there is no memory for the drafter {self.name}; free some")

    def draft(self, prepared: Any, job: object) -> NoReturn:  # noqa: ARG002 -- refused
        """Refused with InputError."""
        self.prepare()

    def open(self, *_: object) -> PrefixDrafter:
        """Refused with InputError."""
        self.prepare()
