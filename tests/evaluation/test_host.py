"""What the machine says of itself."""

import gc
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from as2d._version import __version__
from as2d.evaluation import host
from as2d.evaluation.host import Machine, describe_host


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """One that has every counter."""
    put(tmp_path, "proc/self/clear_refs", "")
    put(tmp_path, "proc/self/status", "Name:\tpython\nVmHWM:\t  204800 kB\n")
    put(tmp_path, "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1000000")
    put(tmp_path, "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3000000")
    put(tmp_path, "sys/class/thermal/thermal_zone0/temp", "41000")
    put(tmp_path, "sys/class/thermal/thermal_zone1/temp", "55500")
    put(tmp_path, "sys/class/powercap/intel-rapl:0/energy_uj", "1000000")
    put(tmp_path, "sys/class/powercap/intel-rapl:1/energy_uj", "0")
    put(tmp_path, "sys/class/powercap/intel-rapl:0:0/energy_uj", "7")
    return Machine(tmp_path)


def put(root: Path, name: str, content: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(content)


def test_all_readings(machine: Machine, tmp_path: Path) -> None:
    measuring = machine.start()
    put(tmp_path, "sys/class/powercap/intel-rapl:0/energy_uj", "3500000")
    put(tmp_path, "sys/class/powercap/intel-rapl:1/energy_uj", "500000")
    put(tmp_path, "sys/class/powercap/intel-rapl:0:0/energy_uj", "900000")  # part of package 0
    readings = measuring.stop()
    assert readings.peak_memory_mb == 200.0
    assert readings.cpu_mhz == 2000.0
    assert readings.temperature_c == 55.5
    assert readings.energy_j == 3.0
    assert (tmp_path / "proc/self/clear_refs").read_text() == "5"


def test_a_counter_that_wrapped_around_tells_nothing(machine: Machine, tmp_path: Path) -> None:
    measuring = machine.start()
    put(tmp_path, "sys/class/powercap/intel-rapl:0/energy_uj", "5")
    assert measuring.stop().energy_j is None


def test_a_battery_tells_energy_while_it_is_used(tmp_path: Path) -> None:
    put(tmp_path, "sys/class/power_supply/AC/type", "Mains")
    put(tmp_path, "sys/class/power_supply/BAT0/status", "Discharging\n")
    put(tmp_path, "sys/class/power_supply/BAT0/power_now", "12000000")
    assert Machine(tmp_path).energy_j(None, 0.5) == 6.0
    put(tmp_path, "sys/class/power_supply/BAT0/status", "Full")
    assert Machine(tmp_path).energy_j(None, 0.5) is None


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    readings = Machine(tmp_path).start().stop()
    told = (readings.peak_memory_mb, readings.cpu_mhz, readings.temperature_c, readings.energy_j)
    assert told == (None, None, None, None)
    assert readings.cpu_s >= 0


def test_the_peak_is_that_of_the_run() -> None:
    gc.collect()  # what other tests left is not to be freed while something is measured
    machine = Machine()
    measuring = machine.start()
    before = measuring.stop().peak_memory_mb
    if before is None:
        pytest.skip("the kernel does not forget peaks")
    measuring = machine.start()
    np.ones(25_000_000)  # 200 MB, freed again
    peak = measuring.stop().peak_memory_mb
    assert peak is not None
    assert 150 < peak - before < 250
    after = machine.start().stop().peak_memory_mb
    assert after is not None
    assert after < before + 50


def test_processor_time_is_that_of_the_run() -> None:
    measuring = Machine().start()
    while measuring.stop().cpu_s < 0.01:
        pass
    assert measuring.stop().cpu_s < 1


def test_the_host_is_described() -> None:
    described = describe_host()
    assert described.versions["as2d"] == __version__
    assert described.versions.keys() >= {"Python", "numpy", "onnxruntime"}
    assert described.cores >= 1
    assert described.cpu
    assert described.name


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_the_commit_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_PACKAGE", tmp_path / "src")
    put(tmp_path, "src/_version.py", "")
    put(tmp_path, "notes.txt", "")
    assert describe_host().commit == f"as2d {__version__}"
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "notes.txt")
    git(tmp_path, "commit", "-qm", "a checkout of something else")
    assert describe_host().commit == f"as2d {__version__}"
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "as2d")
    head = git(tmp_path, "rev-parse", "--short=12", "HEAD")
    assert describe_host().commit == head
    put(tmp_path, "notes.txt", "no code")
    assert describe_host().commit == head
    put(tmp_path, "src/_version.py", "code")
    assert describe_host().commit == f"{head}-dirty"


def git(folder: Path, *arguments: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    command = ["git", "-C", str(folder), *name, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
