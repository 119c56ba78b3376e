"""`as2d models pull`, with a hub on this machine: what it says, whom it asks, and how it ends."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from as2d.cli import main

NAME = "owner/name"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Somebody sits at a terminal; what they type is what is written here."""
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    return terminal


def test_the_licence_and_size_come_first_and_the_folder_last(
    hub: Any, own_hub_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "pull", NAME, "--yes"]) == 0
    out, err = capsys.readouterr()
    (folder,) = out.splitlines()
    assert (Path(folder) / "model.safetensors").is_file()
    assert Path(folder).is_relative_to(own_hub_cache)
    assert err.splitlines()[0] == (
        f"as2d: {NAME}: whisper, licence mit, 120 kB, of which 120 kB to download to "
        f"{own_hub_cache / 'models--owner--name'}"
    )


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("Yes\n", 0), ("n\n", 2), ("\n", 2), ("", 2)])
def test_at_aterminal_it_asks(
    hub: Any, terminal: io.StringIO, answer: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.write(answer)
    terminal.seek(0)
    assert main(["models", "pull", NAME]) == status
    assert "licence mit" in (err := capsys.readouterr().err)
    assert err.index("licence mit") < err.index("Download? [y/N]")
    assert bool(hub.requests) == (status == 0)


def test_without_aterminal_it_wants_yes(hub: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "pull", NAME]) == 2
    assert "pass --yes" in capsys.readouterr().err
    assert hub.requests == []


def test_what_is_here_needs_no_consent(hub: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "pull", NAME, "--yes"]) == 0
    first = capsys.readouterr().out
    hub.requests.clear()
    assert main(["models", "pull", NAME]) == 0
    again = capsys.readouterr()
    assert again.out == first
    assert "of which 0 kB to download" in again.err
    assert hub.requests == []


@pytest.mark.parametrize("arguments", [["--offline", "--yes"], ["--yes"]])
def test_offline_it_refuses(
    hub: Any, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--offline" not in arguments:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub.status = 500  # it would say so
    assert main(["models", "pull", NAME, *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "offline" in line.lower()


@pytest.mark.parametrize(("fault", "message"), [("status", "answered 404"), ("corrupt", "arrived damaged")])
def test_a_failure_is_one_line_and_status_2(
    hub: Any, fault: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if fault == "status":
        hub.error_code = "EntryNotFound"
        hub.status = 404
    hub.corrupt = fault == "corrupt"
    assert main(["models", "pull", NAME, "--yes"]) == 2
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("as2d: error: ")
    assert message in last
