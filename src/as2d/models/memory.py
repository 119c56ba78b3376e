"""What a model needs of memory, and what there is: asked before loading, since the system kills what takes too much."""

import math
import re
from pathlib import Path

from as2d.errors import NoMemoryError
from as2d.extras import import_optional
from as2d.models.safetensors import read_header
from as2d.models.store import Files, HubFiles, ModelFiles

FLOAT32, HALF = 4, 2
ON_ONNXRUNTIME = 3
"""Bytes that a weight of Whisper takes with an 8-bit decoder: large was measured at 3.0, smaller ones at more."""
_CTRANSLATE2 = 2
"""Bytes of a weight in a model.bin."""
_NOT_LOADED = ("talker.", "token2wav.")
"""The parts of Qwen2.5-Omni that speak."""

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")
_FIELD = re.compile(r"^(\w+):?\s+(\d+)", re.MULTILINE)


def require_memory(files: Files, weight: int, device: str = "cpu") -> None:
    """NoMemoryError where a model does not fit into free memory, with `weight` bytes for each weight."""
    needed, free = needed_bytes(files, weight), free_bytes(device)
    if free is not None and needed > free:
        raise NoMemoryError(
            f"{files.name} needs about {needed / 1e6:.0f} MB of memory and {free / 1e6:.0f} MB are free; free memory, "
            "or name a smaller model"
        )


def needed_bytes(files: Files, weight: int) -> int:
    """What the weights that are loaded take, with `weight` bytes for each. Only headers are read.

    Raises ModelNotFoundError or ModelDamagedError for files that are not whole.
    """
    if isinstance(files, ModelFiles):
        return weight * sum(path.stat().st_size for path in files.weights) // _CTRANSLATE2
    return weight * stored_weights(files)


def stored_weights(files: HubFiles) -> int:
    """How many weights the files hold of those that are loaded. Raises as `needed_bytes`."""
    stored = (item for path in files.weights for item in read_header(path).items())
    return sum(math.prod(entry.shape) for name, entry in stored if not name.startswith(_NOT_LOADED))


def free_bytes(device: str = "cpu", meminfo: Path = _MEMINFO, cgroup: Path = _CGROUP) -> int | None:
    """What a process may still take, swap included, within its control group; None where the system does not tell.

    What goes to a CUDA device passes through the same memory, so that both must have it.
    """
    told = [free for free in (_free_here(meminfo, cgroup), _free_on(device)) if free is not None]
    return min(told, default=None)


def _free_here(meminfo: Path, cgroup: Path) -> int | None:
    told = {name: 1024 * value for name, value in _fields(meminfo).items()}
    if "MemAvailable" not in told:
        return None
    held = _fields(cgroup / "memory.stat")  # what is kept of files goes when memory is asked for
    kept = held.get("active_file", 0) + held.get("inactive_file", 0)
    main = min([told["MemAvailable"], *_allowed(cgroup, "memory", kept)])
    return main + min([told.get("SwapFree", 0), *_allowed(cgroup, "memory.swap")])


def _fields(path: Path) -> dict[str, int]:
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return {}
    return {name: int(value) for name, value in _FIELD.findall(text)}


def _allowed(cgroup: Path, what: str, kept: int = 0) -> list[int]:
    """What the group may still take of something, of which it may give back `kept`; empty where it has no limit."""
    try:
        limit, taken = (
            int((cgroup / f"{what}.{end}").read_text(encoding="ascii")) for end in ("max", "current")
        )
    except (OSError, ValueError):  # "max" is no number
        return []
    return [max(0, limit - taken + kept)]


def _free_on(device: str) -> int | None:
    if device != "cuda":
        return None
    cuda = import_optional("torch", "torch").cuda
    return int(cuda.mem_get_info()[0]) if cuda.is_available() else None
