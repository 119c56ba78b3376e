"""Answer one request: window by window, commits out as they come."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from as2d.configuration.selection import Selection, Selector
from as2d.decoding.methods import TRAITS
from as2d.errors import InputError
from as2d.models.text import TextStream
from as2d.records import (
    METHODS,
    SAMPLE_RATE,
    Commit,
    Event,
    Instruction,
    Method,
    Options,
    Result,
    Task,
    Timing,
)
from as2d.runtime.exactness import MAX_BUDGET
from as2d.runtime.pair import PreparedWindow, SpeechWindow
from as2d.runtime.window import Decoding, WindowRecord, run_window
from as2d.session.answer import make_result
from as2d.session.recording import PreparedRecording, Recording
from as2d.session.request import Request


def check_options(selector: Selector, options: Options) -> Instruction:
    """The instruction that the options ask for. Raises InputError or UnsupportedError for what cannot be done."""
    budget = options.budget
    if budget is not None and not (isinstance(budget, int) and 0 <= budget <= MAX_BUDGET):
        raise InputError(f"a budget of {budget} candidates is not possible; use 0 to {MAX_BUDGET}")
    if options.batch != "word" and not (isinstance(options.batch, int) and options.batch >= 1):
        raise InputError(
            f"a batch of {options.batch} tokens is never published; use 'word' or a number from 1 up"
        )
    if options.method != "auto":
        _check_method(options)
        selector.check(options.method)
    _check_task(options)
    if not isinstance(options.language, str | None):
        raise InputError(f"{options.language!r} is no language; use a code or name such as en or german")
    return selector.target.check(
        Instruction(options.task, options.language, options.to, options.question, options.context)
    )


def _check_task(options: Options) -> None:
    """InputError for a task that there is not, and for what does not go with the task."""
    if options.task not in get_args(Task):
        raise InputError(f"there is no task {options.task!r}; use {', '.join(get_args(Task))}")
    for name, value in (("to", options.to), ("question", options.question), ("context", options.context)):
        if not isinstance(value, str) and (value is not None or name == "context"):
            raise InputError(f"{name} is {value!r}; give text")
    if (options.task == "ask") != bool(options.question and options.question.strip()):
        raise InputError("the task ask needs a question, and a question the task ask; give both or neither")
    if options.to is not None and options.task != "translate":
        raise InputError(f"only translations are to a language; leave {options.to!r} out, or translate")


def _check_method(options: Options) -> None:
    """InputError for a method that there is not, and for an option that would mean nothing to it."""
    if options.method not in METHODS:
        raise InputError(f"there is no method {options.method!r}; use auto or one of {', '.join(METHODS)}")
    traits = TRAITS[options.method]
    meaningless = {
        "budget": options.budget is not None and not traits.budget,
        "batch": options.batch != "word" and not traits.batch,
        "resync": options.resync and not traits.resync,
    }
    for option, given in meaningless.items():
        if given:
            raise InputError(f"the method {options.method} has no {option}; leave {option} out")


@dataclass(frozen=True, slots=True)
class Plan:
    """How a request is decoded, and by whom."""

    instruction: Instruction
    method: Method
    selection: Selection
    decoding: Decoding


@dataclass(frozen=True, slots=True)
class Decoded:
    """The records of the windows, and when tokens came, in milliseconds from the request's arrival."""

    records: tuple[WindowRecord, ...]
    token_ms: tuple[float, ...]


def answer(
    selector: Selector, audio: Recording | PreparedRecording, options: Options, request: Request[Result]
) -> Result:
    """Decode a recording, telling the request of every commit.

    Raises AudioError or CancelledError, and what `Selector.select` raises.
    """
    prepared = isinstance(audio, PreparedRecording)
    plan = make_plan(selector, options, request, prepared=prepared, languages=_languages(audio))
    decoded = decode_windows(plan, audio.windows, request)
    return result_of(plan, decoded, request, audio.samples, audio.warnings)


def make_plan(
    selector: Selector,
    options: Options,
    request: Request[Result],
    *,
    prepared: bool,
    languages: Collection[str | None],
) -> Plan:
    """What to do, given the languages of the windows; {None} where they are not known.

    Raises CancelledError, and what `Selector.select` raises.
    """
    instruction = _known(check_options(selector, options), languages)
    method = method_of(options)
    selection = selector.select(method, instruction, prepared=prepared, cancelled=request.cancelled)
    return Plan(instruction, method, selection, _decoding(selection, instruction, method, options))


def method_of(options: Options) -> Method:
    """Without candidates every method is the target alone."""
    return "target-only" if options.budget == 0 else options.method


def decode_windows(
    plan: Plan, windows: Iterable[SpeechWindow | PreparedWindow], request: Request[Result]
) -> Decoded:
    """Decode one window after the other. Raises CancelledError, and what reading or preparing them raises."""
    records: list[WindowRecord] = []
    token_ms: list[float] = []
    for index, window in enumerate(windows):
        records.append(_decode_window(plan, index, window, request, token_ms))
    return Decoded(tuple(records), tuple(token_ms))


def result_of(
    plan: Plan,
    decoded: Decoded,
    request: Request[Result],
    samples: int,
    warnings: Sequence[str],
) -> Result:
    """The answer for audio of `samples` samples."""
    result = make_result(
        plan.selection.pair.target,
        decoded.records,
        method=plan.method,
        exact=plan.decoding.method == "target-only" or plan.selection.pair.exact,
        samples=samples,
        wall_ms=request.since_ms(),
        warnings=(*warnings, *plan.selection.warnings),
        configuration=plan.selection.tuned,
    )
    return replace(result, timing=timing_of(request, decoded.token_ms))


def timing_of(request: Request[Result], token_ms: Sequence[float] = ()) -> Timing:
    """When the request came and its tokens did."""
    first, last = (token_ms[0], token_ms[-1]) if token_ms else (None, None)
    return Timing(request.arrived_at, request.queued_ms or 0.0, first, last)


def _languages(audio: Recording | PreparedRecording) -> set[str | None]:
    return {window.language for window in audio.windows} if isinstance(audio, PreparedRecording) else {None}


def _known(instruction: Instruction, languages: Collection[str | None]) -> Instruction:
    """The instruction with the language that all windows are in, if there is one."""
    if instruction.language is None and len(languages) == 1:
        (language,) = languages
        return replace(instruction, language=language)
    return instruction


def _decoding(selection: Selection, instruction: Instruction, method: Method, options: Options) -> Decoding:
    drafted = "as2d" if method == "auto" else method
    return Decoding(
        method=drafted if selection.chosen(instruction) else "target-only",
        budget=selection.budget if options.budget is None else options.budget,
        batch=selection.batch if options.batch == "word" else options.batch,
        any_language=options.any_language,
        resync=options.resync,
        chosen=selection.chosen,
        floor=selection.floor if options.budget is None else 0.0,
    )


def _decode_window(
    plan: Plan,
    index: int,
    window: SpeechWindow | PreparedWindow,
    request: Request[Result],
    token_ms: list[float],
) -> WindowRecord:
    """Adds the times of commits that have useful tokens to `token_ms`."""
    pair = plan.selection.pair
    text = TextStream(pair.target.vocabulary)
    run = run_window(pair, window, plan.instruction, plan.decoding, request.cancelled)
    while True:
        try:
            commit = next(run)
        except StopIteration as stop:
            record: WindowRecord = stop.value
            return record
        event = _event(commit, index, window.end, text, request)
        if not pair.target.end_ids.issuperset(commit.tokens):
            token_ms.append(event.at_ms)
        request.tell(event)


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
        at_ms=request.since_ms(),
        text=new,
    )
