"""`as2d bench ondemand` and `as2d bench stream` on the kept clips and the real models; `as2d soak` on toys."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from numpy.typing import NDArray

from as2d.cli import bench_ondemand, bench_stream, soak
from as2d.configuration.drafters import Drafters, LazySource
from as2d.errors import InputError
from as2d.evaluation.corpora import Clip
from as2d.evaluation.host import describe_host
from as2d.evaluation.requests.material import Material
from as2d.evaluation.soak import faults
from as2d.runtime.cores import available_cores

CORES = available_cores()
SMALL = ("--model", "whisper-tiny.en", "--quiet")

Command = Callable[..., int]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs a command with these arguments: its exit status and what it wrote on stdout."""

    def run(command: Command, *arguments: str | Path) -> tuple[int, str]:
        app = typer.Typer(add_completion=False)
        app.command()(command)
        with typer.main.get_command(app).make_context("as2d", [str(one) for one in arguments]) as context:
            status = context.command.invoke(context)
        return status, capsys.readouterr().out

    return run


@pytest.fixture
def one_clip(long_wav: Path, tmp_path: Path) -> Path:
    """A corpus of one clip that is long enough: with the small model, what is measured takes little time."""
    clip = {"id": "long", "path": str(long_wav), "language": "en", "kind": "read", "reference": ""}
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "manifest.jsonl").write_text(json.dumps(clip | {"duration_s": 34.5}))
    return folder


@pytest.mark.skipif(CORES < 2, reason="a drafter needs a core of its own")
def test_requests_are_measured_with_everything_and_with_nothing_prepared(
    run: Callable[..., Any], one_clip: Path, tmp_path: Path
) -> None:
    few = ("--seconds", "31", "--positions", "2", "--repetitions", "1", "--drafters", "self", "--last", "5")
    status, out = run(bench_ondemand.command, one_clip, "--out", tmp_path, *few, *SMALL)
    assert status == 0
    assert out == (tmp_path / "ondemand.md").read_text()
    assert "identical: 12 of 12" in out
    assert (tmp_path / "ondemand.png").stat().st_size > 10_000
    found = json.loads((tmp_path / "ondemand.json").read_text())
    assert found["recording"][0]["start_s"] == 0
    assert found["recording"][-1]["end_s"] <= 31
    contenders = [f"target-only {CORES}c", "target-only 1c", f"as2d self {CORES}c1d"]
    assert found["contenders"] == contenders
    asked = [(answer["position_s"], answer["prepared"], answer["contender"]) for answer in found["answers"]]
    assert sorted(asked) == sorted(
        (position, prepared, one) for position in (30, 31) for prepared in (True, False) for one in contenders
    )
    assert asked[0][2] != asked[6][2]  # another one begins at the next position
    for answer in found["answers"]:
        assert answer["encoded"] == (0 if answer["prepared"] else answer["windows"])
        assert answer["end_s"] == answer["position_s"]
        assert 0 < answer["first_token_ms"] < answer["latency_ms"]
        assert answer["decode_ms"] > 0
        assert (answer["accepted"] > 0) == answer["contender"].startswith("as2d")
    assert {row["encoded"] > 0 for row in found["summary"] if row["prepared"]} == {False}


def test_a_stream_is_measured(run: Callable[..., Any], clips: Path, tmp_path: Path) -> None:
    few = ("--seconds", "11", "--speed", "8", "--drafter", "self")
    status, out = run(bench_stream.command, clips, "--out", tmp_path, *few, *SMALL)
    assert status == 0
    assert out == (tmp_path / "stream.md").read_text()
    found = json.loads((tmp_path / "stream.json").read_text())
    stable = [text for text in found["texts"] if text["kind"] == "stable"]
    assert stable
    assert found["summary"]["identical"] == found["summary"]["compared"] == len(stable)
    assert any(text["kind"] == "tentative" for text in found["texts"])
    assert all(text["lag_ms"] > 0 for text in found["texts"])
    assert found["blocks"][-1]["end_s"] == 11
    assert found["summary"]["end_backlog_s"] >= 0
    assert (tmp_path / "stream.png").stat().st_size > 10_000


@pytest.fixture
def soaked_toys(
    toy: Callable[..., Any],
    jfk_samples: NDArray[np.float32],
    make_wav: Callable[..., bytes],
    own_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`as2d soak` gets toys for models."""
    target = toy("Ask not what your country can do for you.")
    drafter = LazySource("toy", "toy", lambda: target, encodes=False)
    sentence = tmp_path / "sentence.wav"
    sentence.write_bytes(make_wav(jfk_samples[:48_000]))
    jfk = Clip("jfk", sentence, "read", "en", "", 3.0, False)
    monkeypatch.setattr(faults, "LONGEST_S", 0.1)
    monkeypatch.setattr(
        soak, "load_material", lambda *_: Material(target, (jfk,), describe_host(), {"Host": "here"})
    )
    monkeypatch.setattr(soak, "drafters_for", lambda *_: Drafters((drafter,)))


def test_a_soak_reports_and_passes(
    run: Callable[..., Any], soaked_toys: None, clips: Path, tmp_path: Path
) -> None:
    status, out = run(soak.command, clips, "--minutes", "0.01", "--out", tmp_path, "--quiet")
    assert out == (tmp_path / "soak.md").read_text()
    assert "* Host: here\n* Drafters: toy\n" in out
    found = json.loads((tmp_path / "soak.json").read_text())
    assert (status, found["failures"]) == (0, [])
    assert found["counts"]["answers"] > 8


def test_an_interrupted_soak_reports(
    run: Callable[..., Any],
    soaked_toys: None,
    clips: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(soak, "progress", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(soak.command, clips, "--minutes", "0.01", "--out", tmp_path)
    assert json.loads((tmp_path / "soak.json").read_text())["counts"]["answers"] > 8


def test_a_corpus_that_is_too_short_is_refused(run: Callable[..., Any], clips: Path, tmp_path: Path) -> None:
    for command in (bench_ondemand.command, bench_stream.command):
        with pytest.raises(InputError, match="600 s are needed; choose more kinds or languages"):
            run(command, clips, "--out", tmp_path)


@pytest.mark.parametrize("last", ["0", "-3", "nan", "inf", "soon"])
def test_a_view_that_is_none_is_refused(
    run: Callable[..., Any], clips: Path, tmp_path: Path, last: str
) -> None:
    with pytest.raises(InputError, match="give seconds, or all"):
        run(bench_ondemand.command, clips, "--out", tmp_path, "--last", last)
