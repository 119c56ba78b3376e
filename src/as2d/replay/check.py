"""How far replay is from native runs: costs come from other windows than those that are compared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from as2d.errors import InputError
from as2d.replay.calibration import calibrate
from as2d.replay.configuration import Configuration
from as2d.replay.models import Heard, Models
from as2d.replay.native import NativeRun, run_native
from as2d.replay.record import record
from as2d.replay.score import Score, native_score, score
from as2d.replay.simulator import Simulator
from as2d.replay.trace import Provenance, WindowTrace

_FOLDS = 2


@dataclass(frozen=True, slots=True)
class Observed:
    """A window as it was recorded, and its native runs under each configuration."""

    trace: WindowTrace
    runs: Mapping[Configuration, Sequence[NativeRun]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Replay against native runs, over windows. Tokens a second (TPS) are useful ones until every drafter has stopped.

    A window's native TPS is the median of its runs. The errors are fractions of it: `signed` and `absolute` are means
    over windows, `pooled` is that of all tokens over all time. `noise` is the mean absolute error of one native run
    against the median of the other runs of its window; None where windows were run once.
    """

    windows: int
    native_tps: float
    replayed_tps: float
    signed: float
    absolute: float
    pooled: float
    noise: float | None


def observe(
    models: Models, heard: Heard, configurations: Sequence[Configuration], repetitions: int, first: int
) -> Observed:
    """Record a window and run it natively: all configurations in alternation, another one `first` each time."""
    trace = record(models, heard)
    runs: dict[Configuration, list[NativeRun]] = {one: [] for one in configurations}
    for one in configurations:
        run_native(models, heard, one)  # nothing is to be loaded or allocated in a run that counts
    for repetition in range(repetitions):
        for one in _rotated(configurations, first + repetition):
            runs[one].append(run_native(models, heard, one))
    return Observed(trace, runs)


def agreements(
    observed: Sequence[Observed], provenance: Provenance
) -> Iterator[tuple[Configuration, Agreement]]:
    """Replay every window, each with useful tokens, with costs from the windows of the other half.

    InputError for fewer than two windows.
    """
    if len(observed) < _FOLDS:
        raise InputError(
            "costs come from other windows than those that are compared; check two windows or more"
        )
    replayed = [_replayed(observed, index, provenance) for index in range(_FOLDS)]
    for one in observed[0].runs:
        native = [[native_score(run) for run in window.runs[one]] for window in observed]
        yield one, compare(native, [replayed[index % _FOLDS][index][one] for index in range(len(observed))])


def compare(native: Sequence[Sequence[Score]], replayed: Sequence[Score]) -> Agreement:
    """Some windows, each with its native runs and replayed once."""
    medians = [median(run.tps for run in runs) for runs in native]
    errors = [one.tps / tps - 1 for one, tps in zip(replayed, medians, strict=True)]
    useful = sum(one.useful for one in replayed)
    native_ms = sum(median(run.producer_done_ms for run in runs) for runs in native)
    native_tps = 1000 * useful / native_ms
    replayed_tps = 1000 * useful / sum(one.producer_done_ms for one in replayed)
    return Agreement(
        windows=len(replayed),
        native_tps=native_tps,
        replayed_tps=replayed_tps,
        signed=fmean(errors),
        absolute=fmean(map(abs, errors)),
        pooled=replayed_tps / native_tps - 1,
        noise=_noise(native),
    )


def _replayed(
    observed: Sequence[Observed], fold: int, provenance: Provenance
) -> dict[int, dict[Configuration, Score]]:
    """The windows of a fold, with the costs of the others."""
    others = [window for index, window in enumerate(observed) if index % _FOLDS != fold]
    runs = [run for window in others for some in window.runs.values() for run in some]
    costs = calibrate(provenance.target, runs, (window.trace for window in others))
    return {
        index: _simulated(window, Simulator(window.trace, provenance, costs))
        for index, window in enumerate(observed)
        if index % _FOLDS == fold
    }


def _simulated(window: Observed, simulator: Simulator) -> dict[Configuration, Score]:
    return {one: score(window.trace.window, simulator.run(one)) for one in window.runs}


def _noise(native: Sequence[Sequence[Score]]) -> float | None:
    errors = [
        abs(run.tps / median(other.tps for other in (*runs[:index], *runs[index + 1 :])) - 1)
        for runs in native
        if len(runs) > 1
        for index, run in enumerate(runs)
    ]
    return fmean(errors) if errors else None


def _rotated(configurations: Sequence[Configuration], by: int) -> list[Configuration]:
    first = by % len(configurations)
    return [*configurations[first:], *configurations[:first]]
