"""Rows as a bench would write them, by hand or by a seeded generator."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from as2d.evaluation.contender import Contender
from as2d.evaluation.rows import SCHEMA, Row, Span, Step, TimeLine
from as2d.records import Origin

MakeRow = Callable[..., Row]

_PACE = {"target-only": 4.0, "speculative": 3.0, "specasr": 2.9, "lookahead": 2.6, "as2d": 2.0}
"""Milliseconds a token."""

_CONTENDERS = (
    Contender("target-only", 1),
    Contender("target-only", 2),
    *(Contender("speculative", 2, "self", width - 1, 2) for width in (5, 6, 7, 8, 12)),
    Contender("specasr", 2, "self", None, 1),
    Contender("specasr", 2, "tiny", None, 2),
    Contender("lookahead", 2, "self", 7),
    Contender("as2d-without-decoupling", 2, "self", 7),
    Contender("as2d-without-budget", 2, "tiny"),
    Contender("as2d", 2, "self", 7),
    Contender("as2d", 2, "tiny", 7),
    Contender("faster-whisper int8", 2),
)


@pytest.fixture(scope="session")
def make_row() -> MakeRow:
    """A row with the fields that a test names, and plain values for the others."""
    return _row


@pytest.fixture(scope="session")
def bench() -> list[Row]:
    """24 English windows and 12 others of three kinds, under every kind of contender; "tiny" only drafts English."""
    draw = random.Random(1)
    return [row for index in range(36) for row in _window(draw, index)]


def _window(draw: random.Random, index: int) -> list[Row]:
    language = "en" if index < 24 else ("de", "es")[index % 2]
    kind, count = ("read", "meeting", "phone")[index % 3], draw.randint(12, 90)
    return [
        _measured(draw, contender, index, kind, language, count)
        for contender in _CONTENDERS
        if language == "en" or contender.drafter != "tiny"
    ]


def _measured(
    draw: random.Random, contender: Contender, index: int, kind: str, language: str, count: int
) -> Row:
    pace = (
        _PACE.get(contender.method, 2.8) * (1.5 if contender.cores == 1 else 1) * draw.lognormvariate(0, 0.25)
    )
    line = _time_line(draw, contender, count) if index < 4 else None
    total = max((step.at for step in line.commits), default=0) if line else pace * count
    return _row(
        contender,
        window=f"clip{index}#0",
        kind=kind,
        language=language,
        tokens=tuple(range(count)),
        decode_ms=total,
        producer_done_ms=total + 1,
        call_ms=total + 8,
        draft_ms=0.4 * total if contender.drafter else 0.0,
        verify_ms=0.7 * total,
        overlap_ms=0.3 * total if contender.drafter and contender.method != "speculative" else 0.0,
        identical=contender.method != "faster-whisper int8",
        time_line=line,
    )


def _row(contender: Contender | None = None, **fields: Any) -> Row:
    contender = contender or Contender("target-only", 2)
    window = fields.get("window", "clip0#0")
    plain: dict[str, Any] = {
        "schema": SCHEMA,
        "commit": "abc1234",
        "host": "a machine",
        "versions": {"as2d": "0.1", "onnxruntime": "1.32"},
        "corpus": "0123abcd",
        "window": window,
        "clip": window.partition("#")[0],
        "kind": "read",
        "language": "en",
        "start_s": 0.0,
        "end_s": 10.0,
        "method": contender.method,
        "drafter": contender.drafter,
        "budget": contender.budget,
        "cores": contender.cores,
        "drafter_cores": contender.drafter_cores,
        "contender": contender.key,
        "tokens": (1, 2, 3, 4),
        "text": "one two three four",
        "identical": True,
        "finish_reason": "stop",
        "looped": False,
        "capped": False,
        "repetitions": 3,
        "decode_ms": 10.0,
        "decode_ms_runs": (10.0, 10.0, 10.0),
        "producer_done_ms": 10.0,
        "call_ms": 12.0,
        "draft_ms": 4.0,
        "verify_ms": 5.0,
        "overlap_ms": 0.0,
        "cpu_s": 0.02,
        "rounds": 2.0,
        "proposed": 4.0,
        "accepted": 3.0,
        "widths": {1: 1.0, 5: 1.0},
        "faults": (),
        "peak_memory_mb": 300.0,
        "cpu_mhz": None,
        "temperature_c": None,
        "energy_j": None,
    }
    return Row(**(plain | fields))


def _time_line(draw: random.Random, contender: Contender, count: int) -> TimeLine:
    """A made-up decode: the drafter writes beside the target or in turn with it."""
    drafting: list[Span] = []
    verifying: list[Span] = []
    commits: list[Step] = []
    budget = (contender.budget or 5) if contender.drafter else 0
    aside = contender.method in {"as2d", "lookahead"}
    now, said = 0.0, 0
    while said < count:
        if budget and not aside:
            drafting += [Span(now + 1.5 * i, now + 1.5 * i + 1.4, 1) for i in range(budget)]
            now += 1.5 * budget
        proposed = draw.randint(0, budget) if aside else budget
        accepted = draw.randint(proposed // 2, proposed)
        end = now + 4 + 0.5 * proposed
        verifying.append(Span(now, end, 1 + proposed))
        last: Origin = "alone" if not proposed else "bonus" if accepted == proposed else "corrected"
        taken: list[Origin] = ["accepted"] * accepted
        commits.append(Step(end, (*taken, last)))
        said, now = said + accepted + 1, end + 0.3
    if aside:
        drafting = [Span(1.7 * i, 1.7 * i + 1.6, 1) for i in range(int(0.9 * now / 1.7))]
    return TimeLine(tuple(drafting), tuple(verifying), tuple(commits))
