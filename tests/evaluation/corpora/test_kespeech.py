from collections.abc import Callable
from pathlib import Path

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import read_corpus

Write = Callable[..., None]


@pytest.fixture
def corpus(tmp_path: Path, sound: Write, lines: Write) -> Path:
    for part, name in (("test", "1000001_1a"), ("train_phase1", "1000002_2b")):
        folder = tmp_path / "Tasks" / "ASR" / part
        path = f"Audio/{name[:7]}/phase1/{name}.wav"
        lines(folder / "wav.scp", f"{name} {path}")
        lines(folder / "text", f"{name} <SPOKEN_NOISE>今天 天气")
        sound(tmp_path / path)
    return tmp_path


def test_all_parts(corpus: Path, seconds_of: Callable[..., float]) -> None:
    found = read_corpus(corpus).clips
    assert [clip.name for clip in found] == ["test/1000001_1a", "train_phase1/1000002_2b"]
    assert {(clip.language, clip.reference, clip.kind) for clip in found} == {("zh", "今天 天气", "read")}
    assert seconds_of(found[0]) == 0.25


def test_an_utterance_without_text_has_no_reference(corpus: Path, lines: Write) -> None:
    lines(corpus / "Tasks" / "ASR" / "test" / "text", "another_one 天")
    assert read_corpus(corpus).clips[0].reference == ""


def test_a_part_without_texts(corpus: Path) -> None:
    (corpus / "Tasks" / "ASR" / "test" / "text").unlink()
    with pytest.raises(InputError, match=r"test has no file text with what is said; copy the whole folder"):
        read_corpus(corpus)
