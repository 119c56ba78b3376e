"""What this process holds now: memory, threads, open files. Linux tells all of it, other systems less."""

import ctypes
import gc
import os
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_SELF = Path("/proc/self")
_M_ARENA_MAX = -8


@dataclass(frozen=True, slots=True)
class Holdings:
    """`memory_mb` is resident (None where the system does not tell), `native_threads` those of the system.

    `threads` counts Python's by name, and `files` the open descriptors by what they are of.
    """

    memory_mb: float | None
    native_threads: int | None
    threads: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)


def holdings() -> Holdings:
    """Read them."""
    return Holdings(memory_mb(), _native_threads(), _threads(), _files())


def keep_to_one_arena() -> None:
    """Have glibc use one arena from now on, for threads that there are not yet.

    `give_back_memory` cannot give back what is free at the end of any but the first.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def give_back_memory() -> None:
    """Free what is no longer referred to, and what the allocator keeps of it; glibc only does that when told to."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def memory_mb() -> float | None:
    """Resident memory in MB (2²⁰ bytes)."""
    with suppress(OSError, IndexError, ValueError):
        pages = int((_SELF / "statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return None


def _native_threads() -> int | None:
    with suppress(OSError):
        return sum(1 for _ in (_SELF / "task").iterdir())
    return None


def _threads() -> Counter[str]:
    return Counter(_without_number(thread.name) for thread in threading.enumerate())


def _without_number(name: str) -> str:
    """Threads of one kind have one name: Python numbers those that were given none."""
    return name.rstrip("0123456789").rstrip("-_") or name


def _files() -> Counter[str]:
    folder = _SELF / "fd"
    descriptors = list(folder.iterdir()) if folder.is_dir() else []
    return Counter(target for descriptor in descriptors if (target := _target(descriptor)))


def _target(descriptor: Path) -> str | None:
    """What a descriptor is of, without the numbers of pipes and sockets; None where it is closed by now."""
    with suppress(OSError):
        return str(descriptor.readlink()).partition(":[")[0]
    return None
