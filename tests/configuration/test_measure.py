"""What is measured on the clips of the package: what somebody can draft, and no oftener than it is worth."""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from as2d.configuration import measure
from as2d.configuration.drafters import drafters_for
from as2d.configuration.method import Evidence
from as2d.models.contract import AudioModel
from as2d.runtime.pair import Pair

ToyFactory = Callable[..., AudioModel]
TEXT = "Ask not what your country can do."


def evidence(target: AudioModel, drafter: AudioModel) -> Evidence:
    drafters = drafters_for(target, drafter)
    return measure.measure(Pair(target, [drafters.sources[0].loaded], 1), drafters, Event())


@pytest.mark.parametrize(
    ("drafts", "kinds"),
    [
        (("transcribe",), {"english"}),
        (("transcribe", "ask"), {"english", "question"}),
        (("ask",), {"question"}),
    ],
)
def test_only_what_somebody_can_draft_is_measured(
    toy: ToyFactory, drafts: tuple[Any, ...], kinds: set[str]
) -> None:
    found = evidence(toy(TEXT, tasks=("transcribe", "ask")), toy(TEXT, tasks=drafts))
    assert [trial.sources for trial in found.trials] == [set(), {0}]
    assert [set(trial.times) for trial in found.trials] == [kinds, kinds]


@pytest.mark.parametrize(("enough_ms", "runs"), [(1e9, 2 + 3), (0, 1 + 1)])
def test_what_takes_long_is_not_timed_again(
    toy: ToyFactory, monkeypatch: pytest.MonkeyPatch, enough_ms: float, runs: int
) -> None:
    monkeypatch.setattr(measure, "_ENOUGH_MS", enough_ms)
    opened: list[None] = []
    target = toy(TEXT, on_open=lambda: opened.append(None))
    evidence(target, toy(TEXT))
    assert len(opened) == 2 * runs  # alone, and with the drafter
