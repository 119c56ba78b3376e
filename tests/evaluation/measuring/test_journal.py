"""The folder of a bench: nothing measured is lost, nothing else is added to it."""

import json
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.evaluation.contender import Contender
from as2d.evaluation.measuring.condense import Source, Window, make_row
from as2d.evaluation.measuring.journal import (
    ClipRecord,
    Journal,
    Setup,
    read_clips,
    read_rows,
    read_setup,
    write_whole,
)
from as2d.evaluation.rows import Row, Run, TimeLine

SETUP = Setup(1, "abc", "digest", "cpu", {"numpy": "2"}, {"limit": "3"}, ("target-only 2c",), ("twin",), {})
CLIP = ClipRecord("a", {"a#0": 2}, ("a#1",), "said")
ONE, TWO = Contender("target-only", 1), Contender("target-only", 2)


def run(contender: Contender = ONE, repetition: int = 0, window: str = "a#0") -> Run:
    return Run(
        window=window,
        contender=contender.key,
        repetition=repetition,
        tokens=(1,),
        finish_reason="stop",
        decode_ms=1.0,
        producer_done_ms=1.0,
        call_ms=1.0,
        draft_ms=0.0,
        verify_ms=1.0,
        overlap_ms=0.0,
        cpu_s=0.1,
        rounds=1,
        proposed=0,
        accepted=0,
        widths={1: 1},
    )


def row(contender: Contender = ONE, window: str = "a#0") -> Row:
    source, place = Source("abc", "host", {}, "digest"), Window(window, "a", "read", "en", 0.0, 1.0)
    return make_row(source, place, contender, [run(contender, window=window)], expected=(1,), text="x")


def nothing(message: str) -> None:
    raise AssertionError(message)


def fill(folder: Path) -> None:
    """A folder with one clip that is done."""
    with Journal(folder, SETUP) as journal:
        for contender in (ONE, TWO):
            journal.add_run(run(contender))
        journal.add_rows("a#0", [row(ONE), row(TWO)])
        journal.finish(CLIP)


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    with Journal(folder, SETUP) as journal:
        assert (journal.windows, journal.runs("a#0"), journal.is_done("a")) == (0, (), False)
        journal.add_run(run())
        assert (folder / "runs.jsonl").read_text().count("\n") == 1  # at once
    with Journal(folder, SETUP) as journal:
        assert journal.runs("a#0") == (run(),)
        journal.add_run(run(TWO))
        journal.add_rows("a#0", [row(ONE), row(TWO)])
        assert not journal.is_done("a")
        journal.finish(CLIP)
        assert journal.is_done("a")
    with Journal(folder, SETUP) as journal:
        assert journal.is_done("a")
        assert (journal.windows, journal.runs("a#0"), journal.notices) == (1, (), [])
    assert read_rows(folder, nothing) == [row(ONE), row(TWO)]
    assert read_clips(folder, nothing) == [CLIP]
    assert read_setup(folder) == SETUP


def test_windows_with_a_time_line_are_remembered(tmp_path: Path) -> None:
    with Journal(tmp_path, SETUP) as journal:
        journal.add_run(run())
        assert journal.drawn == frozenset()
        journal.add_run(replace(run(TWO), time_line=TimeLine((), (), ())))
        assert journal.drawn == {"a#0"}
    with Journal(tmp_path, SETUP) as journal:
        assert journal.drawn == {"a#0"}


@pytest.mark.parametrize("kept", range(0, 400, 37))
@pytest.mark.parametrize("name", ["runs.jsonl", "windows.jsonl", "clips.jsonl"])
def test_a_torn_last_line_is_dropped_silently(tmp_path: Path, name: str, kept: int) -> None:
    fill(tmp_path)
    path = tmp_path / name
    first, _, last = path.read_bytes().rstrip(b"\n").rpartition(b"\n")
    begin = first + b"\n" if first else b""
    path.write_bytes(begin + last[:kept])
    with Journal(tmp_path, SETUP) as journal:
        assert journal.notices == []
        assert journal.is_done("a") == (name == "runs.jsonl")
    assert path.read_bytes() == begin


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\x00", b'{"window":"a#0"}', b"[" * 100])
def test_a_damaged_line_is_dropped_and_said(tmp_path: Path, damage: bytes) -> None:
    fill(tmp_path)
    path = tmp_path / "windows.jsonl"
    path.write_bytes(damage + b"\n" + path.read_bytes().split(b"\n")[1] + b"\n")
    said: list[str] = []
    assert read_rows(tmp_path, said.append) == [row(TWO)]
    assert "1 damaged lines" in said[0]
    with Journal(tmp_path, SETUP) as journal:
        assert journal.notices == said
        assert not journal.is_done("a")
        assert journal.runs("a#0") == (
            run(ONE),
            run(TWO),
        )  # those of the other rows too: nothing is measured again
        journal.add_rows("a#0", [row(ONE), row(TWO)])
        journal.finish(CLIP)
        assert journal.is_done("a")
    assert read_rows(tmp_path, nothing) == [row(TWO), row(ONE)]
    assert read_clips(tmp_path, nothing) == [CLIP]


