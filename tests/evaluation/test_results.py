"""Summary and report of a folder, from what its rows and clips say."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from as2d.errors import InputError
from as2d.evaluation.analysis.translation import scores
from as2d.evaluation.contender import Contender
from as2d.evaluation.measuring.journal import ClipRecord, Journal, Setup
from as2d.evaluation.results import write_results
from as2d.evaluation.rows import Row

MakeRow = Callable[..., Row]
SETUP = Setup(1, "abc", "digest", "cpu", {}, {}, (), (), {"some peer": "not installed"})
CONTENDER = Contender("target-only", 2)


@pytest.fixture
def folder(tmp_path: Path, make_row: MakeRow) -> Path:
    """Five clips, of which one says something about accuracy."""
    clips = [
        ClipRecord("whole", {"whole#0": 1}, (), "my dog"),
        ClipRecord("doubtful", {"doubtful#0": 1}, (), ""),
        ClipRecord("partly", {"partly#0": 1}, ("partly#1",), "my cat and more"),
        ClipRecord("torn", {"torn#0": 1}, (), "my cat and more", "the rest is damaged"),
        ClipRecord("gone", {}, (), "", "no such file"),
    ]
    with Journal(tmp_path, SETUP) as journal:
        for clip in clips:
            for window in clip.windows:
                journal.add_rows(window, [make_row(CONTENDER, window=window, text="my cat")])
            journal.finish(clip)
    return tmp_path


def test_only_clips_that_were_heard_whole_count_for_accuracy(folder: Path) -> None:
    pytest.importorskip("jiwer")
    pytest.importorskip("whisper_normalizer")
    write_results(folder, lambda _: None)
    figures = json.loads((folder / "summary.json").read_text())["accuracies"]["target-only 2c"]
    assert (figures["wer_clips"], figures["wer"]) == (1, 0.5)


def test_what_was_left_out_is_counted(folder: Path) -> None:
    report = write_results(folder, lambda _: None)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["skipped"] == ["torn", "gone"]
    assert summary["missing_peers"] == {"some peer": "not installed"}
    assert (folder / "report.md").read_text() == report


def test_a_peer_that_failed_is_a_dash(folder: Path, make_row: MakeRow) -> None:
    peer = Contender("parrot", 2)
    with Journal(folder, SETUP) as journal:
        journal.add_rows("whole#0", [make_row(peer, window="whole#0")])
        journal.add_rows("torn#0", [make_row(peer, window="torn#0", faults=("RuntimeError: no voice",))])
    report = write_results(folder, lambda _: None)
    assert "parrot: – (failed in torn#0: RuntimeError: no voice)" in report
    summary = json.loads((folder / "summary.json").read_text())
    assert list(summary["groups"]["all"]["contenders"]) == [CONTENDER.key]
    assert peer.key not in summary["accuracies"]


def test_damaged_rows_are_said(folder: Path) -> None:
    path = folder / "windows.jsonl"
    path.write_text("damage\n" + path.read_text())
    said: list[str] = []
    write_results(folder, said.append)
    assert f"{path} has 1 damaged lines" in said[0]
    assert path.read_text().startswith("damage\n")  # looking changes nothing


def test_nothing_measured(tmp_path: Path) -> None:
    with Journal(tmp_path, SETUP):
        pass
    with pytest.raises(InputError, match="nothing was measured"):
        write_results(tmp_path, lambda _: None)


def test_what_was_asked_decides_what_is_counted(tmp_path: Path, make_row: MakeRow) -> None:
    found = {}
    for task, options in (("ask", {"task": "ask"}), ("translate", {"task": "translate", "to": "en"})):
        with Journal(tmp_path / task, replace(SETUP, options=options)) as journal:
            journal.add_rows("a#0", [make_row(CONTENDER, window="a#0", text="my cat")])
            journal.finish(ClipRecord("a", {"a#0": 1}, (), "a dog\nthe cat"))
        said: list[str] = []
        assert f"* Task: {task}" in write_results(tmp_path / task, said.append)
        found[task] = json.loads((tmp_path / task / "summary.json").read_text())["accuracies"]
    assert found["ask"]["target-only 2c"]["f1"] == pytest.approx(2 / 3)
    if find_spec("sacrebleu"):
        assert found["translate"]["target-only 2c"]["chrf_clips"] == 1


def test_without_sacrebleu_it_is_said(
    tmp_path: Path, make_row: MakeRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    scores.cache_clear()
    with Journal(tmp_path, replace(SETUP, options={"task": "translate", "to": "en"})) as journal:
        journal.add_rows("a#0", [make_row(CONTENDER, window="a#0")])
        journal.finish(ClipRecord("a", {"a#0": 1}, (), "my cat"))
    said: list[str] = []
    write_results(tmp_path, said.append)
    assert 'run pip install "as2d[bench]"' in said[0]
    assert said[0].startswith("no BLEU and chrF: ")
