"""Trace files: JSON lines, the first says what recorded them, each other is a window."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from as2d.decoding.align import Marks
from as2d.drafting.words import Word
from as2d.errors import InputError
from as2d.records import FinishReason, Task
from as2d.replay.fields import amount, amounts, count, counts, one_of, text
from as2d.replay.trace import Continuation, Provenance, Step, Stream, Traces, WindowTrace

SCHEMA = 1
"""Raised with every change that old readers cannot bear."""

_FORMAT = "as2d traces"


def begin(path: Path, provenance: Provenance) -> frozenset[str]:
    """Begin a file, or go on with one that the same models began: the windows that it holds already. InputError."""
    if path.exists():
        known = read_file(path)
        check_same(known.provenance, provenance, path)
        return frozenset(window.window for window in known.windows)
    _write(path, "x", {"format": _FORMAT, "schema": SCHEMA, **_from_provenance(provenance)})
    return frozenset()


def append(path: Path, window: WindowTrace) -> None:
    """Add a window to a file that has begun. InputError where it cannot be written."""
    _write(path, "a", _from_window(window))


def read(paths: Sequence[Path]) -> Traces:
    """All windows of some files. InputError: damaged, newer, of different models, a window twice, or none at all."""
    files = [read_file(path) for path in paths]
    for path, file in zip(paths, files, strict=True):
        check_same(files[0].provenance, file.provenance, path)
    windows = tuple(chain.from_iterable(file.windows for file in files))
    if not windows:
        raise InputError("the traces hold no window; record a corpus with speech in it")
    _check_once(windows)
    return Traces(files[0].provenance, windows)


def read_file(path: Path) -> Traces:
    """One file, which may hold no window yet. InputError: damaged, or of a newer as2d."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}); name a file of traces") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no file of traces; record one with `as2d replay record`") from error
    objects = [_parsed(path, number, line, last=number == len(lines)) for number, line in enumerate(lines, 1)]
    provenance = _provenance(path, objects)
    return Traces(
        provenance,
        tuple(_window(path, number, fields, provenance) for number, fields in enumerate(objects[1:], 2)),
    )


def check_same(one: Provenance, other: Provenance, path: Path) -> None:
    """InputError where a file was recorded by other models, of another corpus or on other cores."""
    if one != other:
        differing = [name for name in Provenance.__slots__ if getattr(one, name) != getattr(other, name)]
        raise InputError(
            f"{path} was recorded with another {', '.join(differing)}; "
            "use traces of the same models and corpus together, or record them again"
        )


def _check_once(windows: Iterable[WindowTrace]) -> None:
    seen: set[str] = set()
    for window in windows:
        if window.window in seen:
            raise InputError(f"the traces hold the window {window.window} twice; give each file once")
        seen.add(window.window)


def _write(path: Path, mode: str, fields: Mapping[str, Any]) -> None:
    line = json.dumps(fields, separators=(",", ":"), allow_nan=False)
    try:
        with path.open(mode, encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror}); name another file") from error


def _parsed(path: Path, number: int, line: str, *, last: bool) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        remedy = "it is cut short: delete that line" if last and number > 1 else "record the traces again"
        raise InputError(f"{path}, line {number} is damaged; {remedy}") from error


def _provenance(path: Path, objects: Sequence[Any]) -> Provenance:
    head = objects[0] if objects else None
    if not isinstance(head, dict) or head.get("format") != _FORMAT:
        raise InputError(f"{path} is no file of traces; record one with `as2d replay record`")
    if head.get("schema") != SCHEMA:
        raise InputError(
            f"{path} has schema {head.get('schema')}, and this as2d reads {SCHEMA}; "
            "install the as2d that wrote it, or record the traces again"
        )
    try:
        return _to_provenance(head)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}, line 1 is damaged ({error!r}); record the traces again") from error


def _window(path: Path, number: int, fields: Any, provenance: Provenance) -> WindowTrace:
    try:
        window = _to_window(fields)
        _check_window(window, provenance)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}, line {number} is damaged ({error!r}); record the traces again") from error
    return window


