"""What contenders are called in tables and pictures. Pure."""

from as2d.evaluation.analysis.choice import MEAN_WIDTHS, TAKES_TURNS

_NAMES = {
    "specasr": "SpecASR",
    "as2d": "AS²D",
    "as2d-without-decoupling": "AS²D without decoupling",
    "as2d-without-budget": "AS²D without budget",
}


def label(method: str, drafter: str | None, budget: int | None) -> str:
    """Such as "AS²D (self, b = 7)"; for standard speculation K = budget + 1, or the mean over the paper's K."""
    return f"{_NAMES.get(method, method)}{_settings(method, drafter, budget)}"


def _settings(method: str, drafter: str | None, budget: int | None) -> str:
    if drafter is None:
        return ""
    rule = _width(budget) if method == "speculative" else budget and f"b = {budget}"
    return f" ({', '.join(part for part in (drafter, rule) if part)})"


def _width(budget: int | None) -> str:
    return f"K = {MEAN_WIDTHS[0]}–{MEAN_WIDTHS[-1]}" if budget is None else f"K = {budget + 1}"


def core_split(method: str, cores: int, drafter: str | None, drafter_cores: int) -> str:
    """The target's cores while somebody drafts, and the drafters': "1 + 1" side by side, "2, 1" in turn."""
    if drafter is None:
        return str(cores)
    if method in TAKES_TURNS:
        return f"{cores}, {drafter_cores}"
    drafting = drafter_cores * len(drafter.split("+"))
    return f"{max(1, cores - drafting)} + {drafting}"
