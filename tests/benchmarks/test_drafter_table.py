"""The tables of docs/drafters.md, and the token lists that one of their ingredients needs."""

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.drafter_table import BEGIN, END, DraftedWindow, Drafting, RowFigures, generated, replaced
from benchmarks.drafters import measuring_clips
from benchmarks.token_lists import own_tokens, scripts_of

from as2d.evaluation.corpora import Clip
from as2d.models.whisper.model import WhisperModel

DRAFTING = Drafting(committed=22, useful=20, proposed=20, accepted=15, rounds=11, faults=())
ROW = RowFigures(
    alone_ms=30.0,
    alone_tokens=15,
    extra_bytes=40_000_000,
    decode_ms=50.0,
    whole_ms=None,
    drafting=DRAFTING,
    identical=True,
)
WINDOW = DraftedWindow(
    clip="a",
    language="en",
    start_s=0.0,
    tokens=20,
    one_core_ms=100.0,
    two_cores_ms=75.0,
    whole_one_core_ms=None,
    whole_ms=None,
    identical=True,
    rows={"self": ROW},
)


def cells(text: str, name: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_pools_its_windows() -> None:
    slow = replace(ROW, decode_ms=150.0, alone_ms=None, alone_tokens=0, extra_bytes=50_000_000)
    text = generated({"date": "today"}, [WINDOW, replace(WINDOW, rows={"self": slow})])
    assert cells(text, "self")[1:10] == ["2", "2.00", "0.75", "0.75", "2.00", "50", "200", "1.00", "0.75"]
    assert text.startswith("* date: today\n\n### English: 2 windows, 40 tokens (en 2)")
    assert "Other languages" not in text


def test_a_row_is_compared_on_its_own_windows_only() -> None:
    other = replace(WINDOW, one_core_ms=1000.0, rows={})
    text = generated({}, [WINDOW, other])
    assert cells(text, "self")[8:10] == ["2.00", "1.50"]
    assert cells(text, "target-only, 2 cores")[7:10] == ["267", "7.33", "1.00"]


def test_end_to_end_is_over_the_windows_that_have_it() -> None:
    whole = replace(
        WINDOW, whole_one_core_ms=600.0, whole_ms=300.0, rows={"self": replace(ROW, whole_ms=400.0)}
    )
    text = generated({}, [WINDOW, whole])
    assert cells(text, "self")[10:] == ["400", "1.50", "0.75"]
    assert cells(text, "target-only, 2 cores")[10:] == ["300", "2.00", "1.00"]


def test_a_drafter_that_proposed_nothing() -> None:
    idle = replace(ROW, drafting=replace(DRAFTING, proposed=0, accepted=0))
    assert cells(generated({}, [replace(WINDOW, rows={"self": idle})]), "self")[3:6] == [
        "0.00",
        "0.00",
        "2.00",
    ]


def test_languages_have_tables_apart() -> None:
    text = generated({}, [WINDOW, replace(WINDOW, language="de")])
    assert "### English: 1 windows" in text
    assert "### Other languages: 1 windows, 20 tokens (de 1)" in text
    text = generated({}, [replace(WINDOW, language=one) for one in ("de", "fr", "fr")])
    assert text.strip().startswith("### Other languages: 3 windows, 60 tokens (fr 2, de 1)")


def test_only_the_generated_part_is_replaced() -> None:
    once = replaced(f"before\n{BEGIN}\nold\n{END}\nafter\n", "new")
    assert once == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert replaced(once, "new") == once


@pytest.mark.parametrize("document", ["", BEGIN, END, f"{END}{BEGIN}"])
def test_a_document_needs_both_markers(document: str) -> None:
    with pytest.raises(ValueError, match="lacks"):
        replaced(document, "new")


def test_no_clip_is_measured_that_may_have_calibrated() -> None:
    clips = [Clip(f"clip-{i}", Path("x"), "read", "en", "", 1.0, doubtful=False) for i in range(100)]
    measured = measuring_clips(clips, ["en"])
    assert 30 < len(measured) < 70
    assert measuring_clips([replace(clip, kind="long") for clip in clips], ["en"]) == []


@pytest.mark.parametrize(
    ("language", "own", "foreign"),
    [("en", " the", "的"), ("de", " für", " дом"), ("zh", "的", " the"), ("ko", "다", " the")],
)
def test_an_own_language_list(base: WhisperModel, language: str, own: str, foreign: str) -> None:
    vocabulary = base.vocabulary
    listed = own_tokens(vocabulary, scripts_of(language))
    assert set(vocabulary.encode(own)) <= listed
    assert not set(vocabulary.encode(foreign)) & listed
    assert set(vocabulary.encode(" 12, !?")) <= listed
