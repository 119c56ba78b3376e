"""Who drafts a request: measured once, cached, and without those that fail."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from as2d.configuration import measure, selection
from as2d.configuration.deployed import Deployed
from as2d.configuration.drafters import Drafters, LazySource
from as2d.configuration.method import Evidence, Times, Trial
from as2d.configuration.selection import Selector
from as2d.configuration.tuned import Choice, Entry, Situation
from as2d.decoding.as2d import CoreSplit
from as2d.decoding.methods import TRAITS
from as2d.errors import CancelledError, InputError
from as2d.models.contract import AudioModel
from as2d.records import METHODS, Instruction, Method, UsedMethod

ToyFactory = Callable[..., AudioModel]
TEXT = "Ask not what your country can do."
ENGLISH = Instruction("transcribe", "en")


@pytest.fixture(autouse=True)
def _cache(own_cache: Path) -> None:
    """What is measured here is no one else's business."""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many drafters each measurement was of."""
    calls: list[int] = []
    really = measure.measure

    def count(pair: Any, drafters: Drafters, cancelled: threading.Event) -> Evidence:
        calls.append(len(drafters.sources))
        return really(pair, drafters, cancelled)

    monkeypatch.setattr(measure, "measure", count)
    return calls


def fail() -> None:
    raise RuntimeError("no luck")


def broken() -> AudioModel:
    raise RuntimeError("no luck")


def candidates(*loads: Callable[[], Any], compete: bool = True) -> Drafters:
    sources = (
        LazySource(f"drafter {index}", str(index), load, encodes=True) for index, load in enumerate(loads)
    )
    return Drafters(tuple(sources), compete)


def select(selector: Selector, method: Method = "auto", *, prepared: bool = True) -> selection.Selection:
    return selector.select(method, ENGLISH, prepared=prepared, cancelled=threading.Event())


def test_a_machine_is_measured_once(toy: ToyFactory, measured: list[int]) -> None:
    drafters = candidates(lambda: toy(TEXT), lambda: toy(TEXT))
    evidence = []
    for _ in range(2):
        selector = Selector(toy(TEXT), drafters, 2)
        for method in ("auto", "as2d"):
            for prepared in (True, False):
                assert select(selector, method, prepared=prepared).warnings == ()
        evidence.append(selector._evidence)
    assert measured == [2]
    assert evidence[0] == evidence[1]
    assert evidence[0]
    assert [trial.sources for trial in evidence[0].trials] == [set(), {0}, {1}]
    assert [set(trial.times) for trial in evidence[0].trials] == [{"english"}] * 3


def test_another_machine_model_or_drafter_is_measured_again(toy: ToyFactory, measured: list[int]) -> None:
    one, two = candidates(lambda: toy(TEXT)), candidates(lambda: toy(TEXT), lambda: toy(TEXT))
    together = candidates(lambda: toy(TEXT), lambda: toy(TEXT), compete=False)
    for target, drafters, threads in (
        *((toy(TEXT), one, 1), (toy(TEXT), one, 2), (toy(TEXT, identity="new"), one, 2)),
        *((toy(TEXT), two, 2), (toy(TEXT), together, 2), (toy(TEXT), one, 1)),
    ):
        select(Selector(target, drafters, threads))
    assert measured == [1, 1, 1, 2, 2]


def test_only_a_choice_is_measured(toy: ToyFactory, measured: list[int]) -> None:
    named = Selector(toy(TEXT), candidates(lambda: toy(TEXT), lambda: toy(TEXT), compete=False), 2)
    assert select(named, "target-only").chosen(ENGLISH) == frozenset()
    assert select(named, "as2d").chosen(ENGLISH) == {0, 1}
    assert named.to_prepare(threading.Event())(ENGLISH) == {0, 1}
    assert select(Selector(toy(TEXT), candidates(), 2)).chosen(ENGLISH) == frozenset()
    assert measured == []


