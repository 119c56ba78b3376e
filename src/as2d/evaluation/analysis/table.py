"""The summary of a bench as Markdown. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from as2d.evaluation.analysis.labels import core_split, label

Figures = Mapping[str, Any]
Cell = Callable[[Figures], str]

_DASH = "–"

_ACCURACIES = {
    "wer": ("WER, %", 100),
    "cer": ("CER, %", 100),
    "bleu": ("BLEU", 1),
    "chrf": ("chrF", 1),
    "exact_match": ("exact match, %", 100),
    "f1": ("F1, %", 100),
}
"""The columns of accuracy: what each is called, and times what it is shown."""

_LEGEND = """\
**Speed.** tok/s: useful tokens (without end-of-text) of all windows over their decode time, from the first
root ready until target and drafters have all stopped; [95% bootstrap interval over windows]. Ratios are of
tok/s on the windows that both ran, drawn in pairs. *Best serial*: the fastest, known in hindsight, of
standard speculation (every K) and SpecASR with every drafter and core split that ran these windows. *Slow*:
share of windows that take more time a token than target-only. *Cores*: of target + drafters side by side; of
target, drafter in turn. Each contender is shown on its fastest core split. K = 5–8 is the paper's mean of
standard speculation: of the time a token over K = 5, 6, 7, 8; b: most candidates a round, K = b + 1. SpecASR
is a reconstruction.

**Drafting.** Acceptance: accepted / proposed. Coverage: accepted / useful tokens. K = 1: rounds without a
candidate. Drafting share: of the decode time of methods that take turns. Hidden: share of the drafter's time
in which the target computed too.

**Overlap.** Milliseconds for each useful token: a drafter computes (D), the target computes (V), both at once
(O, counted in both), neither (H); T = D + V − O + H. Overlap pays exactly when ΔO > ΔD + ΔV + ΔH. Ideal:
max(D, V) + H.

