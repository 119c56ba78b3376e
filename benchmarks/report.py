"""The measurements as tables on standard output."""

from collections.abc import Mapping, Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.figures import (
    BASELINES,
    CLOCKS,
    DECODERS,
    WHOLE,
    Contender,
    MeasuredClip,
    MeasuredWindow,
    groups,
    languages,
    pooled_tps,
    share,
    slow_share,
    speed_up,
    total_drafting,
    total_seconds,
)
from benchmarks.memory import GROWTH_LIMIT_MB, PEAK_LIMIT_MB, Memory

_LEGEND = (
    "Clocks: decode = first root to the target's end; complete = until the producer has stopped too; call = the whole "
    "call, with the prompt and the producer's start and end; charged = the call and our cross-KV, which "
    "faster-whisper's one clock (prompt, cross-KV and decoding) holds too. A window is slow by its time a token."
)
_WANTED = {Contender.ONE_CORE: 1.7, Contender.TWO_CORES: 1.2, Contender.PEER: 2.5}
"""What the project asks of AS²D against each baseline."""

_console = Console(width=140, highlight=False)


def print_header(header: Mapping[str, str]) -> None:
    """Where and with what the benchmark ran."""
    for name, value in header.items():
        _console.print(f"{name}: {value}", soft_wrap=True, markup=False)


def print_windows(windows: Sequence[MeasuredWindow], budget: int) -> None:
    """Decoding on prepared audio."""
    _console.print(f"\nDecoding on prepared audio, budget {budget}. Windows: {languages(windows)}")
    _console.print(_speeds(windows))
    _console.print(_comparison(windows))
    _console.print(_LEGEND)
    _console.print(_drafting(windows))


def _speeds(windows: Sequence[MeasuredWindow]) -> Table:
    table = _table("Pooled tokens a second", "windows", "clock", *DECODERS)
    for group, members in groups(windows).items():
        for clock in CLOCKS:
            speeds = (f"{pooled_tps(members, contender, clock):.0f}" for contender in DECODERS)
            table.add_row(group, clock, *speeds, end_section=clock == CLOCKS[-1])
    return table


def _comparison(windows: Sequence[MeasuredWindow]) -> Table:
    wanted = (f"{baseline} (wanted ≥ {_WANTED[baseline]})" for baseline in BASELINES)
    table = _table("AS²D ÷ baseline, and windows that AS²D slows down", "windows", "clock", *wanted)
    for group, members in groups(windows).items():
        for clock in CLOCKS:
            cells = (_against(members, baseline, clock) for baseline in BASELINES)
            table.add_row(group, clock, *cells, end_section=clock == CLOCKS[-1])
    return table


def _against(windows: Sequence[MeasuredWindow], baseline: Contender, clock: str) -> str:
    """One cell; cross-KV is part of the preparation for all of ours."""
    if clock == "charged" and baseline is not Contender.PEER:
        return "–"
    return f"{speed_up(windows, baseline, clock):.2f}×, {slow_share(windows, baseline, clock):.1%} slow"


def _drafting(windows: Sequence[MeasuredWindow]) -> Table:
    split = groups(windows)
    table = _table("Drafting, and what was decoded", "", *split)
    columns = [_drafting_figures(members) for members in split.values()]
    for name in columns[0]:
        table.add_row(name, *(column[name] for column in columns))
    return table


def _drafting_figures(windows: Sequence[MeasuredWindow]) -> dict[str, str]:
    count, total = len(windows), total_drafting(windows)
    drafter_cross = [window.drafter_cross_ms for window in windows if window.drafter_cross_ms is not None]
    return {
        "windows": str(count),
        "tokens": str(sum(window.tokens[Contender.AS2D] for window in windows)),
        "identical to target-only": f"{sum(window.identical for window in windows)} of {count}",
        "drafted": f"{sum(window.drafting.drafted for window in windows)} of {count}",
        "acceptance": f"{share(total.accepted, total.proposed):.3f}",
        "coverage": f"{share(total.accepted, total.useful):.3f}",
        "K=1 share of rounds": f"{share(total.k1_rounds, total.rounds):.3f}",
        "tokens a round": f"{share(total.committed, total.rounds):.2f}",
        "runs with a fault of the drafter": str(len(total.faults)),
        "looped / capped windows": f"{_finished(windows, 'repetition')} / {_finished(windows, 'length')}",
        "cross-KV of target / drafter, ms": " / ".join(
            [f"{median(window.target_cross_ms for window in windows):.0f}", _median(drafter_cross)]
        ),
        "faster-whisper says the same": f"{sum(window.peer_agrees for window in windows)} of {count}",
    }


def _finished(windows: Sequence[MeasuredWindow], reason: str) -> int:
    return sum(window.finish_reason == reason for window in windows)


def _median(values: Sequence[float]) -> str:
    return f"{median(values):.0f}" if values else "none"


def print_clips(clips: Sequence[MeasuredClip]) -> None:
    """End to end."""
    english = [clip for clip in clips if clip.language == "en"]
    others = [clip for clip in clips if clip.language != "en"]
    split = {"English": english, "other languages": others, "ALL": clips}
    table = _table("End to end: samples in, text out", "clips", "audio", *WHOLE)
    for group, members in split.items():
        if members:
            table.add_row(*_clip_row(group, members))
    _console.print(table)


def _clip_row(group: str, clips: Sequence[MeasuredClip]) -> list[str]:
    audio = sum(clip.duration_s for clip in clips)
    seconds = [total_seconds(clips, contender) for contender in WHOLE]
    return [
        f"{group} ({len(clips)})",
        f"{audio:.0f} s",
        *(f"{s:.2f} s, RTFx {audio / s:.1f}" for s in seconds),
    ]


def print_memory(memory: Memory) -> None:
    """Peak memory and its growth."""
    _console.print(
        f"Peak memory of the pair: {memory.short_mb:.0f} MB for 30 s, {memory.long_mb:.0f} MB for 10 min "
        f"(limit {PEAK_LIMIT_MB}), growth {memory.growth_mb:+.0f} MB (limit {GROWTH_LIMIT_MB})"
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column)
    return table
