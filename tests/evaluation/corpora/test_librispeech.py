from collections.abc import Callable
from pathlib import Path

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import read_corpus

Write = Callable[..., None]


@pytest.fixture
def corpus(tmp_path: Path, sound: Write, lines: Write) -> Path:
    """Two parts; a recording of the second is missing."""
    for part, speaker in (("test-clean", "61"), ("test-other", "367")):
        chapter = tmp_path / "LibriSpeech" / part / speaker / "70968"
        names = [f"{speaker}-70968-000{number}" for number in range(2)]
        lines(
            chapter / f"{speaker}-70968.trans.txt", f"{names[0]} HE BEGAN", f"{names[1]} A CONFUSED COMPLAINT"
        )
        sound(chapter / f"{names[0]}.flac")
        if part == "test-clean":
            sound(chapter / f"{names[1]}.flac")
    lines(tmp_path / "LibriSpeech" / "SPEAKERS.TXT", ";ID |SEX| SUBSET")
    return tmp_path / "LibriSpeech"


@pytest.mark.parametrize("folder", ["..", ".", "test-clean"])
def test_parts_their_folder_and_the_one_above_are_read(
    corpus: Path, folder: str, seconds_of: Callable[..., float]
) -> None:
    found = read_corpus(corpus / folder)
    assert [clip.name for clip in found.clips][:2] == ["61-70968-0000", "61-70968-0001"]
    second = found.clips[1]
    assert (second.reference, second.language, second.kind) == ("A CONFUSED COMPLAINT", "en", "read")
    assert seconds_of(second) == 0.25


def test_what_is_missing_is_named(corpus: Path) -> None:
    [(clip, reason)] = read_corpus(corpus).skipped
    assert clip.name == "367-70968-0001"
    assert "367-70968-0001.flac cannot be read (No such file" in reason


def test_no_recordings_at_all(corpus: Path) -> None:
    for path in corpus.rglob("*.flac"):
        path.unlink()
    with pytest.raises(
        InputError, match=r"looks like LibriSpeech, but none of its 4 clips .*; unpack the recordings"
    ):
        read_corpus(corpus)


def test_a_transcript_in_another_encoding(corpus: Path) -> None:
    path = next(corpus.rglob("*.trans.txt"))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"trans\.txt cannot be read .*download the file again"):
        read_corpus(corpus)
