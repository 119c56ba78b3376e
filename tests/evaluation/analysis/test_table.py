from dataclasses import replace

import pytest

from as2d.evaluation.analysis.summary import summarise
from as2d.evaluation.analysis.table import markdown
from as2d.evaluation.rows import Row

AS2D = "as2d self b7 2c1d"


@pytest.fixture(scope="module")
def report(bench: list[Row]) -> str:
    return markdown(summarise(bench))


def cells(report: str, start: str) -> list[list[str]]:
    """The rows of the tables whose first cell is `start`."""
    lines = [line for line in report.splitlines() if line.startswith(f"| {start} |")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_report_has_a_section_for_each_group(report: str) -> None:
    titles = [line for line in report.splitlines() if line.startswith("#")]
    assert titles == [
        "# as2d bench",
        "## English (24 windows)",
        "## Other languages (12 windows)",
        "## All (36 windows)",
        "## Cost and answers, all windows",
        "## Legend",
    ]


def test_one_language_is_not_shown_twice(bench: list[Row]) -> None:
    report = markdown(summarise([row for row in bench if row.language == "en"]))
    assert "## English" not in report
    assert "## All (24 windows)" in report


def test_every_table_is_a_rectangle(report: str) -> None:
    tables = [block.splitlines() for block in report.split("\n\n") if block.startswith("|")]
    assert len(tables) > 9
    for table in tables:
        assert len({line.count("|") for line in table}) == 1


def test_figures_stand_in_their_columns(bench: list[Row], report: str) -> None:
    figures = summarise(bench)["groups"]["English"]["contenders"][AS2D]
    speed = cells(report, "AS²D (self, b = 7)")[0]
    assert speed[1:3] == ["1 + 1", "24"]
    assert speed[3].startswith(f"**{figures['tps']['value']:.0f}** [{figures['tps']['low']:.0f}, ")
    assert speed[5].startswith(f"{figures['ratio_all_cores']['value']:.2f} [")
    assert speed[8] == f"{figures['slow_all_cores']['value']:.1%}"


def test_only_the_fastest_is_bold(report: str) -> None:
    english = report.split("## English")[1].split("\n\n")[1]
    assert english.count("**") == 2


def test_a_baseline_is_one_of_itself(report: str) -> None:
    assert cells(report, "target-only")[1][5] == "1"


def test_peers_stand_apart(report: str) -> None:
    english = report.split("## English")[1].split("\n\n")
    assert "faster-whisper" not in english[1]
    assert "Other programs" in english[2]
    assert "faster-whisper int8" in english[3]
    assert len(english[3].splitlines()) == 3


def test_what_is_absent_is_said(bench: list[Row], report: str) -> None:
    assert "Energy: absent" in report
    assert "| WER" not in report
    told = markdown(
        summarise([replace(row, energy_j=0.5) for row in bench], missing_peers={"openai-whisper": "no torch"})
    )
    assert "Energy: absent" not in told
    assert "mJ a token" in told
    assert "openai-whisper: – (no torch)" in told


def test_accuracy_has_columns_where_it_is_given(bench: list[Row]) -> None:
    report = markdown(summarise(bench, {AS2D: {"wer": 0.0512, "wer_clips": 7, "cer": None}}))
    assert "| WER, %" in report
    assert "| CER, %" not in report
    assert "5.1 (7)" in cells(report, "AS²D (self, b = 7)")[-1]
    assert "–" in cells(report, "target-only")[-1]


def test_identity_is_said_of_ours_alone(bench: list[Row], report: str) -> None:
    assert "\nidentical: 468 of 468\n" in report
    assert "Not identical" not in report
    wrong = [
        replace(row, identical=row.window != "clip7#0") if row.contender == AS2D else row for row in bench
    ]
    report = markdown(summarise(wrong))
    assert "\nidentical: 467 of 468\n" in report
    assert "Not identical to target-only: AS²D (self, b = 7)." in report


def test_the_overlap_identity_has_its_verdict(bench: list[Row]) -> None:
    report = markdown(summarise(bench))
    assert "overlap pays, ΔO +" in report
    slow = [
        replace(row, producer_done_ms=3 * row.producer_done_ms) if row.contender == AS2D else row
        for row in bench
    ]
    assert "overlap does not pay, ΔO +" in (report := markdown(summarise(slow)))
    assert "a token lost" in report


def test_translations_have_their_columns_intervals_and_signatures(bench: list[Row]) -> None:
    figures = {
        "bleu": 31.25,
        "bleu_low": 30.0,
        "bleu_high": 33.0,
        "bleu_clips": 7,
        "bleu_signature": "tok:13a",
    }
    report = markdown(summarise(bench, {AS2D: figures}, task="translate to en"))
    assert "* Task: translate to en\n" in report
    assert "| BLEU |" in report
    assert "31.2 [30.0, 33.0] (7)" in cells(report, "AS²D (self, b = 7)")[-1]
    assert report.count("\nBLEU: `tok:13a`\n") == 1
    assert "| chrF" not in report


def test_answers_are_shown_in_percent(bench: list[Row]) -> None:
    figures = {"f1": 0.5, "f1_low": 0.25, "f1_high": 0.75, "f1_clips": 4}
    report = markdown(summarise(bench, {AS2D: figures}, task="ask"))
    assert "| F1, %" in report
    assert "50.0 [25.0, 75.0] (4)" in cells(report, "AS²D (self, b = 7)")[-1]