def _check_window(window: WindowTrace, provenance: Provenance) -> None:
    if not window.tokens or len(window.tokens) != len(window.token_ms) or len(window.tokens) > window.limit:
        raise ValueError(f"{len(window.tokens)} tokens")
    if unknown := window.streams.keys() - provenance.drafters.keys():
        raise ValueError(f"streams of {', '.join(sorted(unknown))}")
    for stream in window.streams.values():
        if stream.continuations and len(stream.continuations) != len(window.tokens):
            raise ValueError(f"{len(stream.continuations)} continuations")


def _from_provenance(provenance: Provenance) -> dict[str, Any]:
    return {
        "target": provenance.target,
        "target_digest": provenance.target_digest,
        "drafters": dict(provenance.drafters),
        "corpus": provenance.corpus,
        "task": provenance.task,
        "threads": provenance.threads,
        "end_ids": sorted(provenance.end_ids),
        "vocabulary_size": provenance.vocabulary_size,
    }


def _to_provenance(fields: Mapping[str, Any]) -> Provenance:
    return Provenance(
        target=text(fields["target"]),
        target_digest=text(fields["target_digest"]),
        drafters={text(name): text(digest) for name, digest in fields["drafters"].items()},
        corpus=text(fields["corpus"]),
        task=one_of(fields["task"], Task),
        threads=count(fields["threads"]),
        end_ids=frozenset(counts(fields["end_ids"])),
        vocabulary_size=count(fields["vocabulary_size"]),
    )


def _from_window(window: WindowTrace) -> dict[str, Any]:
    return {
        "window": window.window,
        "language": window.language,
        "audio_s": window.audio_s,
        "limit": window.limit,
        "tokens": window.tokens,
        "finish_reason": window.finish_reason,
        "token_ms": window.token_ms,
        "open_ms": window.open_ms,
        "encode_ms": window.encode_ms,
        "weak": sorted(window.marks.weak),
        "word_starts": sorted(window.marks.word_starts),
        "streams": {name: _from_stream(stream) for name, stream in window.streams.items()},
    }


def _to_window(fields: Mapping[str, Any]) -> WindowTrace:
    return WindowTrace(
        window=text(fields["window"]),
        language=text(fields["language"]),
        audio_s=amount(fields["audio_s"]),
        limit=count(fields["limit"]),
        tokens=counts(fields["tokens"]),
        finish_reason=one_of(fields["finish_reason"], FinishReason),
        token_ms=amounts(fields["token_ms"]),
        open_ms=amount(fields["open_ms"]),
        encode_ms=amount(fields["encode_ms"]),
        marks=Marks(frozenset(counts(fields["weak"])), frozenset(counts(fields["word_starts"]))),
        streams={text(name): _to_stream(stream) for name, stream in fields["streams"].items()},
    )


def _from_stream(stream: Stream) -> dict[str, Any]:
    return {
        "steps": [[step.ms, *step.words] for step in stream.steps],
        "chunks": stream.chunks,
        "waits": stream.waits,
        "open_ms": stream.open_ms,
        "encode_ms": stream.encode_ms,
        "continuations": stream.continuations,
    }


def _to_stream(fields: Mapping[str, Any]) -> Stream:
    steps = tuple(Step(amount(ms), tuple(map(_to_word, words))) for ms, *words in fields["steps"])
    if not steps:
        raise ValueError("a stream without a step")
    return Stream(
        steps=steps,
        chunks=bool(fields["chunks"]),
        waits=bool(fields["waits"]),
        open_ms=amount(fields["open_ms"]),
        encode_ms=amount(fields["encode_ms"]),
        continuations=tuple(
            Continuation(count(agreed), bool(ends)) for agreed, ends in fields["continuations"]
        ),
    )


def _to_word(fields: Sequence[Any]) -> Word:
    tokens, probabilities = fields
    if len(tokens) != len(probabilities):
        raise ValueError("a word with other probabilities than tokens")
    return Word(counts(tokens), amounts(probabilities))
