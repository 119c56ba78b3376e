"""The cache: atomic, checked, rebuilt when damaged, safe under several builders at once."""

import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from as2d.errors import CacheError, ModelDamagedError
from as2d.models import cache
from as2d.models.cache import cache_folder, cache_key, cached, concatenated_digest, remembered_digest


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("AS2D_CACHE", str(path))
    return path


class Builder:
    """Writes two files and counts how often it was asked to."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, target: Path) -> None:
        self.runs += 1
        (target / "graph.onnx").write_bytes(b"graph" * 1000)
        (target / "sub").mkdir()
        (target / "sub" / "weights.bin").write_bytes(b"w" * 5000)


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if ".tmp" in path.name or "manifest.json." in path.name]


def test_builds_once_and_then_reads(folder: Path) -> None:
    build = Builder()
    entry = cached("key", build)
    assert entry == folder / "key" == cached("key", build)
    assert (entry / "sub" / "weights.bin").read_bytes() == b"w" * 5000
    assert build.runs == 1
    assert not leftovers(folder)


def truncate(entry: Path) -> None:
    (entry / "graph.onnx").write_bytes(b"graph")


def alter(entry: Path) -> None:
    (entry / "graph.onnx").write_bytes(b"GRAPH" * 1000)


def lose_file(entry: Path) -> None:
    (entry / "sub" / "weights.bin").unlink()


def lose_manifest(entry: Path) -> None:
    (entry / "manifest.json").unlink()


def cut_manifest(entry: Path) -> None:
    (entry / "manifest.json").write_text('{"files": {"graph.onnx"')


def empty_records(entry: Path) -> None:
    (entry / "manifest.json").write_text('{"files": {"graph.onnx": {}}}')


def wrong_records(entry: Path) -> None:
    (entry / "manifest.json").write_text('{"files": {"graph.onnx": 3}}')


def wrong_manifest(entry: Path) -> None:
    (entry / "manifest.json").write_text("[]")


def become_a_file(entry: Path) -> None:
    entry.rename(entry.with_name("away"))
    entry.write_text("not a folder")


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        alter,
        lose_file,
        lose_manifest,
        cut_manifest,
        empty_records,
        wrong_records,
        wrong_manifest,
        become_a_file,
    ],
)
def test_rebuilds_a_damaged_entry(folder: Path, damage: Callable[[Path], None]) -> None:
    build = Builder()
    damage(cached("key", build))
    entry = cached("key", build)
    assert build.runs == 2
    assert (entry / "graph.onnx").read_bytes() == b"graph" * 1000
    assert not leftovers(folder)


def test_a_copied_entry_is_hashed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Builder()
    entry = cached("key", build)
    os.utime(entry / "graph.onnx", (1, 1))
    hashed = count_hashing(monkeypatch)
    cached("key", build)
    cached("key", build)
    assert (build.runs, hashed) == (1, [entry / "graph.onnx"])


def count_hashing(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    hashed: list[Path] = []

    def counting(files: list[Path]) -> str:
        hashed.extend(files)
        return concatenated_digest(files)

    monkeypatch.setattr(cache, "concatenated_digest", counting)
    return hashed


def test_a_warm_start_hashes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Builder()
    cached("key", build)
    hashed = count_hashing(monkeypatch)
    cached("key", build)
    assert hashed == []


def test_removes_what_a_killed_build_left(folder: Path) -> None:
    (folder / "key.abc.tmp").mkdir(parents=True)
    cached("key", Builder())
    assert not leftovers(folder)


def test_an_error_of_the_builder_passes_and_leaves_nothing(folder: Path) -> None:
    def fail(target: Path) -> None:
        (target / "half").write_bytes(b"x")
        raise ModelDamagedError("broken")

    with pytest.raises(ModelDamagedError, match="broken"):
        cached("key", fail)
    assert not leftovers(folder)
    assert not (folder / "key").exists()


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_no_space_while_building(folder: Path) -> None:
    def fill(target: Path) -> None:
        (target / "half").write_bytes(b"x")
        no_space()

    with pytest.raises(CacheError, match=r"No space left.*set AS2D_CACHE") as caught:
        cached("key", fill)
    assert "\n" not in str(caught.value)
    assert not leftovers(folder)


@pytest.mark.parametrize("call", ["rename", "replace"])
def test_no_space_while_finishing(folder: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setattr(Path, call, no_space)
    with pytest.raises(CacheError, match="set AS2D_CACHE"):
        cached("key", Builder())
    assert not leftovers(folder)
    assert not (folder / "key").exists()


def test_a_cache_that_cannot_be_a_folder(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.raises(CacheError, match="set AS2D_CACHE"):
        cached("key", Builder())


def test_a_cache_error_of_the_builder_keeps_its_message() -> None:
    def nested(target: Path) -> None:
        raise CacheError("inner")

    with pytest.raises(CacheError, match=r"^inner$"):
        cached("key", nested)


WORKER = """
import sys, time
from pathlib import Path
from as2d.models.cache import cached

