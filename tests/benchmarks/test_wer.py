"""Which clips count for accuracy, and how two precisions are compared."""

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.wer import referenced_clips, report

from as2d.evaluation.corpora import Clip
from as2d.records import Result, Stats

pytest.importorskip("jiwer", reason='needs pip install "as2d[bench]"')
pytest.importorskip("whisper_normalizer", reason='needs pip install "as2d[bench]"')

CLIP = Clip("a", Path("a"), "read", "en", "my cat sat down", 1.0, doubtful=False)


def heard(text: str) -> Result:
    return Result(text, "en", 1.0, (1,), (), "target-only", True, "stop", False, (), Stats())


def test_only_references_beyond_doubt_count() -> None:
    clips = [
        CLIP,
        replace(CLIP, name="doubtful", doubtful=True),
        replace(CLIP, name="no reference", reference=""),
        replace(CLIP, name="German", language="de"),
        replace(CLIP, name="call", kind="phone"),
    ]
    assert [clip.name for clip in referenced_clips(clips)] == ["a"]


def test_errors_are_pooled_over_normalised_words(capsys: pytest.CaptureFixture[str]) -> None:
    short = replace(CLIP, reference="Yes!")
    looped = replace(heard("my cat"), finish_reason="repetition")
    rate = report([CLIP, short], "int8", [looped, heard("yes")])
    assert rate == pytest.approx(40)
    assert "int8: WER 40.000% (2 errors in 5 words)" in capsys.readouterr().out


def test_nothing_to_compare() -> None:
    with pytest.raises(SystemExit, match="no English read clip"):
        report([], "int8", [])
