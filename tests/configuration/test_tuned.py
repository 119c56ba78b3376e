"""Which entry is for which machine, models and request."""

from dataclasses import replace
from typing import Any

import pytest

from as2d.configuration.tuned import Choice, Entry, Group, Situation, find, mismatch

NOW = "2026-02-01 00:00 UTC"


def situation(entry: Entry, **fields: Any) -> Situation:
    usual: dict[str, Any] = {
        "machine": entry.machine,
        "threads": 2,
        "target": "big-1",
        "drafters": frozenset({"one-1", "two-1"}),
    }
    return Situation(**(usual | fields))


def lookup(entries: list[Entry], group: Group = "english", **fields: Any) -> Entry | None:
    return find(tuple(entries), situation(entries[0], **fields), "transcribe", "throughput", group)


@pytest.mark.parametrize(
    ("choice", "label"),
    [
        (Choice(None, 0, 1, "word"), "target-only"),
        (Choice("one", 5, 1, "word"), "one b5"),
        (Choice("one", 5, 2, 8), "one b5 on 2 cores batch 8"),
        (Choice("one", 11, 1, "word", 0.1), "one b11 floor 0.1"),
    ],
)
def test_a_choice_in_a_few_words(choice: Choice, label: str) -> None:
    assert choice.label == label


def test_an_entry_is_for_one_kind_of_request(entry: Entry) -> None:
    assert lookup([entry]) is entry
    assert lookup([entry], "other") is None
    assert lookup([entry], "any") is None
    assert lookup([replace(entry, task="translate")]) is None
    assert lookup([replace(entry, objective="latency")]) is None


def test_one_for_any_language_serves_where_there_is_none_for_it(entry: Entry) -> None:
    whichever = replace(entry, group="any", date=NOW)
    assert lookup([entry, whichever]) is entry
    assert lookup([entry, whichever], "other") is whichever
    assert lookup([entry, whichever], "any") is whichever


def test_the_one_that_was_chosen_among_more_and_then_the_latest(entry: Entry) -> None:
    narrow = replace(entry, drafters={"one": "one-1"}, date=NOW)
    later = replace(entry, date=NOW)
    assert lookup([entry, narrow]) is entry
    assert lookup([entry, later, narrow]) is later
    assert lookup([narrow, entry], drafters=frozenset({"one-1"})) is narrow


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, None),
        ({"drafters": frozenset({"one-1"})}, None),
        ({"target": "big-2"}, "another target (big)"),
        ({"drafters": frozenset({"two-1"})}, "drafter one may not draft"),
        ({"threads": 1}, "2 cores together, and here are 1"),
        ({"machine": None, "threads": None}, None),
        ({"machine": None, "threads": None, "target": "big-2"}, "another target"),
    ],
)
def test_what_does_not_fit(entry: Entry, fields: dict[str, Any], words: str | None) -> None:
    found = mismatch(entry, situation(entry, **fields))
    assert (found is None) is (words is None)
    assert (words or "") in (found or "")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("cpu", "cpu 2", "processor"),
        ("cores", 4, "number of cores"),
        ("engine", "engine 2", "engine version"),
        ("as2d", "0.2", "version of as2d"),
    ],
)
def test_another_machine(entry: Entry, field: str, value: Any, words: str) -> None:
    other = replace(entry.machine, **{field: value})
    assert mismatch(entry, situation(entry, machine=other)) == f"it is for another {words}"
    assert lookup([entry], machine=other) is None


def test_the_name_of_the_machine_does_not_matter(entry: Entry) -> None:
    assert lookup([entry], machine=replace(entry.machine, host="another")) is entry


def test_the_target_alone_fits_whoever_may_draft(entry: Entry) -> None:
    alone = replace(entry, choice=Choice(None, 0, 1, "word"))
    assert lookup([alone], drafters=frozenset()) is alone


def test_what_is_replaced(entry: Entry) -> None:
    newer = replace(entry, choice=Choice("two", 3, 1, 8), date=NOW, corpus="d", half=None)
    assert newer.replaces(entry)
    for fields in (
        {"threads": 1},
        {"target": ("big", "big-2")},
        {"drafters": {"one": "one-1"}},
        {"task": "translate"},
        {"objective": "latency"},
        {"group": "any"},
        {"machine": replace(entry.machine, cpu="cpu 2")},
    ):
        changed: dict[str, Any] = dict(fields)
        assert not replace(entry, **changed).replaces(entry)
    upgraded = replace(entry, machine=replace(entry.machine, engine="engine 2"))
    assert upgraded.replaces(entry), "an entry of an old version is never used again"
