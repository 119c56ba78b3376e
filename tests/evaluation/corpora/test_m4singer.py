import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import Selection, read_corpus, select

Write = Callable[..., None]
PHRASE = {"item_name": "Alto-1#美错#0000", "txt": "爱得太早", "phs": ["ai", "d"], "ph_dur": [0.15, 0.1]}


def corpus(folder: Path, entries: Any) -> Path:
    (folder / "Alto-1#美错").mkdir(exist_ok=True)
    (folder / "meta.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder


def test_a_phrase(tmp_path: Path, sound: Write, seconds_of: Callable[..., float]) -> None:
    sound(tmp_path / "Alto-1#美错" / "0000.wav")
    [clip] = read_corpus(corpus(tmp_path, [PHRASE])).clips
    assert (clip.name, clip.reference, clip.language) == ("Alto-1/美错/0000", "爱得太早", "zh")
    assert clip.duration_s == seconds_of(clip) == 0.25


def test_songs_need_not_be_named_to_be_used(tmp_path: Path, sound: Write) -> None:
    sound(tmp_path / "Alto-1#美错" / "0000.wav")
    assert select(read_corpus(corpus(tmp_path, [PHRASE])).clips, {"zh"}, Selection())


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"a": 1}, "is no list of phrases"),
        ([PHRASE, {"txt": "x"}], "entry 1 is no phrase"),
        ([PHRASE | {"item_name": "x"}], "entry 0 is no phrase"),
        ([3], "entry 0 is no phrase"),
        ([], "names no recordings"),
    ],
)
def test_another_meta_file(tmp_path: Path, entries: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_corpus(corpus(tmp_path, entries))
