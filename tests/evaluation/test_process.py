import mmap
import threading
from pathlib import Path

import pytest

from as2d.evaluation.process import holdings, memory_mb

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells")


def test_memory_is_told() -> None:
    before = memory_mb()
    with mmap.mmap(-1, 64 << 20) as more:  # an array may lie in memory that the process has already
        more.write(b"1" * len(more))
        after = memory_mb()
    assert before is not None
    assert after is not None
    assert 60 < after - before < 70


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
