import subprocess
import sys
import threading
from pathlib import Path

import pytest

from as2d.evaluation.process import holdings

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells")


_TAKING_64_MB = """
import mmap
from as2d.evaluation.process import memory_mb
before = memory_mb()
more = mmap.mmap(-1, 64 << 20)
for page in range(0, len(more), mmap.PAGESIZE):
    more[page] = 1
print(memory_mb() - before)
"""


def test_memory_is_told() -> None:
    """By a process of its own: in this one other threads take and free some, too."""
    told = subprocess.run([sys.executable, "-c", _TAKING_64_MB], capture_output=True, text=True, check=True)
    assert float(told.stdout) == pytest.approx(64, abs=2)


def test_open_files_and_threads_are_counted_by_name(tmp_path: Path) -> None:
    before, enough = holdings(), threading.Event()
    thread = threading.Thread(target=enough.wait, name="waiting-12")
    thread.start()
    with (tmp_path / "file").open("w"):
        during = holdings()
    enough.set()
    thread.join()
    assert during.files - before.files == {str(tmp_path / "file"): 1}
    assert during.threads - before.threads == {"waiting": 1}
    assert during.native_threads == (before.native_threads or 0) + 1
    assert holdings().files == before.files
