"""How all pictures look: a fixed style, and Okabe and Ito's colours, which colour-blind readers tell apart."""

from collections.abc import Mapping
from typing import Any

from as2d.evaluation.analysis.labels import label
from as2d.evaluation.rows import Row
from as2d.extras import import_optional

BLACK, ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY, PALE = "#999999", "#E8E8E8"

STYLE: dict[str, Any] = {
    "figure.figsize": (9.0, 4.6),
    "savefig.dpi": 160,
    "savefig.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "svg.hashsalt": "as2d",
}

METHOD_COLOURS = {
    "target-only": BLACK,
    "speculative": ORANGE,
    "specasr": PURPLE,
    "lookahead": SKY,
    "as2d": BLUE,
}

ORIGIN_COLOURS: dict[str, str] = {"accepted": GREEN, "corrected": VERMILLION, "bonus": SKY, "alone": GREY}


def colour(row: Row) -> str:
    """Of a contender, by one of its rows."""
    if row.method == "target-only" and row.cores == 1:
        return GREY
    return METHOD_COLOURS[row.method]


def name(row: Row) -> str:
    """Of a contender, by one of its rows; target-only with its cores."""
    text = label(row.method, row.drafter, row.budget)
    if row.drafter is not None:
        return text
    return f"{text}, {row.cores} core{'s' if row.cores > 1 else ''}"


def add_legend(figure: Any, colours: Mapping[str, str], columns: int) -> None:
    """Above everything else: what each colour means."""
    patch = import_optional("matplotlib.patches", "bench").Patch
    handles = [patch(color=shade, label=text) for text, shade in colours.items()]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=columns, columnspacing=1.4, handlelength=1.2
    )
