"""What simulated or native windows add up to. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from as2d.decoding.tally import Tally
from as2d.replay.native import NativeRun
from as2d.replay.simulator import Simulated

Clock = Literal["producer_done_ms", "decode_ms", "latency_ms"]
"""Which of a score's times is asked for."""
DONE: Clock = "producer_done_ms"
"""The usual one: until every drafter has stopped too."""
LATENCY: Clock = "latency_ms"
"""Of the whole answer, with whatever is not prepared."""


@dataclass(frozen=True, slots=True)
class Score:
    """One window under one configuration. Milliseconds; see `simulator.Simulated` for the clocks.

    `useful` tokens are those without the end. `rounds`, `k1_rounds`, `proposed` and `accepted` are as in `records`.
    """

    window: str
    useful: int
    decode_ms: float
    producer_done_ms: float
    latency_ms: float
    rounds: int
    k1_rounds: int
    proposed: int
    accepted: int

    @property
    def tps(self) -> float:
        """Useful tokens a second until every drafter has stopped."""
        return pooled_tps([self])


def score(window: str, simulated: Simulated) -> Score:
    """The figures of a simulated window."""
    tally = Tally.of(simulated.commits)
    return Score(
        window=window,
        useful=tally.useful,
        decode_ms=simulated.decode_ms,
        producer_done_ms=simulated.producer_done_ms,
        latency_ms=simulated.latency_ms,
        rounds=tally.rounds,
        k1_rounds=tally.k1_rounds,
        proposed=tally.proposed,
        accepted=tally.accepted,
    )


def native_score(run: NativeRun) -> Score:
    """The figures of a native run."""
    timed = Simulated(
        run.commits, (), run.decode_ms, run.producer_done_ms, latency_ms=run.ended - run.arrived
    )
    return score(run.window, timed)


def pooled_tps(scores: Iterable[Score], clock: Clock = DONE) -> float:
    """Useful tokens a second of all windows together; 0 without any."""
    tokens, ms = 0, 0.0
    for each in scores:
        tokens += each.useful
        ms += getattr(each, clock)
    return 1000 * tokens / ms if ms else 0.0
