"""What a bench's folder says: summary, report and plots, made from its rows."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from as2d.errors import MissingExtraError
from as2d.evaluation.analysis.accuracy import accuracies
from as2d.evaluation.analysis.choice import without_failed_peers
from as2d.evaluation.analysis.questions import answer_scores
from as2d.evaluation.analysis.summary import summarise
from as2d.evaluation.analysis.table import markdown
from as2d.evaluation.analysis.translation import translation_scores
from as2d.evaluation.corpora import Asking, task_of
from as2d.evaluation.measuring.journal import ClipRecord, read_clips, read_rows, read_setup, write_whole
from as2d.evaluation.plots import draw
from as2d.evaluation.rows import Row

Say = Callable[[str], None]


def write_results(folder: Path, say: Say) -> str:
    """Write `summary.json`, `report.md` and the plots into the folder, and return the report.

    What needs an extra that is not installed is left out, and said. A peer that failed in some window is left out with
    its reason, as one that could not be loaded. InputError when the folder holds no bench, or cannot be written.
    """
    setup, clips = read_setup(folder), read_clips(folder, say)
    rows, failed = without_failed_peers(read_rows(folder, say))
    asking = task_of(setup.options)
    skipped = [record.clip for record in clips if record.fault]
    missing = {**setup.missing_peers, **failed}
    figures = _accuracies(asking, rows, clips, say)
    summary = summarise(rows, figures, skipped=skipped, missing_peers=missing, task=asking.told)
    report = markdown(summary)
    write_whole(folder / "summary.json", json.dumps(summary, ensure_ascii=False, indent=1) + "\n")
    write_whole(folder / "report.md", report)
    _draw(rows, folder, say)
    return report


def _accuracies(
    asking: Asking, rows: Sequence[Row], clips: Sequence[ClipRecord], say: Say
) -> Mapping[str, Mapping[str, Any]] | None:
    """Of the clips that were measured whole and whose reference is beyond doubt."""
    references = {
        record.clip: record.reference
        for record in clips
        if record.reference and not record.short and record.fault is None
    }
    if asking.task == "ask":
        return answer_scores(rows, references)
    try:
        if asking.to:
            return translation_scores(rows, references, asking.to)
        return accuracies(rows, references)
    except MissingExtraError as error:
        say(f"no {'BLEU and chrF' if asking.to else 'word error rates'}: {error}")
        return None


def _draw(rows: Sequence[Row], folder: Path, say: Say) -> None:
    try:
        drawn = draw(rows, folder)
    except MissingExtraError as error:
        say(f"no plots: {error}")
    else:
        for reason in drawn.skipped:
            say(f"no plot of {reason}")