**Cost and answers.** Target's clock: the same until the target's end, whether or not drafters have stopped.
Response: from the call on prepared audio to the last token, with prompts and the start and end of drafters;
percentiles over windows. CPU: processor time of the whole process. WER, CER: word error rate, or character
error rate in languages without spaces (on so many clips with a reference). BLEU, chrF: of translations, by
sacrebleu with the signatures above. Exact match, F1: of answers to questions, as SQuAD counts them. These have
[95% bootstrap intervals over clips]. Identical: windows in which every run gave exactly the tokens of
target-only."""


def markdown(summary: Mapping[str, Any]) -> str:
    """The report: header, tables of each group, what it all means. `summary` is what `summarise` gives."""
    blocks = ["# as2d bench", _header(summary)]
    for name, group in _distinct_groups(summary["groups"]).items():
        blocks += _group(name, group)
    whole = summary["groups"]["all"]
    blocks += ["## Cost and answers, all windows", _costs(whole, summary["accuracies"]), *_notes(summary)]
    return "\n\n".join([*blocks, "## Legend", _LEGEND]) + "\n"


def _distinct_groups(groups: Mapping[str, Figures]) -> dict[str, Figures]:
    """Without a group that is all there is."""
    windows = groups["all"]["windows"]
    return {
        name: group
        for name, group in groups.items()
        if name not in {"English", "other languages"} or group["windows"] < windows
    }


def _header(summary: Mapping[str, Any]) -> str:
    header = summary["header"]
    lines = {
        "Task": header["task"],
        "Host": "; ".join(header["host"]),
        "Commit": ", ".join(header["commit"]),
        "Versions": _listed(header["versions"]),
        "Corpus": f"{', '.join(header['corpus'])}: {header['clips']} clips, {header['windows']} windows, "
        f"{header['seconds']:.0f} s ({_listed(header['languages'])}; {_listed(header['kinds'])})",
        "Repetitions": f"at least {header['repetitions']}, medians",
        "Looped, capped": f"{header['looped']} and {header['capped']} windows, included",
        "Skipped": f"{len(summary['skipped'])} clips"
        + "".join(f"; {reason}" for reason in summary["skipped"]),
    }
    return "\n".join(f"* {name}: {text}" for name, text in lines.items())


def _listed(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _group(name: str, group: Figures) -> list[str]:
    ours = [figures for figures in _shown(group) if not figures["peer"]]
    peers = [figures for figures in _shown(group) if figures["peer"]]
    drafters = [figures for figures in ours if figures["drafter"]]
    return [
        f"## {name[0].upper()}{name[1:]} ({group['windows']} windows)",
        _speeds(ours),
        *(
            [f"Other programs; their clocks may hold more than decoding:\n\n{_speeds(peers)}"]
            if peers
            else []
        ),
        *([_draftings(drafters)] if drafters else []),
        *_overlaps(group),
    ]


def _shown(group: Figures) -> list[Figures]:
    return [group["contenders"][key] for key in group["shown"]]


def _speeds(contenders: Sequence[Figures]) -> str:
    best = max((figures["tps"]["value"] for figures in contenders if figures["tps"]), default=None)
    return _table(
        {
            "contender": _label,
            "cores": _cores,
            "windows": lambda figures: str(figures["windows"]),
            "tok/s": lambda figures: _speed(figures["tps"], best),
            "÷ one core": lambda figures: _interval(figures["ratio_one_core"], ".2f"),
            "÷ all cores": lambda figures: _interval(figures["ratio_all_cores"], ".2f"),
            "÷ best serial": lambda figures: _interval(figures["ratio_serial"], ".2f"),
            "slow, one core": lambda figures: _value(figures["slow_one_core"], ".1%"),
            "slow, all cores": lambda figures: _value(figures["slow_all_cores"], ".1%"),
        },
        contenders,
    )


def _speed(tps: Mapping[str, float] | None, best: float | None) -> str:
    text = _interval(tps, ".0f")
    return (
        text.replace(head := text.split(" ")[0], f"**{head}**", 1) if tps and tps["value"] == best else text
    )


def _draftings(contenders: Sequence[Figures]) -> str:
    return _table(
        {
            "contender": _label,
            "acceptance": _plain("acceptance", ".3f"),
            "coverage": _plain("coverage", ".3f"),
            "K = 1": _plain("k1_share", ".1%"),
            "tokens a round": _plain("tokens_a_round", ".2f"),
            "drafting share": _plain("drafting_share", ".1%"),
            "hidden": _plain("hidden_share", ".1%"),
        },
        contenders,
    )


def _costs(group: Figures, accuracies: Mapping[str, Figures]) -> str:
    keyed = [{**group["contenders"][key], **accuracies.get(key, {})} for key in group["shown"]]
    columns: dict[str, Cell] = {
        "contender": _label,
        "cores": _cores,
        "tok/s, target's clock": lambda figures: _value(figures["tps_decode"], ".0f"),
        "response p50, ms": _plain("call_p50_ms", ".0f"),
        "p95, ms": _plain("call_p95_ms", ".0f"),
        "CPU ms a token": _plain("cpu_s_a_token", ".2f", 1000),
    }
    optional = {
        "mJ a token": ("energy_j_a_token", ".1f", 1000),
        "peak memory, MB": ("peak_memory_mb", ".0f", 1),
    }
    columns |= {
        name: _plain(field, form, scale)
        for name, (field, form, scale) in optional.items()
        if any(figures[field] is not None for figures in keyed)
    }
    columns |= {
        title: partial(_accuracy, field=field, scale=scale)
        for field, (title, scale) in _ACCURACIES.items()
        if any(figures.get(field) is not None for figures in keyed)
    }
    columns["identical"] = lambda figures: f"{figures['identical']} of {figures['windows']}"
    return _table(columns, keyed)


def _accuracy(figures: Figures, field: str, scale: float) -> str:
    """A cell with a figure of accuracy, its interval where it has one, and on how many clips."""
    if figures.get(field) is None:
        return _DASH
    limits, clips = (
        [figures.get(f"{field}_{part}") for part in ("low", "high")],
        figures.get(f"{field}_clips"),
    )
    scaled = [None if limit is None else scale * limit for limit in limits]
    text = _interval({"value": scale * figures[field], "low": scaled[0], "high": scaled[1]}, ".1f")
    return text + ("" if clips is None else f" ({clips})")


def _signatures(accuracies: Mapping[str, Figures]) -> list[str]:
    """How sacrebleu counted, the same for all contenders."""
    told = {
        f"{title}: `{figures[f'{field}_signature']}`"
        for figures in accuracies.values()
        for field, (title, _) in _ACCURACIES.items()
        if f"{field}_signature" in figures
    }
    return sorted(told)


def _notes(summary: Mapping[str, Any]) -> list[str]:
    contenders = summary["groups"]["all"]["contenders"].values()
    ours = [figures for figures in contenders if not figures["peer"] and not figures["mean_over_k"]]
    identical, windows = (sum(figures[field] for figures in ours) for field in ("identical", "windows"))
    notes = [f"identical: {identical} of {windows}"]
    different = [_label(figures) for figures in ours if figures["identical"] < figures["windows"]]
    if different:
        notes.append(f"Not identical to target-only: {', '.join(different)}.")
    if all(figures["energy_j_a_token"] is None for figures in contenders):
        notes.append("Energy: absent, since this machine exposes no counter.")
    if faults := sum(figures["faults"] for figures in ours):
        notes.append(f"Faults of drafters, which cost time only: {faults}.")
    notes += _signatures(summary["accuracies"])
    notes += [f"{peer}: {_DASH} ({reason})" for peer, reason in summary["missing_peers"].items()]
    return notes


def _overlaps(group: Figures) -> list[str]:
    compared = [one for one in group["overlap"] if one["contender"] in group["shown"]]
    if not compared:
        return []
    return [_parts(compared, group), "\n".join(f"* {_verdict(one, group)}" for one in compared)]


def _parts(compared: Iterable[Figures], group: Figures) -> str:
    """The parts of the time of all contenders that are compared, each once."""
    sides = (("serial", "serial_parts"), ("contender", "overlapping_parts"))
    rows = {
        one[key]: {**group["contenders"][one[key]], **one[side]} for key, side in sides for one in compared
    }
    names = {"D": "draft", "V": "verify", "O": "overlap", "H": "rest", "T": "total"}
    columns = {name: _plain(field, ".2f") for name, field in names.items()}
    return _table({"ms a token": _label, "cores": _cores, **columns}, rows.values())


def _verdict(compared: Figures, group: Figures) -> str:
    who, against = (_label(group["contenders"][compared[key]]) for key in ("contender", "serial"))
    ahead, serial = compared["overlapping_parts"], compared["serial_parts"]
    overlap, draft, verify = (ahead[part] - serial[part] for part in ("overlap", "draft", "verify"))
    costs = f"ΔD {draft:+.2f}, ΔV {verify:+.2f}, ΔH {compared['overhead']:+.2f}"
    outcome = "pays" if compared["pays"] else "does not pay"
    saved = f"{abs(compared['gain']):.2f} ms a token {'saved' if compared['pays'] else 'lost'}"
    models = "agrees" if compared["explained"] else "does not agree, the rest decides"
    return (
        f"{who} against {against}: overlap {outcome}, ΔO {overlap:+.2f} against {costs}; {saved}. "
        "The time in the models alone "
        f"(ΔO − ΔD − ΔV = {compared['predicted']:+.2f}) {models}; ideal T {compared['ideal']:.2f}."
    )


def _table(columns: Mapping[str, Cell], rows: Iterable[Figures]) -> str:
    """Markdown; the first column to the left, the others to the right."""
    lines = [list(columns), ["---", *["---:"] * (len(columns) - 1)]]
    lines += [[cell(row) for cell in columns.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _label(figures: Figures) -> str:
    return label(figures["method"], figures["drafter"], figures["budget"])


def _cores(figures: Figures) -> str:
    return core_split(figures["method"], figures["cores"], figures["drafter"], figures["drafter_cores"])


def _plain(field: str, form: str, scale: float = 1) -> Cell:
    """A cell with one number; a dash where there is none."""

    def cell(figures: Figures) -> str:
        number = figures.get(field)
        return _DASH if number is None else format(scale * number, form)

    return cell


def _value(figure: Mapping[str, float] | None, form: str) -> str:
    return _DASH if figure is None else format(figure["value"], form)


def _interval(figure: Mapping[str, float | None] | None, form: str) -> str:
    if figure is None:
        return _DASH
    value, low, high = (figure[part] for part in ("value", "low", "high"))
    if value == low == high == 1:
        return "1"
    limits = "" if low is None or high is None else f" [{low:{form}}, {high:{form}}]"
    return f"{value:{form}}{limits}"
