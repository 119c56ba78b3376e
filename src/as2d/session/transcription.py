"""Answer one request: window by window, commits out as they come."""

from collections.abc import Iterable
from time import perf_counter

from as2d.configuration.method import DEFAULT_BUDGET
from as2d.configuration.selection import Selector
from as2d.errors import InputError
from as2d.models.text import TextStream
from as2d.records import SAMPLE_RATE, Commit, Event, Instruction, Method, Options, Result
from as2d.runtime.exactness import MAX_BUDGET
from as2d.runtime.pair import Chosen, Pair, PreparedWindow, SpeechWindow
from as2d.runtime.window import Decoding, WindowRecord, run_window
from as2d.session.answer import make_result
from as2d.session.recording import PreparedRecording, Recording
from as2d.session.request import Request


def check_options(pair: Pair, options: Options) -> Instruction:
    """The instruction that the options ask for. Raises InputError or UnsupportedError for what cannot be done."""
    budget = options.budget
    if budget is not None and not (isinstance(budget, int) and 0 <= budget <= MAX_BUDGET):
        raise InputError(f"a budget of {budget} candidates is not possible; use 0 to {MAX_BUDGET}")
    if options.method not in ("auto", "as2d", "target-only"):
        raise InputError(f"there is no method {options.method!r}; use auto, as2d or target-only")
    if options.method == "as2d" and not pair.has_drafter:
        raise InputError("the method as2d needs a drafter; name one, or use target-only")
    if options.batch != "word" and not (isinstance(options.batch, int) and options.batch >= 1):
        raise InputError(
            f"a batch of {options.batch} tokens is never published; use 'word' or a number from 1 up"
        )
    if not isinstance(options.language, str | None):
        raise InputError(f"{options.language!r} is no language; use a code or name such as en or german")
    return pair.target.check(Instruction(options.task, options.language))


def answer(
    selector: Selector, audio: Recording | PreparedRecording, options: Options, request: Request[Result]
) -> Result:
    """Decode a recording, telling the request of every commit.

    Raises AudioError or CancelledError, and what `Selector.select` raises.
    """
    pair = selector.pair
    instruction = check_options(pair, options)
    method: Method = "target-only" if options.budget == 0 else options.method
    selection = selector.select(
        method,
        instruction,
        prepared=isinstance(audio, PreparedRecording),
        cancelled=request.cancelled,
    )
    decoding = _decoding(selection.chosen, instruction, options)
    exact = decoding.method == "target-only" or pair.exact
    records = []
    windows: Iterable[SpeechWindow | PreparedWindow] = audio.windows
    for index, window in enumerate(windows):
        records.append(_decode_window(pair, index, window, instruction, decoding, request))
    return make_result(
        pair.target,
        records,
        method=method,
        exact=exact,
        samples=audio.samples,
        wall_ms=_since(request),
        warnings=(*audio.warnings, *selection.warnings),
    )


def _decoding(chosen: Chosen, instruction: Instruction, options: Options) -> Decoding:
    return Decoding(
        method="as2d" if chosen(instruction) else "target-only",
        budget=DEFAULT_BUDGET if options.budget is None else options.budget,
        batch=options.batch,
        any_language=options.any_language,
        resync=options.resync,
        chosen=chosen,
    )


def _decode_window(
    pair: Pair,
    index: int,
    window: SpeechWindow | PreparedWindow,
    instruction: Instruction,
    decoding: Decoding,
    request: Request[Result],
) -> WindowRecord:
    text = TextStream(pair.target.vocabulary)
    run = run_window(pair, window, instruction, decoding, request.cancelled)
    while True:
        try:
            commit = next(run)
        except StopIteration as stop:
            record: WindowRecord = stop.value
            return record
        request.tell(_event(commit, index, window.end, text, request))


def _event(commit: Commit, index: int, end: int, text: TextStream, request: Request[Result]) -> Event:
    new = text.feed(commit.tokens)
    if commit.finish_reason:
        new += text.finish()
    return Event(
        tokens=commit.tokens,
        origins=commit.origins,
        proposed=commit.proposed,
        accepted=commit.accepted,
        source=commit.source,
        finish_reason=commit.finish_reason,
        switched_off=commit.switched_off,
        resync=commit.resync,
        window=index,
        end_s=end / SAMPLE_RATE,
        at_ms=_since(request),
        text=new,
    )


def _since(request: Request[Result]) -> float:
    """Milliseconds since the request arrived."""
    return (perf_counter() - request.arrived) * 1000
