import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import read_corpus, read_speech

Write = Callable[..., None]


def entry(name: str, *answers: str) -> dict[str, Any]:
    return {
        "id": name,
        "question": f"{name}?",
        "answers": [{"text": text, "answer_start": 0} for text in answers],
    }


@pytest.fixture
def corpus(tmp_path: Path, sound: Write) -> Path:
    """Two passages, of which the first has two questions and eleven sentences, the second no recordings."""
    passages = [
        {"context": "as heard", "qas": [entry("q1", "carolina", "carolina"), entry("q2", "ten", "10")]},
        {"context": "as heard", "qas": [entry("q3", "x")]},
    ]
    content = {"data": [{"title": "t", "paragraphs": passages}], "version": "1.1"}
    (tmp_path / "spoken_test-v1.1.json").write_text(json.dumps(content))
    for sentence in range(11):
        sound(tmp_path / "Spoken-SQuAD_audio" / "dev_wav" / f"0_0_{sentence}.wav", 0.1)
    return tmp_path


def test_a_clip_for_each_question_over_the_whole_passage(
    corpus: Path, seconds_of: Callable[..., float]
) -> None:
    first, second = read_corpus(corpus, pieces=True).clips
    assert (first.name, first.question, first.answers) == ("test/q1", "q1?", ("carolina",))
    assert (second.question, second.answers, second.reference) == ("q2?", ("ten", "10"), "")
    assert [int(piece.path.stem.split("_")[2]) for piece in first.pieces] == list(range(11))
    assert seconds_of(first) == pytest.approx(1.1)


def test_a_passage_is_spoken_once(corpus: Path) -> None:
    assert [clip.name for clip in read_speech(corpus).clips] == ["test/q1"]


def test_a_passage_without_recordings_is_named(corpus: Path) -> None:
    [(clip, reason)] = read_corpus(corpus, pieces=True).skipped
    assert clip.name == "test/q3"
    assert "0_1_0.wav cannot be read" in reason


def test_no_recordings_at_all(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "Spoken-SQuAD_audio").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"no folder dev_wav or test_wav .*; unpack Spoken-SQuAD_audio\.zip"):
        read_corpus(corpus)


@pytest.mark.parametrize(
    "content",
    [
        {"title": "t"},
        {"paragraphs": [{"qas": [{**entry("q", "x"), "question": ["q"]}]}]},
        {"paragraphs": [{"qas": [{**entry("q", "x"), "id": 5}]}]},
        {"paragraphs": [{"qas": [{**entry("q"), "answers": [{"text": 5}]}]}]},
    ],
)
def test_another_json_file(corpus: Path, content: Any) -> None:
    (corpus / "spoken_test-v1.1.json").write_text(json.dumps({"data": [content]}))
    with pytest.raises(InputError, match=r"is not as SQuAD writes it"):
        read_corpus(corpus)


def test_a_damaged_json_file(corpus: Path) -> None:
    for content in ("{", "[" * 100_000):
        (corpus / "spoken_test-v1.1.json").write_text(content)
        with pytest.raises(InputError, match=r"cannot be read .*download the file again"):
            read_corpus(corpus)
