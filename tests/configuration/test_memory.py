"""Drafters that do not fit into memory: what is free, what is needed, and that the target then answers alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from as2d.configuration import drafters
from as2d.configuration.memory import fits, free_bytes
from as2d.session import Session


def system(folder: Path, meminfo: str = "", **group: str) -> tuple[Path, Path]:
    (folder / "meminfo").write_text(meminfo)
    for name, value in group.items():
        (folder / f"memory.{name}").write_text(value)
    return folder / "meminfo", folder


@pytest.mark.parametrize(
    ("meminfo", "group", "free"),
    [
        ("MemFree: 1 kB\nMemAvailable:  2048 kB\n", {}, 2048 * 1024),
        ("MemAvailable: 2048 kB\n", {"max": "max\n", "current": "5\n"}, 2048 * 1024),
        ("MemAvailable: 2048 kB\n", {"max": "1000\n", "current": "400\n"}, 600),
        ("MemAvailable: 2048 kB\n", {"max": "1000\n", "current": "1400\n"}, 0),
        ("something else\n", {}, None),
    ],
)
def test_what_is_free(tmp_path: Path, meminfo: str, group: dict[str, str], free: int | None) -> None:
    assert free_bytes(*system(tmp_path, meminfo, **group)) == free


def test_a_model_needs_twice_its_weights(tmp_path: Path) -> None:
    weights = [tmp_path / "one", tmp_path / "two"]
    for file in weights:
        file.write_bytes(bytes(100))
    assert fits("small", weights, 400)
    assert not fits("small", weights, 399)
    assert fits("small", weights, None)


@pytest.mark.parametrize("method", ["as2d", "speculative", "auto"])
def test_without_memory_for_a_drafter_the_target_answers_alone_and_one_notice_says_so(
    base: Any,
    clips: Mapping[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    method: Any,
) -> None:
    monkeypatch.setattr(drafters, "free_bytes", lambda: 1_000_000)
    with Session(base, "whisper-tiny.en", threads=2) as session:
        result = session.transcribe(clips["jfk"], method=method)
        again = session.transcribe(clips["jfk"], method="target-only")
    assert result.tokens == again.tokens
    assert result.stats.proposed == 0
    notices = [record.getMessage() for record in caplog.records if "MB are free" in record.getMessage()]
    assert len(notices) == 1
    assert "whisper-tiny.en needs about 151 MB and 1 MB are free" in notices[0]
