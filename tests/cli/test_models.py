"""`as2d models`."""

import io
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from as2d.cli import models
from as2d.cli.models import app
from as2d.errors import InputError, ModelNotFoundError
from as2d.evaluation.corpora import Clip
from as2d.models.store import KNOWN, OFFICIAL
from as2d.models.whisper.calibrate import SpokenWindow
from as2d.models.whisper.low_rank import Calibration
from as2d.models.whisper.model import WhisperModel
from as2d.records import SAMPLE_RATE


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AS2D_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def test_list_is_tab_separated_off_a_terminal() -> None:
    result = CliRunner().invoke(app, ["list"])
    assert result.exit_code == 0
    header, *rows = (line.split("\t") for line in result.stdout.splitlines())
    assert header == ["name", "family", "licence", "size", "installed", "from"]
    assert rows[0][:5] == ["whisper-base", "whisper", "MIT", "145 MB", "yes"]
    assert ["Qwen/Qwen3-ASR-1.7B-hf", "qwen3_asr", "Apache-2.0", "4.7 GB", "no", "hub"] in rows
    assert [row[0] for row in rows] == [*KNOWN, *OFFICIAL]


def test_list_says_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "installed", lambda: ("whisper-base",))
    monkeypatch.setattr(models, "pulled", lambda: ("Qwen/Qwen3-ASR-0.6B-hf",))
    rows = [row.split("\t") for row in CliRunner().invoke(app, ["list"]).stdout.splitlines()[1:]]
    assert [row[0] for row in rows if row[4] == "yes"] == ["whisper-base", "Qwen/Qwen3-ASR-0.6B-hf"]
    assert {row[4] for row in rows} == {"yes", "no"}


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


def test_path_of_a_hub_folder(tmp_path: Path) -> None:
    empty = b"\x02" + bytes(7) + b"{}"
    for name, content in (("config.json", b'{"model_type": "whisper"}'), ("model.safetensors", empty)):
        (tmp_path / name).write_bytes(content)
    result = CliRunner().invoke(app, ["path", str(tmp_path)])
    names = ["config.json", "model.safetensors"]
    assert result.stdout.splitlines() == [str(tmp_path / name) for name in names]


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
def test_calibrate_hears_what_is_cut_and_names_what_cannot_be_read(
    passage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = json.loads((passage / "spoken_test-v1.1.json").read_text())
    entries["data"].append({"paragraphs": [{"qas": [{"id": "gone", "question": "?", "answers": []}]}]})
    (passage / "spoken_test-v1.1.json").write_text(json.dumps(entries))
    heard: list[float] = []

    def calibrate(_: WhisperModel, windows: Iterable[SpokenWindow]) -> Calibration:
        heard.extend(len(window.samples) / SAMPLE_RATE for window in windows)
        return Calibration.of(np.eye(4, dtype=np.float32))

    monkeypatch.setattr(models, "calibrate", calibrate)
    out = tmp_path / "head.npz"
    result = CliRunner().invoke(app, ["calibrate", "whisper-tiny.en", str(passage), "--out", str(out)])
    assert result.exit_code == 0
    assert heard == [pytest.approx(11, abs=1)]  # both sentences, once
    assert "warning: test/gone is skipped" in result.stderr


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
