import subprocess
import sys
import threading
from pathlib import Path
from platform import libc_ver

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


_TOLD_AFTER_A_THREAD = """
import ctypes, sys, threading
from as2d.evaluation.process import give_back_memory, keep_to_one_arena, memory_mb
if sys.argv[1] == "one":
    keep_to_one_arena()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
libc.mallopt(-3, 1 << 30)  # nothing has pages of its own
libc.mallopt(-1, 1 << 30)  # nothing is given back by itself
enough, done = threading.Event(), threading.Event()

def take_and_free():
    for place in [libc.malloc(1 << 16) for _ in range(480)]:
        ctypes.memset(place, 1, 1 << 16)
        libc.free(place)
    done.set()
    enough.wait()

before = memory_mb()
thread = threading.Thread(target=take_and_free)
thread.start()
done.wait()
give_back_memory()
print(memory_mb() - before)
enough.set()
"""


@pytest.mark.skipif(libc_ver()[0] != "glibc", reason="no other allocator has arenas")
def test_with_one_arena_all_that_is_free_is_given_back() -> None:
    def kept(arenas: str) -> float:
        command = [sys.executable, "-c", _TOLD_AFTER_A_THREAD, arenas]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert kept("one") < 5 < kept("many")
