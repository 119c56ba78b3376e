"""How late the text of a stream was, and the memory, over the audio."""

from collections.abc import Sequence
from typing import Any

from as2d.evaluation.plots.style import BLACK, BLUE, ORANGE
from as2d.evaluation.requests.streaming import Block, Text


def draw_streaming(figure: Any, texts: Sequence[Text], blocks: Sequence[Block]) -> None:
    """Two panels over the seconds of audio: the lag of every text, and the memory after every block."""
    lags, memory = figure.subplots(2, sharex=True, height_ratios=(2, 1))
    for kind, colour, marker in (("tentative", ORANGE, "."), ("stable", BLUE, "o")):
        shown = [text for text in texts if text.kind == kind]
        places, values = [text.end_s for text in shown], [text.lag_ms for text in shown]
        lags.plot(
            places, values, color=colour, marker=marker, markersize=5, linewidth=0.8, label=f"{kind} text"
        )
    lags.set_ylabel("lag, ms")
    known = [(block.end_s, block.memory_mb) for block in blocks if block.memory_mb is not None]
    memory.plot([place for place, _ in known], [held for _, held in known], color=BLACK, linewidth=1.2)
    memory.set_ylabel("memory, MB")
    memory.set_xlabel("audio, s")
    memory.set_xlim(left=0)
    for axes in (lags, memory):
        axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    figure.legend(*lags.get_legend_handles_labels(), loc="outside upper center", ncols=2)
