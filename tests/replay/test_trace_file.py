"""Trace files come back as they were written, and damaged ones are refused with a remedy."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.replay import trace_file
from as2d.replay.trace import Continuation, Provenance, WindowTrace

Make = Callable[..., Any]


@pytest.fixture
def windows(make_trace: Make, make_stream: Make) -> list[WindowTrace]:
    continuations = tuple(Continuation(agreed, ends=agreed == 0) for agreed in (3, 2, 1, 0))
    streams = {
        "one": make_stream([(30, 31), (32,)], continuations=continuations),
        "two": make_stream([(30,)], chunks=True, waits=True),
    }
    return [
        make_trace((30, 31, 32), streams, window="clip\u2028é#0"),
        make_trace((30, 31), window="b#1", limit=2, finish_reason="length"),
    ]


@pytest.fixture
def path(tmp_path: Path, provenance: Provenance, windows: list[WindowTrace]) -> Path:
    path = tmp_path / "traces.jsonl"
    assert trace_file.begin(path, provenance) == frozenset()
    for window in windows:
        trace_file.append(path, window)
    return path


def test_what_is_written_is_read(path: Path, provenance: Provenance, windows: list[WindowTrace]) -> None:
    traces = trace_file.read([path])
    assert traces.provenance == provenance
    assert traces.windows == tuple(windows)
    assert [window.useful for window in traces.windows] == [3, 2]


def test_a_file_is_continued(path: Path, provenance: Provenance, windows: list[WindowTrace]) -> None:
    assert trace_file.begin(path, provenance) == {"clip\u2028é#0", "b#1"}
    trace_file.append(path, replace(windows[0], window="c#0"))
    assert len(trace_file.read([path]).windows) == 3


def test_several_files_are_read_together(
    path: Path, tmp_path: Path, provenance: Provenance, windows: list[WindowTrace]
) -> None:
    other = tmp_path / "other.jsonl"
    trace_file.begin(other, provenance)
    trace_file.append(other, replace(windows[0], window="c#0"))
    assert len(trace_file.read([path, other]).windows) == 3
    with pytest.raises(InputError, match=r"b#1 twice|clip.* twice"):
        trace_file.read([path, path])


@pytest.mark.parametrize(
    "changes", [{"target_digest": "big-2"}, {"drafters": {"one": "one-2"}}, {"corpus": "d"}, {"threads": 1}]
)
def test_traces_of_different_models_are_not_mixed(
    path: Path, tmp_path: Path, provenance: Provenance, changes: dict[str, Any]
) -> None:
    changed = replace(provenance, **changes)
    with pytest.raises(InputError, match=f"another {next(iter(changes))}; use traces of the same"):
        trace_file.begin(path, changed)
    other = tmp_path / "other.jsonl"
    trace_file.begin(other, changed)
    with pytest.raises(InputError, match="use traces of the same models"):
        trace_file.read([path, other])


def test_a_corpus_without_a_window(tmp_path: Path, provenance: Provenance) -> None:
    path = tmp_path / "empty.jsonl"
    trace_file.begin(path, provenance)
    with pytest.raises(InputError, match="no window; record a corpus"):
        trace_file.read([path])


def test_a_last_line_that_is_cut_short(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    with pytest.raises(InputError, match="line 3 is damaged; it is cut short: delete that line"):
        trace_file.read([path])


def test_a_line_in_the_middle_that_is_damaged(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[1] = lines[1][:-20]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match="line 2 is damaged; record the traces again"):
        trace_file.read([path])


@pytest.mark.parametrize("content", [b"", b"[1]\n", b'{"a": 1}\n', b"\xff\xfe", b"not json\n"])
def test_what_is_no_file_of_traces(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)
    with pytest.raises(InputError, match="record"):
        trace_file.read([path])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*name a file"):
        trace_file.read([tmp_path / "none"])
    with pytest.raises(InputError, match=r"cannot read .*name a file"):
        trace_file.read([tmp_path])


def test_a_folder_that_is_not_there(tmp_path: Path, provenance: Provenance) -> None:
    with pytest.raises(InputError, match=r"cannot write .*name another file"):
        trace_file.begin(tmp_path / "no" / "traces", provenance)


def change(path: Path, line: int, **fields: Any) -> None:
    lines = [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]
    lines[line].update(fields)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")


@pytest.mark.parametrize("schema", [2, None, "1"])
def test_another_schema_is_refused(path: Path, schema: object) -> None:
    change(path, 0, schema=schema)
    with pytest.raises(InputError, match="reads 1; install the as2d that wrote it"):
        trace_file.read([path])


@pytest.mark.parametrize(
    "fields",
    [
        {"drafters": ["one"]},
        {"threads": -1},
        {"end_ids": [0.5]},
        {"task": "sing"},
        {"target": None},
        {"vocabulary_size": "many"},
    ],
)
def test_a_head_with_wrong_fields(path: Path, fields: dict[str, Any]) -> None:
    change(path, 0, **fields)
    with pytest.raises(InputError, match="line 1 is damaged"):
        trace_file.read([path])


STREAM = {
    "steps": [[1.0]],
    "chunks": False,
    "waits": False,
    "open_ms": 1.0,
    "encode_ms": 1.0,
    "continuations": [],
}


@pytest.mark.parametrize(
    "fields",
    [
        {"tokens": []},
        {"tokens": [30, -1], "token_ms": [1.0, 1.0]},
        {"tokens": [30, True], "token_ms": [1.0, 1.0]},
        {"token_ms": [4.0]},
        {"token_ms": [float("nan")] * 4},
        {"token_ms": [-1.0] * 4},
        {"limit": 1},
        {"finish_reason": "tired"},
        {"audio_s": "long"},
        {"streams": {"three": STREAM}},
        {"streams": {"one": {**STREAM, "steps": []}}},
        {"streams": {"one": {**STREAM, "steps": [[1.0, [[30], [0.5, 0.5]]]]}}},
        {"streams": {"one": {**STREAM, "steps": [[1.0, [[30]]]]}}},
        {"streams": {"one": {**STREAM, "steps": [[float("inf")]]}}},
        {"streams": [STREAM]},
        {"streams": {"one": {**STREAM, "continuations": [[1, False]]}}},
        {"streams": {"one": {**STREAM, "continuations": [[-1, False]] * 4}}},
    ],
)
def test_a_window_with_wrong_fields(path: Path, fields: dict[str, Any]) -> None:
    change(path, 1, streams={"one": STREAM})
    trace_file.read([path])
    change(path, 1, **fields)
    with pytest.raises(InputError, match=r"line 2 is damaged .*record the traces again"):
        trace_file.read([path])


@pytest.mark.parametrize("field", ["tokens", "marks", "streams", "window"])
def test_a_window_that_lacks_a_field(path: Path, field: str) -> None:
    lines = [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]
    lines[1].pop("weak" if field == "marks" else field)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    with pytest.raises(InputError, match="line 2 is damaged"):
        trace_file.read([path])
