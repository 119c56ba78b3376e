"""Errors and noise by hand, and a whole check on toys."""

from collections.abc import Callable
from time import sleep
from typing import Any

import numpy as np
import pytest

from as2d.errors import InputError
from as2d.records import SAMPLE_RATE
from as2d.replay.check import Agreement, agreements, compare, observe
from as2d.replay.configuration import Configuration
from as2d.replay.models import Models
from as2d.replay.score import Score
from as2d.replay.table import agreement_table
from as2d.replay.trace import Provenance
from as2d.runtime.pair import SpeechWindow

SAID = "one two three four five six seven"


def scored(useful: int, ms: float) -> Score:
    return Score("w", useful, ms, ms, ms, 1, 1, 0, 0)


def test_errors_are_of_tokens_a_second() -> None:
    native = [[scored(10, 100.0), scored(10, 90.0), scored(10, 120.0)], [scored(20, 100.0)] * 3]
    found = compare(native, [scored(10, 80.0), scored(20, 110.0)])
    assert found.windows == 2
    assert found.native_tps == pytest.approx(1000 * 30 / 200)
    assert found.replayed_tps == pytest.approx(1000 * 30 / 190)
    assert found.pooled == pytest.approx(200 / 190 - 1)
    first, second = 100 / 80 - 1, 100 / 110 - 1
    assert found.signed == pytest.approx((first + second) / 2)
    assert found.absolute == pytest.approx((first - second) / 2)


def test_noise_is_a_run_against_the_others() -> None:
    found = compare([[scored(10, 100.0), scored(10, 80.0)]], [scored(10, 100.0)])
    assert found.noise == pytest.approx(((1 - 80 / 100) + (100 / 80 - 1)) / 2)
    assert compare([[scored(10, 100.0)]], [scored(10, 100.0)]).noise is None


def test_the_table() -> None:
    found = Agreement(8, 300.0, 310.0, 0.01, 0.05, 0.0333, None)
    line = agreement_table([(Configuration(2), found)]).splitlines()[2]
    assert line == "| target-only 2c | 8 | 300.0 | 310.0 | +3.3% | +1.0% | 5.0% | — |"


class Slow:
    """A model of which every call takes some milliseconds."""

    def __init__(self, model: Any, ms: float) -> None:
        self._model = model
        self._ms = ms

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def open(self, *arguments: Any) -> Any:
        return SlowDecoder(self._model.open(*arguments), self._ms)


class SlowDecoder:
    def __init__(self, decoder: Any, ms: float) -> None:
        self._decoder = decoder
        self._ms = ms

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)

    def forward(self, tokens: Any) -> Any:
        sleep(self._ms / 1000)
        return self._decoder.forward(tokens)


def test_toys_are_replayed_as_they_ran(toy: Callable[..., Any]) -> None:
    """Each call sleeps, so that the times are the same for all, whatever the machine does beside: nearly."""
    target: Any = Slow(toy(SAID), 6.0)
    drafter: Any = Slow(toy(SAID.replace("four", "for"), name="small"), 2.0)
    models = Models("big", target, {"small": drafter}, 2)
    configurations = [Configuration(2), Configuration(1), Configuration(2, ("small",), 7)]
    observed = [
        observe(
            models,
            models.hear(f"w#{index}", SpeechWindow(0, np.zeros(SAMPLE_RATE, np.float32)), "en", "transcribe"),
            configurations,
            2,
            index,
        )
        for index in range(4)
    ]
    found = dict(agreements(observed, models.provenance("c", "transcribe")))
    assert list(found) == configurations
    for each in found.values():
        assert each.windows == 4
        assert each.absolute < 0.3
    assert found[configurations[2]].native_tps > 1.3 * found[configurations[0]].native_tps
    assert found[configurations[2]].replayed_tps > 1.3 * found[configurations[0]].replayed_tps


def test_costs_are_of_other_windows(toy: Callable[..., Any]) -> None:
    """Every second window is ten times as slow, so that no other half can tell the times of this one."""
    observed = []
    for index, ms in enumerate((2.0, 20.0, 2.0, 20.0)):
        target: Any = Slow(toy("one two"), ms)
        models = Models("big", target, {}, 1)
        speech = SpeechWindow(0, np.zeros(SAMPLE_RATE, np.float32))
        heard = models.hear(f"w#{index}", speech, "en", "transcribe")
        observed.append(observe(models, heard, [Configuration(1)], 1, index))
    ((_, found),) = agreements(observed, models.provenance("c", "transcribe"))
    assert found.absolute > 1.0


def test_one_window_is_too_few(provenance: Provenance) -> None:
    with pytest.raises(InputError, match="two windows or more"):
        list(agreements([], provenance))
