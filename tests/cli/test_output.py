"""Where transcripts go."""

from contextlib import suppress
from pathlib import Path

import pytest

from as2d.cli.output import FolderOutput, OutputError


def write(output: FolderOutput, file: str | Path, text: str) -> str:
    with output.open(str(file)) as sink:
        sink.write(text[:1])
        sink.write(text[1:])
    assert sink.path is not None
    return sink.path.name


def test_equal_stems_get_numbers(tmp_path: Path) -> None:
    files = ["a/x.wav", "b/x.wav", "x.mp3", "x-2.wav", "-", "y.tar.gz"]
    output = FolderOutput(tmp_path / "new" / "folder", "txt", files)
    names = [write(output, file, file) for file in files]
    assert names == ["x.txt", "x-2.txt", "x-3.txt", "x-2-2.txt", "stdin.txt", "y.tar.txt"]
    assert (tmp_path / "new" / "folder" / "x-2.txt").read_text() == "b/x.wav"


@pytest.mark.parametrize("link", [False, True])
def test_an_input_is_never_written_over(tmp_path: Path, link: bool) -> None:
    sound = tmp_path / ("sound" if link else "x.txt")
    sound.write_text("sound")
    if link:
        (tmp_path / "x.txt").hardlink_to(sound)
    output = FolderOutput(tmp_path, "txt", [str(sound)])
    assert write(output, "x.wav", "text") == "x-2.txt"
    assert sound.read_text() == "sound"


def test_an_earlier_transcript_is_replaced_only_by_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("earlier")
    with suppress(RuntimeError), FolderOutput(tmp_path, "txt", ["x.wav"]).open("x.wav") as sink:
        sink.write("half")
        raise RuntimeError
    assert path.read_text() == "earlier"
    write(FolderOutput(tmp_path, "txt", ["x.wav"]), "x.wav", "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *_: object, **__: object) -> None:
        path.touch()
        raise OSError(28, "No space left on device")

    output = FolderOutput(tmp_path, "txt", ["x.wav"])
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OutputError, match=r"No space left on device.*--output-dir"):
        write(output, "x.wav", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write(FolderOutput(tmp_path, "txt", []), "x" * 253 + ".wav", "text")
