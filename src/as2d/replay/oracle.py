"""The best configuration of each window in hindsight, chosen at no cost: no choice beforehand can surpass it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from as2d.errors import InputError
from as2d.replay.configuration import Configuration
from as2d.replay.score import DONE, Clock, Score, pooled_tps
from as2d.replay.sweep import Scores


@dataclass(frozen=True, slots=True)
class Hindsight:
    """What the oracle makes of some windows. Tokens a second are pooled over all of them.

    `choices` are the best configuration of each window, in their order; `fixed` the pooled tokens a second of each
    configuration for all windows, the best first.
    """

    tps: float
    choices: tuple[Configuration, ...]
    fixed: tuple[tuple[Configuration, float], ...]


def hindsight(scores: Scores, clock: Clock = DONE) -> Hindsight:
    """The oracle over all configurations; of equally fast ones the first. InputError without a window."""
    configurations = tuple(scores)
    rows = list(zip(*scores.values(), strict=True))
    if not rows:
        raise InputError("an oracle needs a window and a configuration; simulate some")
    best = [_fastest(row, clock) for row in rows]
    fixed = [(one, pooled_tps(each, clock)) for one, each in scores.items()]
    return Hindsight(
        tps=pooled_tps((row[index] for row, index in zip(rows, best, strict=True)), clock),
        choices=tuple(configurations[index] for index in best),
        fixed=tuple(sorted(fixed, key=lambda pair: -pair[1])),
    )


def _fastest(row: Sequence[Score], clock: Clock) -> int:
    times: list[float] = [getattr(each, clock) for each in row]
    return times.index(min(times))
