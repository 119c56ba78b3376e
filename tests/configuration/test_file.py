"""The file of configurations: written whole, read back the same, and refused where it is bad."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from as2d.configuration.file import check_writable, default_file, merge_entries, read_entries
from as2d.configuration.tuned import Choice, Entry
from as2d.errors import InputError


@pytest.fixture
def path(tmp_path: Path, entry: Entry) -> Path:
    """A file with one entry."""
    merge_entries(tmp_path / "c.json", [entry])
    return tmp_path / "c.json"


def test_what_is_written_is_read(path: Path, entry: Entry) -> None:
    alone = replace(entry, group="other", choice=Choice(None, 0, 1, "word"), test=None, half=None)
    batches = replace(entry, group="any", choice=Choice("two", 24, 2, 8))
    floored = replace(entry, objective="latency", choice=Choice("one", 11, 1, "word", 0.1))
    merge_entries(path, [alone, batches, floored])
    assert read_entries(path) == (entry, alone, batches, floored)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_newer_choice_takes_the_place_of_the_old_one(path: Path, entry: Entry) -> None:
    newer = replace(entry, choice=Choice("two", 3, 1, "word"))
    elsewhere = replace(entry, machine=replace(entry.machine, cpu="another"))
    merge_entries(path, [newer, elsewhere])
    assert read_entries(path) == (newer, elsewhere)


def changed(path: Path, place: list[Any], value: Any) -> None:
    """Set what lies at a place in the file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    inner = content
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    path.write_text(json.dumps(content), encoding="utf-8")


def test_a_choice_of_an_older_version_has_no_floor(path: Path, entry: Entry) -> None:
    merge_entries(path, [replace(entry, choice=Choice("one", 5, 1, "word", 0.1))])
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["entries"][0]["choice"]["floor"]
    path.write_text(json.dumps(content), encoding="utf-8")
    assert read_entries(path) == (entry,)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["schema"], 0),
        (["schema"], "1"),
        (["entries"], 3),
        (["entries", 0], []),
        (["entries", 0, "task"], "sing"),
        (["entries", 0, "group"], None),
        (["entries", 0, "threads"], 2.5),
        (["entries", 0, "threads"], True),
        (["entries", 0, "target"], ["big"]),
        (["entries", 0, "drafters"], []),
        (["entries", 0, "machine", "cpu"], 3),
        (["entries", 0, "choice", "budget"], 25),
        (["entries", 0, "choice", "budget"], 0),
        (["entries", 0, "choice", "drafter"], None),
        (["entries", 0, "choice", "drafter"], "nobody"),
        (["entries", 0, "choice", "drafter_threads"], 3),
        (["entries", 0, "choice", "drafter_threads"], 0),
        (["entries", 0, "choice", "floor"], 1.0),
        (["entries", 0, "choice", "floor"], -0.1),
        (["entries", 0, "choice", "floor"], "low"),
        (["entries", 0, "choice", "batch"], 0),
        (["entries", 0, "choice", "batch"], "letter"),
        (["entries", 0, "grounds", "tps"], float("nan")),
        (["entries", 0, "grounds", "tps"], -1.0),
        (["entries", 0, "test"], {}),
        (["entries", 0, "half"], "C"),
    ],
)
def test_damage_is_refused(path: Path, place: list[Any], value: Any) -> None:
    changed(path, place, value)
    with pytest.raises(InputError, match=r"is damaged.*as2d tune"):
        read_entries(path)


@pytest.mark.parametrize("text", ["", "[", "[]", "3", "{}", "[" * 100_000])
def test_what_is_no_such_file(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="is damaged"):
        read_entries(path)


def test_bytes_that_are_no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="no file of configurations"):
        read_entries(path)


def test_a_newer_schema(path: Path) -> None:
    changed(path, ["schema"], 2)
    with pytest.raises(InputError, match="schema 2, which is newer than 1; update as2d"):
        read_entries(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*as2d tune"):
        read_entries(tmp_path / "none.json")


def test_what_is_damaged_is_not_overwritten(path: Path, entry: Entry) -> None:
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="is damaged"):
        check_writable(path)
    with pytest.raises(InputError, match="is damaged"):
        merge_entries(path, [entry])
    assert path.read_text(encoding="utf-8") == "{"


def test_a_folder_is_made(tmp_path: Path, entry: Entry) -> None:
    path = tmp_path / "new" / "folder" / "c.json"
    check_writable(path)
    merge_entries(path, [entry])
    assert read_entries(path) == (entry,)


def test_where_nothing_can_be_written(tmp_path: Path, entry: Entry) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="name another file"):
        check_writable(tmp_path / "file" / "c.json")
    with pytest.raises(InputError, match="name another file"):
        check_writable(tmp_path)
    with pytest.raises(InputError, match="cannot write"):
        merge_entries(tmp_path / "none" / "c.json", [entry])


def test_where_auto_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AS2D_CONFIG", str(tmp_path))
    assert default_file() == tmp_path / "configuration.json"
    monkeypatch.delenv("AS2D_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert default_file() == tmp_path / "xdg" / "as2d" / "configuration.json"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_file() == tmp_path / ".config" / "as2d" / "configuration.json"
