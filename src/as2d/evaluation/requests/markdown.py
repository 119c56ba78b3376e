"""Tables as Markdown. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from as2d.evaluation.analysis.bootstrap import Interval

DASH = "–"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The first column to the left, the others to the right."""
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def header_lines(header: Mapping[str, str]) -> str:
    """What a reader must know, a line each."""
    return "\n".join(f"* {name}: {text}" for name, text in header.items())


def number(value: float | None, form: str) -> str:
    """A number, or a dash."""
    return DASH if value is None else format(value, form)


def interval(found: Interval | None, form: str = ".2f") -> str:
    """A figure with its 95% interval, as far as there is one."""
    if found is None:
        return DASH
    if found.low is None or found.high is None:
        return format(found.value, form)
    return f"{found.value:{form}} [{found.low:{form}}, {found.high:{form}}]"
