"""Replay's figures as Markdown. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from as2d.replay.check import Agreement
from as2d.replay.configuration import Configuration
from as2d.replay.oracle import Hindsight, hindsight
from as2d.replay.score import DONE, Clock, Score, pooled_tps
from as2d.replay.sweep import Scores

_SHOWN = 10
"""Configurations in the table, the best ones; and the target alone."""


def standings(scores: Scores, clock: Clock = DONE) -> str:
    """The best configurations by a clock, the target alone, and the oracle."""
    seen = hindsight(scores, clock)
    best = [one for one, _ in seen.fixed[:_SHOWN]]
    shown = [*best, *(one for one in scores if not one.drafted and one not in best)]
    alone = max((pooled_tps(scores[one], clock) for one in scores if not one.drafted), default=None)
    header = ("configuration", "tokens/s", "× target-only", "ms a window", "acceptance", "K=1 rounds")
    table = _table(header, (_standing(one, scores[one], alone, clock) for one in shown))
    return f"{table}\n{_oracle_line(seen)}\n"


def sensitivity(by_factor: Mapping[float, Scores], clock: Clock = DONE) -> str:
    """What is selected where contention is scaled by each factor, and what the selection as measured loses there."""
    measured = by_factor.get(1.0)
    usual = hindsight(measured, clock).fixed[0][0] if measured else None
    header = ("contention ×", "selected", "tokens/s", "selected as measured ÷ selected")
    return _table(header, (_choice(factor, scores, usual, clock) for factor, scores in by_factor.items()))


def agreement_table(agreements: Iterable[tuple[Configuration, Agreement]]) -> str:
    """Replay beside native runs."""
    header = (
        "configuration",
        "windows",
        "native tokens/s",
        "replayed",
        "pooled",
        "signed",
        "absolute",
        "native noise",
    )
    return _table(header, (_agreed(one, each) for one, each in agreements))


def _standing(
    configuration: Configuration, scores: Sequence[Score], alone: float | None, clock: Clock
) -> tuple[str, ...]:
    tps = pooled_tps(scores, clock)
    proposed, rounds = sum(each.proposed for each in scores), sum(each.rounds for each in scores)
    return (
        configuration.key,
        f"{tps:.1f}",
        f"{tps / alone:.2f}" if alone else "—",
        f"{sum(each.latency_ms for each in scores) / len(scores):.0f}",
        f"{sum(each.accepted for each in scores) / proposed:.2f}" if proposed else "—",
        f"{sum(each.k1_rounds for each in scores) / rounds:.0%}",
    )


def _oracle_line(seen: Hindsight) -> str:
    best, tps = seen.fixed[0]
    return f"oracle {seen.tps:.1f} tokens/s; {best.key} reaches {tps / seen.tps:.1%} of it"


def _choice(factor: float, scores: Scores, usual: Configuration | None, clock: Clock) -> tuple[str, ...]:
    selected, tps = hindsight(scores, clock).fixed[0]
    share = f"{pooled_tps(scores[usual], clock) / tps:.1%}" if usual else "—"
    return (f"{factor:g}", selected.key, f"{tps:.1f}", share)


def _agreed(configuration: Configuration, each: Agreement) -> tuple[str, ...]:
    return (
        configuration.key,
        str(each.windows),
        f"{each.native_tps:.1f}",
        f"{each.replayed_tps:.1f}",
        f"{each.pooled:+.1%}",
        f"{each.signed:+.1%}",
        f"{each.absolute:.1%}",
        "—" if each.noise is None else f"{each.noise:.1%}",
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