@pytest.mark.parametrize(
    ("instruction", "prepared"),
    [
        (Instruction("ask", "en", question="What?"), False),
        (Instruction("transcribe", "de"), True),
        (Instruction("transcribe"), False),  # its encoder may not start before the language is known
    ],
)
def test_what_no_drafter_can_do_is_not_measured(
    toy: ToyFactory, measured: list[int], instruction: Instruction, prepared: bool
) -> None:
    target = toy(TEXT, languages=("de", "en"), tasks=("transcribe", "ask"))
    selector = Selector(target, candidates(lambda: toy(TEXT)), 2)
    found = selector.select("auto", instruction, prepared=prepared, cancelled=threading.Event())
    assert found.chosen(instruction) == frozenset()
    assert measured == []
    select(selector)
    assert measured == [1], "what it can do is measured later"


def failing_step(prefix: Sequence[int]) -> int:
    raise RuntimeError("no luck")


@pytest.mark.parametrize("fields", [{"on_prepare": fail}, {"on_open": fail}, {"says": failing_step}])
def test_a_candidate_that_fails_is_left_out(
    toy: ToyFactory, measured: list[int], fields: dict[str, Any]
) -> None:
    def bad() -> AudioModel:
        return toy(**({"says": TEXT} | fields))

    for _ in range(2):
        selector = Selector(toy(TEXT), candidates(bad, lambda: toy(TEXT)), 2)
        chosen = select(selector, "as2d")
        assert chosen.warnings == ("the drafter drafter 0 is not used: RuntimeError: no luck",)
        assert chosen.chosen(ENGLISH) == {1}
        assert selector.to_prepare(threading.Event())(ENGLISH) == {1}
    assert measured == [2, 2], "what failed today may work tomorrow"


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()
    for thread in threading.enumerate():
        if thread.name == "as2d-producer":
            thread.join(5)


def test_a_candidate_that_hangs_is_left_out(toy: ToyFactory, release: threading.Event) -> None:
    def hang() -> None:
        release.wait(30)

    drafters = candidates(lambda: toy(TEXT, on_prepare=hang), lambda: toy(TEXT))
    chosen = select(Selector(toy(TEXT), drafters, 2), "as2d")
    assert chosen.chosen(ENGLISH) == {1}
    assert "did not stop within 1 s" in chosen.warnings[0]


def test_a_candidate_that_cannot_be_loaded_is_left_out(toy: ToyFactory) -> None:
    chosen = select(Selector(toy(TEXT), candidates(broken, lambda: toy(TEXT)), 2), "as2d")
    assert chosen.chosen(ENGLISH) == {1}
    assert chosen.warnings == ("the drafter drafter 0 is not used: RuntimeError: no luck",)


@pytest.mark.parametrize("compete", [True, False])
def test_known_evidence_does_not_help_a_drafter_that_is_gone(
    toy: ToyFactory, monkeypatch: pytest.MonkeyPatch, compete: bool
) -> None:
    trials = (
        Trial(frozenset(), {"english": Times(100, 100)}),
        Trial(frozenset({0}), {"english": Times(10, 10)}),
    )
    monkeypatch.setattr(selection, "evidence_of", lambda *_: Evidence(trials, {}))
    selector = Selector(toy(TEXT), candidates(broken, compete=compete), 2)
    for _ in range(2):
        chosen = select(selector)
        assert chosen.chosen(ENGLISH) == frozenset()
        assert chosen.warnings == ("the drafter drafter 0 is not used: RuntimeError: no luck",)


def test_a_drafter_by_name_that_cannot_be_loaded_is_an_error_where_as2d_is_asked_for(toy: ToyFactory) -> None:
    with pytest.raises(RuntimeError, match="no luck"):
        select(Selector(toy(TEXT), candidates(broken, compete=False), 2), "as2d")