def test_a_damaged_run_is_missing(tmp_path: Path) -> None:
    with Journal(tmp_path, SETUP) as journal:
        for repetition in range(3):
            journal.add_run(run(repetition=repetition))
    path = tmp_path / "runs.jsonl"
    path.write_text(path.read_text().replace('"repetition":1', '"repetition":x'))
    with Journal(tmp_path, SETUP) as journal:
        assert [found.repetition for found in journal.runs("a#0")] == [0, 2]
        assert len(journal.notices) == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"commit": "def"}, "commit abc then, def now"),
        ({"corpus": "other"}, "corpus digest then, other now"),
        ({"schema": 2}, "schema 1 then, 2 now"),
        ({"cpu": "new"}, "cpu cpu then, new now"),
        ({"versions": {"numpy": "3"}}, "numpy 2 then, 3 now"),
        ({"versions": {}}, "numpy 2 then, None now"),
        ({"options": {"limit": "all"}}, "limit 3 then, all now"),
        ({"plan": ("a", "b")}, "plan target-only 2c then, a, b now"),
        ({"missing_peers": {"torch": "absent"}}, "torch None then, absent now"),
    ],
)
def test_another_bench_does_not_go_on_there(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    fill(tmp_path)
    with pytest.raises(InputError, match=f"{says}.*name another --out"):
        Journal(tmp_path, replace(SETUP, **change))
    Journal(tmp_path, SETUP).__exit__()


def test_a_damaged_setup(tmp_path: Path) -> None:
    fill(tmp_path)
    for content in ("", "{}", "[]", '{"schema":'):
        (tmp_path / "bench.json").write_text(content)
        with pytest.raises(InputError, match=r"bench\.json is damaged .*another --out"):
            Journal(tmp_path, SETUP)
    (tmp_path / "bench.json").unlink()
    with pytest.raises(InputError, match=r"runs without bench\.json; name another --out"):
        Journal(tmp_path, SETUP)
    with pytest.raises(InputError, match=r"holds no bench\.json"):
        read_setup(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match=r"cannot be written .* name another --out"):
            Journal(folder, SETUP)


def test_only_one_bench_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path, SETUP), pytest.raises(InputError, match="another bench is writing"):
        Journal(tmp_path, SETUP)
    Journal(tmp_path, SETUP).__exit__()


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file may grow beyond so many bytes; writes that reach it are cut short, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("runs", lambda journal: journal.add_run(run(TWO, window="b#0"))),
        ("windows", lambda journal: journal.add_rows("b#0", [row(ONE, "b#0"), row(TWO, "b#0")])),
        ("clips", lambda journal: journal.finish(replace(CLIP, clip="b"))),
    ],
)
def test_a_full_disk_is_named_and_loses_nothing(
    tmp_path: Path, name: str, write: Callable[[Journal], None]
) -> None:
    fill(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with Journal(tmp_path, SETUP) as journal:
        path = tmp_path / f"{name}.jsonl"
        with (
            full_disk(path.stat().st_size + 10),
            pytest.raises(InputError, match=rf"{name}\.jsonl cannot be written"),
        ):
            write(journal)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with Journal(tmp_path, SETUP) as journal:
        write(journal)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_whole(path, "old")
    with full_disk(10), pytest.raises(InputError, match=r"summary\.json cannot be written .*free some space"):
        write_whole(path, "x" * 100_000)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("summary.json", "old")]


def test_the_setup_can_be_read_by_people(tmp_path: Path) -> None:
    fill(tmp_path)
    assert json.loads((tmp_path / "bench.json").read_text())["options"] == {"limit": "3"}
