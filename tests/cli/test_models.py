"""`as2d models`."""

import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from as2d.cli import models
from as2d.cli.models import app
from as2d.errors import InputError, ModelNotFoundError
from as2d.evaluation.corpora import Clip
from as2d.models.store import KNOWN
from as2d.models.whisper.low_rank import Calibration
from as2d.models.whisper.model import WhisperModel


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AS2D_CACHE", str(tmp_path / "cache"))


def test_list_is_tab_separated_off_a_terminal() -> None:
    result = CliRunner().invoke(app, ["list"])
    assert result.exit_code == 0
    header, *rows = (line.split("\t") for line in result.stdout.splitlines())
    assert header == ["name", "licence", "size", "installed", "packages"]
    assert rows[0][:4] == ["whisper-base", "MIT", "145 MB", "yes"]
    assert [row[0] for row in rows] == list(KNOWN)


def test_list_says_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "installed", lambda: ("whisper-base",))
    rows = CliRunner().invoke(app, ["list"]).stdout.splitlines()[1:]
    assert [row.split("\t")[3] for row in rows] == ["yes", "no"]


def test_list_is_a_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(models, "Console", lambda: Console(file=terminal, width=120))
    models.list_models()
    assert "whisper-tiny.en" in terminal.getvalue()
    assert "\t" not in terminal.getvalue()


@pytest.mark.parametrize(("name", "files"), [("whisper-base", 4), ("whisper-tiny.en", 3)])
def test_path_prints_the_files(name: str, files: int) -> None:
    result = CliRunner().invoke(app, ["path", name])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == files
    assert all(Path(line).is_file() for line in lines)


def test_path_of_an_unknown_model_raises() -> None:
    result = CliRunner().invoke(app, ["path", "whisper-huge"])
    assert isinstance(result.exception, ModelNotFoundError)


@pytest.fixture
def _loaded(tiny: WhisperModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """No graph of the model is built again."""
    monkeypatch.setattr(models, "load_whisper", lambda _: tiny)


@pytest.mark.usefixtures("_loaded")
def test_calibrate_writes_a_calibration_that_loads(clips: Path, tmp_path: Path) -> None:
    out = tmp_path / "head.npz"
    assert (
        CliRunner().invoke(app, ["calibrate", "whisper-tiny.en", str(clips), "--out", str(out)]).exit_code
        == 0
    )
    with np.load(out) as arrays:
        assert arrays["mean"].shape == (384,)
        assert arrays["covariance"].shape == (384, 384)


@pytest.mark.usefixtures("_loaded")
@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (None, "cannot read .*manifest.jsonl"),
        ("{}", "needs the text 'id'"),
        ("[]", "is no JSON object"),
        ("no JSON", "is not JSON"),
        ("", "no clip .* is for calibration"),
        (
            '{"id": "jfk", "path": "jfk.flac", "language": "en", "kind": "read"}',
            "no clip .* is for calibration",
        ),
        (
            '{"id": "ls-3080-5032-0007", "path": "a.flac", "language": "fr", "kind": "read"}',
            "in a language of whisper-tiny.en",
        ),
        (
            '{"id": "ls-3080-5032-0007", "path": "a.flac", "language": "en", "kind": "format"}',
            "no clip .* is for calibration",
        ),
        (
            '{"id": "ls-3080-5032-0007", "path": "a.flac", "language": "en", "kind": "long"}',
            "no clip .* is for calibration",
        ),
    ],
)
def test_calibrate_says_what_is_wrong_with_a_corpus(
    manifest: str | None, message: str, tmp_path: Path
) -> None:
    if manifest is not None:
        (tmp_path / "manifest.jsonl").write_text(manifest)
    result = CliRunner().invoke(
        app, ["calibrate", "whisper-tiny.en", str(tmp_path), "--out", str(tmp_path / "head.npz")]
    )
    assert isinstance(result.exception, InputError)
    assert re.search(message, str(result.exception))
    assert not (tmp_path / "head.npz").exists()


def test_calibrate_an_unknown_model(clips: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["calibrate", "whisper-huge", str(clips), "--out", str(tmp_path / "head.npz")]
    )
    assert isinstance(result.exception, ModelNotFoundError)


@pytest.mark.usefixtures("_loaded")
@pytest.mark.parametrize(("out", "message"), [("none/head.npz", "no folder"), ("", "cannot write")])
def test_calibrate_to_where_nothing_can_be_written(
    out: str, message: str, clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = np.eye(4, dtype=np.float32)
    monkeypatch.setattr(models, "calibrate", lambda *_: Calibration.of(states))
    result = CliRunner().invoke(
        app, ["calibrate", "whisper-tiny.en", str(clips), "--out", str(tmp_path / out)]
    )
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def clip(name: str, kind: str = "read", language: str = "en") -> Clip:
    return Clip(name, Path("x"), kind, language, "", 0.0, doubtful=False)


def test_a_limit_draws_clips_by_the_seed() -> None:
    named = [clip(f"clip-{number}") for number in range(100)]
    everything = [one.name for one in models.drawn_clips(named, ["en"])]
    assert 30 < len(everything) < 70
    assert everything == sorted(everything)
    drawn = [[one.name for one in models.drawn_clips(named, ["en"], 10, seed)] for seed in (1, 1, 2)]
    assert len(drawn[0]) == 10
    assert set(drawn[0]) < set(everything)
    assert drawn[0] == drawn[1] != drawn[2]


def test_speech_is_for_calibration_once_and_whatever_its_language_if_none_is_stated() -> None:
    calibrating = {
        one.name for one in models.drawn_clips([clip(f"c{number}") for number in range(100)], ["en"])
    }
    some = sorted(calibrating)[:7]
    kinds = ("read", "zh", "format", "long", "noise", "silence", "singing")
    by_kind = [clip(name, kind) for name, kind in zip(some, kinds, strict=True)]
    assert [one.kind for one in models.drawn_clips(by_kind, ["en"])] == ["read", "zh"]
    spoken = [clip(name, language=language) for name, language in zip(some, ("en", "", "de"), strict=False)]
    assert [one.language for one in models.drawn_clips(spoken, ["en"])] == ["en", ""]
