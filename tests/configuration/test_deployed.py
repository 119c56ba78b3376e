"""What a session finds in a file of configurations, and what is said where it finds nothing."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from as2d.configuration.deployed import Deployed, deploy
from as2d.configuration.drafters import Drafters, LazySource
from as2d.configuration.file import default_file, merge_entries
from as2d.configuration.tuned import Choice, Entry
from as2d.errors import InputError
from as2d.models.contract import AudioModel
from as2d.profiling.machine import this_machine
from as2d.records import Instruction

ToyFactory = Callable[..., AudioModel]
ENGLISH, GERMAN, UNKNOWN = (Instruction("transcribe", language) for language in ("en", "de", None))


@pytest.fixture
def here(entry: Entry) -> Entry:
    """An entry for this machine."""
    return replace(entry, machine=this_machine())


@pytest.fixture
def target(toy: ToyFactory) -> AudioModel:
    return toy("hi", identity="big-1")


def drafters(*identities: str, compete: bool = True) -> Drafters:
    def load() -> AudioModel:
        raise RuntimeError("nobody is to be loaded")

    return Drafters(tuple(LazySource(one, one, load, encodes=True) for one in identities), compete=compete)


def default(target: AudioModel, entries: list[Entry], *identities: str, threads: int = 2) -> Deployed | None:
    """What is found in the default place once these entries are there."""
    if entries:
        default_file().parent.mkdir(exist_ok=True)
        merge_entries(default_file(), entries)
    return deploy(None, target, drafters(*identities), threads)


def test_without_a_file_nothing_is_found_or_said(
    target: AudioModel, caplog: pytest.LogCaptureFixture
) -> None:
    assert default(target, [], "one-1") is None
    assert not caplog.records


def test_a_request_finds_what_is_for_it(target: AudioModel, here: Entry) -> None:
    entries = [
        here,
        replace(here, group="other", choice=Choice("two", 2, 1, 8)),
        replace(here, objective="latency", group="any", choice=Choice(None, 0, 1, "word")),
        replace(here, task="translate", group="any", choice=Choice("two", 9, 1, "word")),
    ]
    found = default(target, entries, "one-1", "two-1")
    assert found
    for instruction, prepared, label in (
        (ENGLISH, True, "one b5"),
        (GERMAN, True, "two b2 batch 8"),
        (UNKNOWN, True, None),
        (ENGLISH, False, "target-only"),
        (UNKNOWN, False, "target-only"),
        (Instruction("translate", "de"), True, "two b9"),
        (Instruction("translate", "de"), False, None),
    ):
        entry = found.find(instruction, prepared=prepared)
        assert (entry and entry.choice.label) == label


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    return [(record.levelno, record.getMessage()) for record in caplog.records]


@pytest.mark.parametrize(
    ("identities", "threads", "words"),
    [(("one-1",), 1, "2 cores together"), (("two-1",), 2, "drafter one may not draft")],
)
def test_that_a_file_does_not_fit_is_said_once(
    target: AudioModel,
    here: Entry,
    caplog: pytest.LogCaptureFixture,
    identities: tuple[str, ...],
    threads: int,
    words: str,
) -> None:
    found = default(target, [here], *identities, threads=threads)
    assert found
    assert not caplog.records, "a request that drafts nothing has no use for it"
    for _ in range(2):
        assert found.find(ENGLISH, prepared=True) is None
    ((level, message),) = said(caplog)
    assert level == logging.WARNING
    assert words in message
    assert "run `as2d tune` here" in message


def test_that_a_request_is_not_provided_for_is_said_once(
    target: AudioModel, here: Entry, caplog: pytest.LogCaptureFixture
) -> None:
    found = default(target, [here], "one-1")
    assert found
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            assert found.find(UNKNOWN, prepared=False) is None
    ((level, message),) = said(caplog)
    assert level == logging.INFO
    assert "transcribe, latency, any language" in message


def test_drafters_that_draft_together_are_not_what_was_tuned(target: AudioModel, here: Entry) -> None:
    default(target, [here])
    found = deploy(None, target, drafters("one-1", "two-1", compete=False), 2)
    assert found
    assert found.find(ENGLISH, prepared=True) is None
    alone = deploy(None, target, drafters("one-1", compete=False), 2)
    assert alone
    assert alone.find(ENGLISH, prepared=True) == here


@pytest.mark.parametrize("text", ["{", '{"schema": 2, "entries": []}'])
def test_a_bad_file_in_the_default_place_is_said_and_not_used(
    target: AudioModel, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    default_file().parent.mkdir()
    default_file().write_text(text, encoding="utf-8")
    assert deploy(None, target, drafters("one-1"), 2) is None
    ((level, message),) = said(caplog)
    assert level == logging.WARNING
    assert "auto measures the machine instead" in message


def test_a_file_that_is_named_may_be_of_another_machine(
    target: AudioModel, entry: Entry, tmp_path: Path
) -> None:
    merge_entries(tmp_path / "c.json", [entry])
    found = deploy(tmp_path / "c.json", target, drafters("one-1"), 1)
    assert found
    assert found.find(ENGLISH, prepared=True) == entry


@pytest.mark.parametrize("entries", [0, 1])
def test_a_file_that_is_named_must_be_of_these_models(
    target: AudioModel, entry: Entry, tmp_path: Path, entries: int
) -> None:
    merge_entries(tmp_path / "c.json", [entry][:entries])
    with pytest.raises(InputError, match="run `as2d tune`, or name another file"):
        deploy(tmp_path / "c.json", target, drafters("two-1"), 2)


def test_a_file_that_is_named_must_be_sound(target: AudioModel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        deploy(tmp_path / "none.json", target, drafters("one-1"), 2)
