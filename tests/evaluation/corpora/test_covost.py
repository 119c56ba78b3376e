from collections.abc import Callable
from pathlib import Path

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import read_corpus

Write = Callable[..., None]
HEADER = "path\tsentence\ttranslation\tclient_id"


@pytest.fixture
def corpus(tmp_path: Path, sound: Write, lines: Write) -> Path:
    """English into German and Chinese, and Swedish into English."""
    english, swedish = tmp_path / "en", tmp_path / "sv-SE"
    lines(
        english / "covost_v2.en_de.test.tsv",
        HEADER,
        'a.mp3\t"One", he said.\t"Eins", sagte er.\tx',
        "b.mp3\tTwo.\tZwei.\ty",
    )
    lines(english / "covost_v2.en_zh-CN.test.tsv", HEADER, 'a.mp3\t"One", he said.\t一\tx')
    lines(english / "covost_v2.en_de.tsv", "path\ttranslation\tsplit")
    lines(swedish / "covost_v2.sv-SE_en.dev.tsv", HEADER, "a.mp3\tEtt.\tOne.\tz")
    for path in (english / "clips" / "a.mp3", english / "clips" / "b.mp3", swedish / "clips" / "a.mp3"):
        sound(path, 0.5)
    return tmp_path


def test_each_recording_once_with_all_its_translations(
    corpus: Path, seconds_of: Callable[..., float]
) -> None:
    found = read_corpus(corpus).clips
    assert [(clip.name, clip.language, clip.reference) for clip in found] == [
        ("en/test/a", "en", '"One", he said.'),
        ("en/test/b", "en", "Two."),
        ("sv-SE/dev/a", "sv", "Ett."),
    ]
    assert [clip.translations for clip in found] == [
        {"de": '"Eins", sagte er.', "zh": "一"},
        {"de": "Zwei."},
        {"en": "One."},
    ]
    assert seconds_of(found[0]) == pytest.approx(0.5, abs=0.1)  # MP3 pads


def test_one_language_alone(corpus: Path) -> None:
    assert [clip.name for clip in read_corpus(corpus / "sv-SE").clips] == ["sv-SE/dev/a"]


def test_tables_that_are_not_split(tmp_path: Path, lines: Write) -> None:
    lines(tmp_path / "covost_v2.en_de.tsv", "path\ttranslation\tsplit")
    with pytest.raises(InputError, match=r"not split; run CoVoST's get_covost_splits\.py"):
        read_corpus(tmp_path)


def test_tables_without_clips(tmp_path: Path, lines: Write) -> None:
    lines(tmp_path / "covost_v2.en_de.test.tsv", HEADER)
    with pytest.raises(InputError, match=r"no folder clips or en/clips; put the clips of Common Voice there"):
        read_corpus(tmp_path)


def test_a_line_that_is_cut_short(corpus: Path, lines: Write) -> None:
    lines(corpus / "sv-SE" / "covost_v2.sv-SE_en.dev.tsv", HEADER, "a.mp3\tEtt.")
    with pytest.raises(InputError, match=r"dev\.tsv, line 2 lacks one of path, sentence, translation"):
        read_corpus(corpus)
