"""`as2d models`."""

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from as2d.cli import models
from as2d.cli.models import app
from as2d.errors import ModelNotFoundError
from as2d.models.store import KNOWN


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
