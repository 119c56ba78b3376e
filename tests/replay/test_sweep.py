"""Many windows: in other processes the same as in this one."""

from collections.abc import Callable
from typing import Any

import pytest

from as2d.profiling.costs import Costs
from as2d.profiling.profile import Profile
from as2d.replay import sweep
from as2d.replay.configuration import Configuration
from as2d.replay.costs import Contended
from as2d.replay.score import score
from as2d.replay.simulator import Simulator
from as2d.replay.sweep import simulate_all
from as2d.replay.trace import Provenance, Traces

Make = Callable[..., Any]
CONFIGURATIONS = [Configuration(2), *(Configuration(2, ("one",), budget) for budget in (1, 7))]


@pytest.fixture
def traces(make_trace: Make, make_stream: Make, provenance: Provenance) -> Traces:
    windows = [
        make_trace(range(30, 31 + length), {"one": make_stream([(30,), (31, 32)])}, window=f"w#{length}")
        for length in range(12)
    ]
    return Traces(provenance, tuple(windows))


def test_every_window_under_every_configuration(traces: Traces, flat_costs: Make) -> None:
    costs = flat_costs(slower=1.2)
    scores = simulate_all(traces, CONFIGURATIONS, costs)
    assert list(scores) == CONFIGURATIONS
    for configuration, row in scores.items():
        expected = [
            score(window.window, Simulator(window, traces.provenance, costs).run(configuration))
            for window in traces.windows
        ]
        assert row == expected


def test_several_processes_give_the_same(
    traces: Traces, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = Contended(Costs(profile), 1.5)
    alone = simulate_all(traces, CONFIGURATIONS, costs, prepared=False)
    monkeypatch.setattr(sweep, "_FEWEST_SIMULATIONS", 0)
    assert simulate_all(traces, CONFIGURATIONS, costs, prepared=False, workers=2) == alone
