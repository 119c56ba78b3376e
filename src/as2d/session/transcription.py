"""Answer one request: window by window, commits out as they come."""

from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter
from typing import get_args

from as2d.configuration.selection import Selection, Selector
from as2d.decoding.methods import TRAITS
from as2d.errors import InputError
from as2d.models.text import TextStream
from as2d.records import METHODS, SAMPLE_RATE, Commit, Event, Instruction, Method, Options, Result, Task
from as2d.runtime.exactness import MAX_BUDGET
from as2d.runtime.pair import Pair, PreparedWindow, SpeechWindow
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


def answer(
    selector: Selector, audio: Recording | PreparedRecording, options: Options, request: Request[Result]
) -> Result:
    """Decode a recording, telling the request of every commit.

    Raises AudioError or CancelledError, and what `Selector.select` raises.
    """
    instruction = _known(check_options(selector, options), audio)
    method: Method = "target-only" if options.budget == 0 else options.method
    selection = selector.select(
        method,
        instruction,
        prepared=isinstance(audio, PreparedRecording),
        cancelled=request.cancelled,
    )
    pair = selection.pair
    decoding = _decoding(selection, instruction, method, options)
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
        configuration=selection.tuned,
    )


def _known(instruction: Instruction, audio: Recording | PreparedRecording) -> Instruction:
    """The instruction with the language that all prepared windows are in, if there is one."""
    if instruction.language is None and isinstance(audio, PreparedRecording):
        languages = {window.language for window in audio.windows}
        if len(languages) == 1:
            return replace(instruction, language=languages.pop())
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
