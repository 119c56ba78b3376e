"""Many windows under many configurations, on several cores."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from signal import SIG_IGN, SIGINT, signal

from as2d.replay.configuration import Configuration
from as2d.replay.costs import Costs
from as2d.replay.score import Score, score
from as2d.replay.simulator import Simulator
from as2d.replay.trace import Provenance, Traces, WindowTrace

Scores = Mapping[Configuration, Sequence[Score]]
"""A score for each window, in the order of the traces."""

_FEWEST_SIMULATIONS = 5_000
"""Windows × configurations for which other processes are worth starting: some seconds of work."""
_CHUNK = 8
"""Windows that a process takes at a time."""


def simulate_all(
    traces: Traces,
    configurations: Sequence[Configuration],
    costs: Costs,
    *,
    prepared: bool = True,
    workers: int = 1,
) -> Scores:
    """Every window under every configuration, in up to `workers` processes (`costs` can be pickled).

    InputError for a cost that was not measured or cannot be, and for a drafter that is not in the traces.
    """
    simulate = partial(
        _simulate_window,
        provenance=traces.provenance,
        configurations=configurations,
        costs=costs,
        prepared=prepared,
    )
    few = len(traces.windows) * len(configurations) < _FEWEST_SIMULATIONS
    rows = list(_mapped(simulate, traces.windows, 1 if few else workers))
    return {one: [row[index] for row in rows] for index, one in enumerate(configurations)}


def _mapped(
    simulate: "partial[list[Score]]", windows: Sequence[WindowTrace], workers: int
) -> Iterator[list[Score]]:
    if workers == 1:
        yield from map(simulate, windows)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _leave_interrupts) as pool:
        yield from pool.map(simulate, windows, chunksize=_CHUNK)


def _leave_interrupts() -> None:
    """Ctrl-C goes to all processes; the first one ends the others."""
    signal(SIGINT, SIG_IGN)


def _simulate_window(
    window: WindowTrace,
    *,
    provenance: Provenance,
    configurations: Sequence[Configuration],
    costs: Costs,
    prepared: bool,
) -> list[Score]:
    simulator = Simulator(window, provenance, costs)
    return [score(window.window, simulator.run(one, prepared=prepared)) for one in configurations]
