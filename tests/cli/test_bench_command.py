"""`as2d bench` on real speech and the real models."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from as2d.models.contract import Rows
from as2d.models.whisper.decoder import WhisperDecoder
from as2d.runtime.cores import available_cores

Run = Callable[..., Any]

CORES = available_cores()

FEW = ("--limit", "2", "--methods", "as2d", "--drafters", "self", "--budgets", "7", "--repetitions", "2")
COMMAND = [sys.executable, "-c", "import sys; from as2d.cli import main; sys.exit(main())", "bench"]


def keys(folder: Path) -> list[tuple[str, str, int]]:
    """All runs that a folder holds; one that is just being written does not count."""
    lines = (folder / "runs.jsonl").read_text().splitlines(keepends=True)
    runs = [json.loads(line) for line in lines if line.endswith("\n")]
    return [(run["window"], run["contender"], run["repetition"]) for run in runs]


@pytest.fixture
def manifest(tmp_path: Path, clips: Path) -> Callable[..., Path]:
    """Makes a corpus of these entries; every `path` but "gone.flac" is a copy of the clip that it names."""

    def write(*entries: dict[str, str]) -> Path:
        folder = tmp_path / "corpus"
        folder.mkdir()
        for entry in entries:
            if (clips / entry["path"]).is_file():
                shutil.copy(clips / entry["path"], folder)
        lines = [
            json.dumps({"kind": "read", "language": "en", "reference": "x"} | entry) for entry in entries
        ]
        (folder / "manifest.jsonl").write_text("\n".join(lines))
        return folder

    return write


def test_a_bench_goes_on_where_it_was_and_is_drawn_again(run_fresh: Run, clips: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = run_fresh("bench", clips, "--out", out, *FEW)
    assert first.status == 0
    assert first.out.startswith("# as2d bench\n")
    assert first.out == (out / "report.md").read_text()
    done = keys(out)
    assert len(done) == len(set(done)) == 2 * 2 * 2
    rows = [json.loads(line) for line in (out / "windows.jsonl").read_text().splitlines()]
    assert Counter(row["contender"] for row in rows) == {
        f"target-only {CORES}c": 2,
        f"as2d self b7 {CORES}c1d": 2,
    }
    assert all(row["identical"] for row in rows)
    assert json.loads((out / "summary.json").read_text())["header"]["clips"] == 2

    again = run_fresh("bench", clips, "--out", out, *FEW)
    assert (again.status, again.out) == (0, first.out)
    assert keys(out) == done

    other = run_fresh("bench", clips, "--out", out, *FEW, "--seed", "1")
    assert (other.status, other.out) == (2, "")
    assert "seed 0 then, 1 now" in other.err
    assert "another --out" in other.err

    (out / "report.md").unlink()
    (out / "speed-up.png").unlink(missing_ok=True)
    drawn = run_fresh("bench", "plot", out)
    assert (drawn.status, drawn.out) == (0, first.out)
    assert (out / "report.md").is_file()
    assert (out / "speed-up.png").is_file() == bool(find_spec("matplotlib"))


def test_translations_are_measured_and_compared_with_references(
    run_fresh: Run, clips: Path, tmp_path: Path
) -> None:
    """FLEURS in German and English, of which only the German is recorded."""
    texts = {"de_de": "Es leben noch viele.", "en_us": "There are still many men and women alive."}
    for folder, text in texts.items():
        (tmp_path / folder).mkdir()
        row = f"1\tfleurs-de-003.ogg\t{text}\t{text}\tx\t160000\tMALE\n"
        (tmp_path / folder / "test.tsv").write_text(row)
    (tmp_path / "de_de" / "test").mkdir()
    shutil.copy(clips / "fleurs-de-003.ogg", tmp_path / "de_de" / "test")
    out = tmp_path / "out"
    few = (*FEW[2:6], "--repetitions", "1", "--budgets", "4")
    outcome = run_fresh("bench", tmp_path, "--out", out, *few, "--task", "translate", "--to", "en")
    assert (outcome.status, "skipped:" in outcome.err) == (0, False)
    assert "* Task: translate to en\n" in outcome.out
    rows = [json.loads(line) for line in (out / "windows.jsonl").read_text().splitlines()]
    assert {row["contender"] for row in rows} == {f"target-only {CORES}c", f"as2d self b4 {CORES}c1d"}
    assert all(row["identical"] and row["text"].startswith("There are many men and women") for row in rows)
    if find_spec("sacrebleu"):
        figures = json.loads((out / "summary.json").read_text())["accuracies"].values()
        assert all(20 < each["chrf"] < 100 and each["chrf_clips"] == 1 for each in figures)
        assert "| chrF |" in outcome.out


def test_without_the_extra_the_runs_are_written_and_what_is_missing_is_said(
    run_fresh: Run, clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("jiwer", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    out = tmp_path / "out"
    outcome = run_fresh(
        "bench", clips, "--out", out, "--limit", "1", "--methods", "target-only", "--repetitions", "1"
    )
    assert outcome.status == 0
    assert len(keys(out)) == 2
    assert json.loads((out / "summary.json").read_text())["accuracies"] == {}
    errors = [line for line in outcome.err.splitlines() if 'run pip install "as2d[bench]"' in line]
    assert [line[:25] for line in errors] == ["as2d: no word error rates", "as2d: no plots: matplotli"]


def test_bad_clips_are_named_skipped_and_counted(run_fresh: Run, manifest: Run, tmp_path: Path) -> None:
    corpus = manifest(
        {"id": "gone", "path": "gone.flac"},
        {"id": "text", "path": "README.md"},
        {"id": "good", "path": "jfk.flac"},
        {"id": "twin", "path": "jfk.flac"},
        {"id": "not-asked-for", "path": "gone.flac", "kind": "noise"},
    )
    few = ("--methods", "target-only", "--cores", "1", "--repetitions", "1")
    outcome = run_fresh("bench", corpus, "--out", tmp_path / "out", *few)
    assert outcome.status == 0
    assert "as2d: warning: gone is skipped: " in outcome.err
    assert "as2d: warning: text is skipped: " in outcome.err
    assert "not-asked-for" not in outcome.err
    assert "1 clips are left out as duplicates of others: twin" in outcome.err
    assert {window for window, _, _ in keys(tmp_path / "out")} == {"good#0"}
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert sorted(summary["skipped"]) == ["gone", "text"]
    assert "2 clips" in outcome.out
    quiet = run_fresh("bench", corpus, "--out", tmp_path / "out", *few, "--quiet")
    assert (quiet.status, quiet.err) == (0, "")


def test_a_wrong_token_is_an_exit_status(
    run_fresh: Run, clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = WhisperDecoder.forward

    def wrong(self: WhisperDecoder, tokens: Sequence[int]) -> Rows:
        rows = right(self, tokens)
        if len(tokens) < 2 or not self._spec.even_rows:  # one token, or a drafter
            return rows
        return rows._replace(greedy=(*rows.greedy[:-1], 1000))

    monkeypatch.setattr(WhisperDecoder, "forward", wrong)
    out = tmp_path / "out"
    few = ("--limit", "1", "--drafters", "self", "--budgets", "4", "--repetitions", "1")
    outcome = run_fresh("bench", clips, "--out", out, *few, "--methods", "target-only,speculative")
    assert outcome.status == 1
    [line] = [line for line in outcome.err.splitlines() if "NOT identical to target-only" in line]
    assert "(speculative self b4 " in line
    assert "target-only 1c" not in line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("{clips}",), "--out"),
        (("--out", "{out}"), "CORPUS"),
        (("{out}", "--out", "{out}"), "cannot read"),
        (("{clips}", "--out", "{out}", "--budgets", "3,x"), "--budgets 3,x is no list of numbers"),
        (("{clips}", "--out", "{out}", "--budgets", "25"), "a budget of 25"),
        (("{clips}", "--out", "{out}", "--methods", "magic"), "no method magic"),
        (("{clips}", "--out", "{out}", "--kinds", "opera"), "no clip is of the kinds opera"),
        (("{clips}", "--out", "{out}", "--drafters", "nobody"), "no model or folder is named 'nobody'"),
        (("{clips}", "--out", "{out}", "--limit", "0"), "--limit"),
        (("{clips}", "--out", "{out}", "--task", "translate"), "add --to en"),
        (("{clips}", "--out", "{out}", "--to", "en"), "add --task translate"),
        (("{clips}", "--out", "{out}", "--task", "translate", "--to", "de"), "translates to English only"),
        (("{clips}", "--out", "{out}", "--task", "ask"), "Whisper cannot ask"),
        (
            (
                "{clips}",
                "--out",
                "{out}",
                "--task",
                "translate",
                "--to",
                "en",
                "--drafters",
                "whisper-tiny.en",
            ),
            "the drafter whisper-tiny.en cannot translate to en",
        ),
        (("plot", "{out}"), "holds no bench.json"),
    ],
)
def test_bad_usage(
    run_fresh: Run, clips: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    outcome = run_fresh("bench", *(part.format(clips=clips, out=tmp_path / "out") for part in arguments))
    assert (outcome.status, outcome.out) == (2, "")
    assert says in outcome.err
    assert outcome.err.count("\n") == 1


def test_help_shows_every_command(run_fresh: Run) -> None:
    for arguments in (("--help",), ()):
        shown = run_fresh("bench", *arguments)
        for name in ("CORPUS --out DIR", "run", "plot", "independence"):
            assert name in shown.out + shown.err


def test_the_probe_of_independence(run_fresh: Run, clips: Path, tmp_path: Path) -> None:
    few = ("--limit", "2", "--pairs", "6", "--drafters", "self,whisper-tiny.en", "--languages", "en")
    outcome = run_fresh("bench", "independence", clips, "--out", tmp_path / "out", *few)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == (tmp_path / "out" / "independence.md").read_text()
    written = json.loads((tmp_path / "out" / "independence.json").read_text())
    assert [probe["drafter"] for probe in written["probes"]] == ["self", "whisper-tiny.en"]


def test_an_interrupt_loses_nothing(clips: Path, tmp_path: Path, run_fresh: Run) -> None:
    out = tmp_path / "out"
    with subprocess.Popen([*COMMAND, str(clips), "--out", str(out), *FEW], stderr=subprocess.PIPE) as process:
        while not (out / "runs.jsonl").is_file() or len(keys(out)) < 3:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert err.decode() == "as2d: interrupted; the same command goes on where it was\n"
    done = keys(out)
    assert 3 <= len(done) < 8
    assert run_fresh("bench", clips, "--out", out, *FEW).status == 0
    assert keys(out)[: len(done)] == done
    assert len(keys(out)) == len(set(keys(out))) == 8


def test_a_full_disk_is_named_and_loses_nothing(clips: Path, tmp_path: Path, run_fresh: Run) -> None:
    out = tmp_path / "out"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, hard))  # the largest file there may be
    try:
        outcome = run_fresh("bench", clips, "--out", out, *FEW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (outcome.status, outcome.out) == (2, "")
    assert f"as2d: error: {out / 'runs.jsonl'} cannot be written (" in outcome.err
    assert "free some space" in outcome.err
    done = keys(out)
    assert 0 < len(done) < 8
    assert run_fresh("bench", clips, "--out", out, *FEW).status == 0
    assert keys(out)[: len(done)] == done
    assert len(keys(out)) == len(set(keys(out))) == 8


def test_a_terminal_shows_how_far_it_is(clips: Path, tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    command = [*COMMAND, str(clips), "--out", str(tmp_path / "out"), *FEW]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        out, _ = process.communicate()
    screen = os.read(ours, 100_000).decode()
    os.close(ours)
    assert process.returncode == 0
    assert b"\x1b" not in out
    assert "2/2" in screen
    assert "100%" in screen
