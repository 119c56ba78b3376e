"""Where and with what a benchmark ran."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from as2d.runtime.cores import available_cores
from benchmarks.corpus import corpus_digest

_PACKAGES = ("as2d", "onnxruntime", "numpy", "faster-whisper", "ctranslate2")


def header(corpus: Path) -> dict[str, str]:
    """What a reader must know to judge the figures, by what it is."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "host": f"{platform.node()} ({platform.platform()})",
        "CPU": f"{_cpu()}, {available_cores()} cores, load {os.getloadavg()[0]:.2f} at the start",
        "versions": ", ".join(
            [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in _PACKAGES)]
        ),
        "corpus": f"{corpus_digest(corpus)}: development data, all of it (budget and constants were tuned on it)",
    }


def _commit() -> str:
    """The commit of the checkout, with a mark when files have changed since; "unknown" outside a checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown CPU"
