"""The answer to a request about a live recording."""

from collections.abc import Iterator
from dataclasses import replace

from as2d.configuration.selection import Selector
from as2d.models.contract import AudioModel
from as2d.records import Options, Result
from as2d.runtime.pair import PreparedWindow
from as2d.session.answer import make_result
from as2d.session.preparing import Drafting, Preparer, Ready
from as2d.session.request import Request
from as2d.session.transcription import (
    Plan,
    check_options,
    decode_windows,
    make_plan,
    method_of,
    result_of,
    timing_of,
)
from as2d.session.view import LiveView


def answer_about(
    selector: Selector, preparer: Preparer, view: LiveView, options: Options, request: Request[Result]
) -> Result:
    """Decode the windows of the view, preparing what is missing.

    Raises CancelledError, and what preparing, selecting and decoding raise.
    """
    instruction = check_options(selector, options)
    languages = preparer.languages(view.speech, instruction)
    plan = make_plan(selector, options, request, prepared=True, languages=languages)
    ready: list[Ready] = []
    decoded = decode_windows(plan, _ready(preparer, view, plan, options, request, ready), request)
    result = result_of(plan, decoded, request, view.samples, view.warnings)
    return replace(result, view=view.report(ready))


def _ready(
    preparer: Preparer,
    view: LiveView,
    plan: Plan,
    options: Options,
    request: Request[Result],
    ready: list[Ready],
) -> Iterator[PreparedWindow]:
    """The windows of the view, each prepared when its turn comes, and added to `ready`."""
    speakers = Drafting.ANYBODY if options.any_language else Drafting.SPEAKERS
    drafting = speakers if plan.decoding.drafts else Drafting.NOBODY
    for window in view.speech:
        ready.append(preparer.ready(window, plan.instruction, drafting, request.cancelled))
        yield ready[-1].window


def nothing_said(target: AudioModel, view: LiveView, options: Options, request: Request[Result]) -> Result:
    """The answer for a view without speech, for which no model is asked."""
    result = make_result(
        target,
        (),
        method=method_of(options),
        exact=True,
        samples=view.samples,
        wall_ms=request.since_ms(),
        warnings=view.warnings,
    )
    return replace(result, timing=timing_of(request), view=view.report())