def test_a_measurement_may_be_cancelled_and_leaves_nothing(toy: ToyFactory, measured: list[int]) -> None:
    def slow(prefix: Sequence[int]) -> int:
        sleep(0.001)
        return ord("a") + len(prefix) % 26

    drafters = candidates(lambda: toy(TEXT))
    cancelled = threading.Event()
    cancelled.set()
    for _ in range(2):
        selector = Selector(toy(slow, limit=100), drafters, 2)
        with pytest.raises(CancelledError):
            selector.select("auto", ENGLISH, prepared=True, cancelled=cancelled)
    assert measured == [1, 1]


@pytest.mark.parametrize(
    ("language", "prepared", "method", "chosen"),
    [
        (None, False, "auto", {1}),
        ("en", False, "auto", {0}),
        (None, True, "auto", {0, 1}),
        (None, False, "as2d", {0, 1}),
    ],
)
def test_no_encoder_starts_for_a_language_that_may_not_be_drafted(
    toy: ToyFactory,
    monkeypatch: pytest.MonkeyPatch,
    language: str | None,
    prepared: bool,
    method: Method,
    chosen: set[int],
) -> None:
    fast, slow, alone = Times(10, 10), Times(50, 50), Times(100, 100)
    trials = (
        Trial(frozenset(), {"english": alone, "other": alone}),
        Trial(frozenset({0}), {"english": fast}),
        Trial(frozenset({1}), {"english": slow, "other": slow}),
    )
    monkeypatch.setattr(selection, "evidence_of", lambda *_: Evidence(trials, {}))
    encoder = LazySource("encoder", "", lambda: toy(TEXT), encodes=True)
    sharing = LazySource("sharing", "", lambda: toy(TEXT), encodes=False)
    selector = Selector(toy(TEXT, languages=("de", "en")), Drafters((encoder, sharing), compete=True), 2)
    found = selector.select(
        method,
        Instruction("transcribe", language),
        prepared=prepared,
        cancelled=threading.Event(),
    )
    assert found.chosen(Instruction("transcribe", language)) == chosen


@pytest.fixture
def rivals(toy: ToyFactory, monkeypatch: pytest.MonkeyPatch) -> Selector:
    """One for English, and one for every language; German was not measured, and nothing pays."""
    alone = Times(10, 10)
    trials = (
        Trial(frozenset(), {"english": alone}),
        Trial(frozenset({0}), {"english": Times(20, 20)}),
        Trial(frozenset({1}), {"english": Times(30, 30)}),
    )
    monkeypatch.setattr(selection, "evidence_of", lambda *_: Evidence(trials, {}))
    languages = ("de", "en")
    drafters = candidates(lambda: toy(TEXT), lambda: toy(TEXT, languages=languages))
    return Selector(toy(TEXT, languages=languages), drafters, 2)


@pytest.mark.parametrize("method", [method for method in METHODS if TRAITS[method].drafts])
def test_every_method_that_drafts_has_the_best_drafter(rivals: Selector, method: UsedMethod) -> None:
    chosen = select(rivals, method).chosen
    assert chosen(ENGLISH) == {0}
    assert select(rivals).chosen(ENGLISH) == frozenset()
    one = TRAITS[method].writes_on
    assert chosen(Instruction("transcribe", "de")) == ({1} if one else {0, 1})


def test_only_methods_in_turn_give_the_drafter_other_cores(rivals: Selector) -> None:
    pairs = {method: rivals.pair_for(method) for method in METHODS}
    shared = [method for method, pair in pairs.items() if pair is rivals.pair]
    assert shared == ["as2d", "target-only", "lookahead", "as2d-without-decoupling", "as2d-without-budget"]
    assert {pairs[method].cores for method in ("speculative", "specasr")} == {CoreSplit(2, 2)}
    assert rivals.pair_for("auto").cores == CoreSplit(2, 1)


