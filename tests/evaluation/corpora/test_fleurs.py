from collections.abc import Callable
from pathlib import Path

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import Clip, read_corpus

Write = Callable[..., None]


def row(sentence: int, file: str, text: str) -> str:
    return f"{sentence}\t{file}\t{text}\t{text.lower()}\tx | y\t8000\tFEMALE"


@pytest.fixture
def corpus(tmp_path: Path, sound: Write, lines: Write) -> Path:
    """Chinese, German and English; sentence 2 has two German recordings and is not there in English."""
    lines(tmp_path / "cmn_hans_cn" / "test.tsv", row(1, "7.wav", "一 “二”"))
    lines(
        tmp_path / "de_de" / "test.tsv",
        row(1, "9.wav", "Eins."),
        *(row(2, f"{n}.wav", "Zwei.") for n in (8, 5)),
    )
    lines(tmp_path / "en_us" / "test.tsv", row(1, "3.wav", "One."))
    for path in ("cmn_hans_cn/audio/test/7.wav", "de_de/test/9.wav", "de_de/test/8.wav", "de_de/test/5.wav"):
        sound(tmp_path / path, 0.5)
    sound(tmp_path / "en_us" / "audio" / "test" / "3.wav", 0.5)
    return tmp_path


def clips(folder: Path) -> dict[str, Clip]:
    return {clip.name: clip for clip in read_corpus(folder).clips}


def test_every_recording_with_what_is_written(corpus: Path, seconds_of: Callable[..., float]) -> None:
    found = clips(corpus)
    assert list(found) == [
        "cmn_hans_cn/test/7",
        "de_de/test/9",
        "de_de/test/8",
        "de_de/test/5",
        "en_us/test/3",
    ]
    chinese = found["cmn_hans_cn/test/7"]
    assert (chinese.language, chinese.reference, chinese.duration_s) == ("zh", "一 “二”", 0.5)
    assert all(seconds_of(clip) == 0.5 for clip in found.values())


def test_a_sentence_is_translated_by_the_other_languages(corpus: Path) -> None:
    found = clips(corpus)
    assert found["de_de/test/9"].translations == {"zh": "一 “二”", "de": "Eins.", "en": "One."}
    assert found["de_de/test/8"].translations == {"de": "Zwei."}
    assert found["de_de/test/8"].translations is found["de_de/test/5"].translations  # held once


def test_one_language_alone(corpus: Path) -> None:
    assert list(clips(corpus / "de_de")) == ["de_de/test/9", "de_de/test/8", "de_de/test/5"]


def test_recordings_that_are_not_unpacked(corpus: Path) -> None:
    (corpus / "en_us" / "audio" / "test" / "3.wav").unlink()
    with pytest.raises(InputError, match=r"looks like FLEURS, .*audio/test/3\.wav cannot be read .*unpack"):
        read_corpus(corpus / "en_us")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("2\t4.wav\tTwo.", "line 2 has 3 columns in place of 7"),
        (row(2, "4.wav", "x").replace("8000", "?"), "line 2 has no number"),
    ],
)
def test_a_damaged_table(corpus: Path, line: str, says: str) -> None:
    with (corpus / "en_us" / "test.tsv").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match=says):
        read_corpus(corpus)


def test_another_table_is_no_fleurs(tmp_path: Path, lines: Write) -> None:
    lines(tmp_path / "de" / "test.tsv", "client_id\tpath\tsentence\tup\tdown\tage\tgender")
    with pytest.raises(InputError, match=r"name a folder that holds one, or one of .*FLEURS"):
        read_corpus(tmp_path)