def build(folder):
    with open(sys.argv[1], "a") as log:
        log.write("built\\n")
    (folder / "a").write_bytes(b"1" * 100_000)
    time.sleep(0.3)
    (folder / "b").write_bytes(b"2")

entry = cached("key", build)
assert (entry / "a").stat().st_size == 100_000 and (entry / "b").read_bytes() == b"2"
"""


def test_two_processes_at_once_build_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-c", WORKER, str(log)]
    workers = [subprocess.Popen(command) for _ in range(2)]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0]
    assert log.read_text() == "built\n"


def test_two_threads_at_once_build_once() -> None:
    build = Builder()

    def slow(target: Path) -> None:
        build(target)
        time.sleep(0.05)

    threads = [threading.Thread(target=cached, args=("key", slow)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert build.runs == 1


def test_keys_depend_on_every_part_and_on_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {cache_key("a", "b"), cache_key("ab"), cache_key("a", "c"), cache_key("a", "b", "")}
    assert len(keys) == 4
    assert cache_key("a", "b") == cache_key("a", "b")
    before = cache_key("a", "b")
    monkeypatch.setattr(cache, "__version__", "9.9.9")
    assert cache_key("a", "b") not in {*keys, before}
    assert cache_key("a", "b").startswith("9.9.9-")


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AS2D_CACHE", "~/mine")
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.setenv("AS2D_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "as2d"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / ".cache" / "as2d"


def test_no_home_folder_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", homeless)
    with pytest.raises(CacheError, match="set AS2D_CACHE"):
        cache_folder()


def test_a_digest_is_remembered_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [tmp_path / "a", tmp_path / "b"]
    parts[0].write_bytes(b"one")
    parts[1].write_bytes(b"two")
    first = remembered_digest(parts)
    assert first == concatenated_digest(parts)
    hashed = count_hashing(monkeypatch)
    assert remembered_digest(parts) == first
    assert hashed == []
    parts[1].write_bytes(b"three")
    changed = remembered_digest(parts)
    assert hashed == parts
    assert changed != first
    parts[1].write_bytes(b"seven")
    os.utime(parts[1], ns=(0, 0))
    assert remembered_digest(parts) != changed


@pytest.mark.parametrize("content", ["", "[]", '{"x": 1', '{"KEY": 3}', '{"KEY": {"state": null}}'])
def test_a_damaged_digest_memory_is_ignored(tmp_path: Path, folder: Path, content: str) -> None:
    part = tmp_path / "a"
    part.write_bytes(b"one")
    folder.mkdir()
    key = json.dumps([str(part)])
    (folder / "digests.json").write_text(content.replace('"KEY"', json.dumps(key)))
    assert remembered_digest([part]) == concatenated_digest([part])


def test_a_digest_needs_no_writable_cache(tmp_path: Path, folder: Path) -> None:
    folder.write_text("a file")
    part = tmp_path / "a"
    part.write_bytes(b"one")
    assert remembered_digest([part]) == concatenated_digest([part])