@pytest.mark.parametrize("method", METHODS)
def test_what_a_method_needs_is_checked_without_loading_anything(method: UsedMethod) -> None:
    traits = TRAITS[method]
    hears_only = LazySource("ears", "", broken, encodes=False, writes_on=False)
    writes_on = LazySource("writer", "", broken, encodes=True)
    for sources, compete, refused in (
        ((), False, traits.drafts),
        ((hears_only,), False, traits.writes_on),
        ((writes_on,), False, False),
        ((writes_on, writes_on), False, traits.writes_on),
        ((writes_on, writes_on), True, False),
    ):
        selector = Selector(None, Drafters(sources, compete), 2)  # type: ignore[arg-type]
        if refused:
            with pytest.raises(InputError, match=f"the method {method} "):
                selector.check(method)
        else:
            selector.check(method)


def deployed(*entries: Entry) -> Deployed:
    """These entries, which fit."""
    identities = frozenset(entries[0].drafters.values())
    return Deployed(Path("c.json"), entries, Situation(None, None, entries[0].target[1], identities))


@pytest.fixture
def tuned(entry: Entry) -> Entry:
    """For two drafters as `candidates` names them."""
    drafters = {"drafter 0": "0", "drafter 1": "1"}
    return replace(entry, drafters=drafters, choice=Choice("drafter 1", 3, 2, 8))


def test_auto_does_what_was_tuned_and_measures_nothing(
    toy: ToyFactory, tuned: Entry, measured: list[int]
) -> None:
    drafters = candidates(lambda: toy(TEXT), lambda: toy(TEXT))
    selector = Selector(toy(TEXT), drafters, 4, deployed(tuned))
    found = select(selector)
    assert found.chosen(ENGLISH) == {1}
    assert (found.budget, found.batch) == (3, 8)
    assert found.pair.cores == CoreSplit(4, 2)
    assert found.tuned == "drafter 1 b3 on 2 cores batch 8"
    assert select(selector).pair is found.pair
    assert measured == []


def test_what_was_tuned_for_more_cores_takes_all(toy: ToyFactory, tuned: Entry) -> None:
    drafters = candidates(lambda: toy(TEXT), lambda: toy(TEXT))
    assert select(Selector(toy(TEXT), drafters, 1, deployed(tuned))).pair.cores == CoreSplit(1, 1)


def test_tuned_to_the_target_alone_nobody_drafts(toy: ToyFactory, tuned: Entry, measured: list[int]) -> None:
    alone = replace(tuned, choice=Choice(None, 0, 1, "word"))
    found = select(Selector(toy(TEXT), candidates(broken, broken), 2, deployed(alone)))
    assert found.chosen(ENGLISH) == frozenset()
    assert found.tuned == "target-only"
    assert measured == []


def test_what_nothing_was_tuned_for_is_measured(toy: ToyFactory, tuned: Entry, measured: list[int]) -> None:
    drafters = candidates(lambda: toy(TEXT), lambda: toy(TEXT))
    selector = Selector(toy(TEXT), drafters, 2, deployed(tuned))
    assert select(selector, prepared=False).tuned is None
    assert select(selector, "as2d").tuned is None, "auto alone uses it"
    assert measured == [2]


def test_a_tuned_drafter_that_cannot_be_loaded_is_left_out(
    toy: ToyFactory, tuned: Entry, measured: list[int]
) -> None:
    selector = Selector(toy(TEXT), candidates(lambda: toy(TEXT), broken), 2, deployed(tuned))
    found = select(selector)
    assert found.tuned is None
    assert 1 not in found.chosen(ENGLISH)
    assert found.warnings == ("the drafter drafter 1 is not used: RuntimeError: no luck",)
    assert measured == [2]


def test_the_tuned_drafter_is_prepared_beside_the_best_one(rivals: Selector, tuned: Entry) -> None:
    selector = Selector(rivals.target, rivals.drafters, 2, deployed(tuned))
    assert rivals.to_prepare(threading.Event())(ENGLISH) == {0}
    assert selector.to_prepare(threading.Event())(ENGLISH) == {0, 1}
