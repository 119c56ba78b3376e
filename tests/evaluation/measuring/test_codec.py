"""Records as JSON and back."""

import json
from dataclasses import replace
from typing import Any

import pytest

from as2d.evaluation.measuring.codec import from_json, to_json
from as2d.evaluation.rows import Run, Span, Step, TimeLine

RUN = Run(
    window="a#0",
    contender="as2d self b7 2c1d",
    repetition=1,
    tokens=(5, 6),
    finish_reason="stop",
    decode_ms=10.5,
    producer_done_ms=11.0,
    call_ms=12.0,
    draft_ms=3.0,
    verify_ms=7.0,
    overlap_ms=2.0,
    cpu_s=0.5,
    rounds=3,
    proposed=4,
    accepted=2,
    widths={1: 2, 5: 1},
    faults=("é",),
    cpu_mhz=2000.0,
    time_line=TimeLine((Span(0.0, 1.0, 1),), (), (Step(1.0, ("accepted", "bonus")),)),
)


def changed(**fields: Any) -> str:
    return json.dumps(json.loads(to_json(RUN)) | fields)


def test_there_and_back() -> None:
    for run in (RUN, replace(RUN, time_line=None)):
        line = to_json(run)
        assert "\n" not in line
        assert from_json(Run, line) == run


def test_whole_numbers_where_fractions_are_expected_and_unknown_fields() -> None:
    assert from_json(Run, changed(decode_ms=10, later="x")).decode_ms == 10.0


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "{}",
        "null",
        changed(repetition="1"),
        changed(repetition=True),
        changed(repetition=None),
        changed(tokens=[1, "x"]),
        changed(tokens=None),
        changed(finish_reason="tired"),
        changed(widths={"wide": 1}),
        changed(time_line={"drafting": []}),
        changed(time_line={"drafting": [{"start": 0}], "verifying": [], "commits": []}),
    ],
)
def test_what_is_no_record(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 -- what it says is for nobody
        from_json(Run, line)


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        from_json(Run, b"\xff")
