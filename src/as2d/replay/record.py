"""Records traces: the target alone, and each drafter by itself, on a window. Native objects do the work."""

from functools import partial
from itertools import pairwise
from threading import Event

from as2d.decoding.accept import accept
from as2d.decoding.confidence import LONGEST_DRAFT
from as2d.decoding.target_only import decode_alone
from as2d.drafting.words import Word
from as2d.errors import InputError
from as2d.replay.models import DRAFTER_CORES, Heard, Models
from as2d.replay.timed import Log, TimedBuffer, TimedDecoder, now_ms, timed
from as2d.replay.trace import Continuation, Step, Stream, WindowTrace, marks_among
from as2d.runtime.source import Job, source_of


def record(models: Models, heard: Heard) -> WindowTrace:
    """The trace of a window. Raises what a model raises."""
    answering = models.answering(heard)
    log = Log()
    start = now_ms()
    decoder = models.target.open(heard.target.audio, heard.instruction, models.threads)
    opened, room = now_ms(), decoder.capacity - decoder.length
    commits = tuple(decode_alone(TimedDecoder(decoder, log, models.threads), answering.rules, models.threads))
    tokens = tuple(token for commit in commits for token in commit.tokens)
    streams = {name: _stream(models, heard, name, tokens) for name in heard.drafters}
    drafted = [
        token
        for stream in streams.values()
        for step in stream.steps
        for word in step.words
        for token in word.tokens
    ]
    return WindowTrace(
        window=heard.window,
        language=heard.instruction.language or "",
        audio_s=heard.audio_s,
        limit=min(answering.rules.limit, room),
        tokens=tokens,
        finish_reason=commits[-1].finish_reason or "stop",
        token_ms=tuple(call.end - call.start for call in log.calls),
        open_ms=opened - start,
        encode_ms=heard.target.ms,
        marks=marks_among(answering.marks, (*tokens, *drafted)),
        streams=streams,
    )


def _stream(models: Models, heard: Heard, name: str, answer: tuple[int, ...]) -> Stream:
    """What a drafter writes when nobody stops it, each word published by itself; and from the answer."""
    model, encoded, log = models.drafters[name], heard.drafters[name], Log()
    source, buffer = source_of(timed(model, log)), TimedBuffer(log)
    job = Job(heard.instruction, models.target.vocabulary, "word", None, buffer, Event(), DRAFTER_CORES)
    start = now_ms()
    source.draft(encoded.audio, job)
    steps = _steps(name, log, now_ms())
    chunks = not hasattr(model, "prepare")
    return Stream(
        steps=steps,
        chunks=chunks,
        waits=source_of(model).waits(heard.instruction),
        open_ms=log.opened - start,
        encode_ms=encoded.ms,
        continuations=() if chunks else _continuations(models, heard, name, answer),
    )


def _continuations(
    models: Models, heard: Heard, name: str, answer: tuple[int, ...]
) -> tuple[Continuation, ...]:
    """What a drafter writes on from each beginning of the answer, until it differs."""
    source = source_of(models.drafters[name])
    audio, vocabulary = heard.drafters[name].audio, models.target.vocabulary
    drafter = source.open(audio, heard.instruction, vocabulary, DRAFTER_CORES)
    found = []
    for committed in range(len(answer)):
        rest = answer[committed:]
        draft = drafter.draft(answer[:committed], LONGEST_DRAFT, partial(_differs, rest))
        agreed = accept(draft.tokens, rest)
        found.append(Continuation(agreed, ends=agreed == len(draft.tokens) < LONGEST_DRAFT))
    return tuple(found)


def _differs(rest: tuple[int, ...], draft: Word) -> bool:
    return draft.tokens != rest[: len(draft.tokens)]


def _steps(name: str, log: Log, end: float) -> tuple[Step, ...]:
    """Each step lasts until the next begins, so that what a drafter does beside its calls is part of it."""
    if not log.calls:
        raise InputError(f"the drafter {name} ended without a step, so there is no trace of it; leave it out")
    words: list[list[Word]] = [[] for _ in log.calls]
    for publication in log.publications:
        words[publication.calls - 1].append(Word(publication.tokens, publication.probabilities))
    starts = [*(call.start for call in log.calls), end]
    return tuple(
        Step(after - before, tuple(said))
        for (before, after), said in zip(pairwise(starts), words, strict=True)
    )
