"""Drafters that do not fit into memory beside their target: it then answers alone, and one notice says so."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from as2d.configuration import drafters
from as2d.configuration.drafters import drafters_for
from as2d.configuration.memory import ABSENT, Room
from as2d.models import memory
from as2d.session import Session


def test_what_one_drafter_takes_the_next_has_not(caplog: pytest.LogCaptureFixture) -> None:
    room = Room(400)
    assert [room.takes("first", 300), room.takes("second", 200), room.takes("third", 100)] == [
        True,
        False,
        True,
    ]
    assert not room.takes("fourth", 1)
    assert ["second" in caplog.messages[0], "fourth" in caplog.messages[1]] == [True, True]
    assert Room(None).takes("any", 1 << 60)


def test_several_drafters_share_what_is_free(base: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafters, "free_bytes", lambda device: 200_000_000)
    found = drafters_for(base, ["whisper-tiny.en", "whisper-tiny.en", "self"])
    assert [source.identity == ABSENT for source in found.sources] == [False, True, False]


@pytest.mark.parametrize("method", ["as2d", "speculative", "auto"])
def test_without_memory_for_a_drafter_the_target_answers_alone_and_one_notice_says_so(
    base: Any,
    clips: Mapping[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    method: Any,
) -> None:
    monkeypatch.setattr(drafters, "free_bytes", lambda device: 1_000_000)
    with Session(base, "whisper-tiny.en", threads=2) as session:
        result = session.transcribe(clips["jfk"], method=method)
        again = session.transcribe(clips["jfk"], method="target-only")
    assert result.tokens == again.tokens
    assert result.stats.proposed == 0
    notices = [message for message in caplog.messages if "MB are free" in message]
    assert len(notices) == 1
    assert "whisper-tiny.en needs about 113 MB of memory and 1 MB are free" in notices[0]


def test_a_drafter_that_finds_less_memory_than_there_was_stays_away(
    base: Any,
    clips: Mapping[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Session(base, "whisper-tiny.en", threads=2) as session:
        monkeypatch.setattr(memory, "free_bytes", lambda device: 1_000_000)
        results = [session.transcribe(clips["jfk"], method="as2d") for _ in range(2)]
    assert [result.stats.proposed for result in results] == [0, 0]
    assert "ask not what your country" in results[0].text
    assert len([message for message in caplog.messages if "1 MB are free" in message]) == 1
