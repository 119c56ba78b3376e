"""From decodes to runs to rows."""

from dataclasses import replace

from as2d.decoding.tally import Tally
from as2d.evaluation.contender import Contender
from as2d.evaluation.host import Readings
from as2d.evaluation.measuring.condense import Source, Window, make_row, make_run
from as2d.evaluation.measuring.lineup import Decoded
from as2d.evaluation.rows import Row, Run, Span, Step, TimeLine
from as2d.records import Commit

COMMITS = (
    Commit((1, 2), ("accepted", "corrected"), 3, 1, 0),
    Commit((3,), ("alone",), 0, 0),
    Commit((9,), ("alone",), 0, 0, None, "stop"),
)
DECODED = Decoded(
    tokens=(1, 2, 3),
    finish_reason="stop",
    decode_ms=10.00004,
    producer_done_ms=11.0,
    call_ms=12.0,
    tally=Tally.of(COMMITS),
    drafting=(Span(0.0, 4.0, 1), Span(3.0, 6.0, 1)),
    verifying=(Span(5.0, 9.0, 4),),
    steps=(Step(9.0, ("accepted", "corrected")),),
    faults=("it failed",),
)
READINGS = Readings(0.02, 100.0, None, 40.0, None)
CONTENDER = Contender("as2d", 2, "self", 3)
SOURCE = Source("abc", "host", {"as2d": "1"}, "digest")
WINDOW = Window("clip#1", "clip", "read", "de", 1.5, 9.0)


def run(decoded: Decoded = DECODED, *, repetition: int = 0, time_line: bool = False) -> Run:
    return make_run(
        decoded,
        READINGS,
        window="clip#1",
        contender=CONTENDER.key,
        repetition=repetition,
        time_line=time_line,
    )


def row(*runs: Run, expected: tuple[int, ...] = (1, 2, 3)) -> Row:
    return make_row(SOURCE, WINDOW, CONTENDER, runs, expected=expected, text="eins")


def test_a_run_adds_up_what_happened() -> None:
    made = run(repetition=2)
    assert (made.window, made.contender, made.repetition) == ("clip#1", "as2d self b3 2c1d", 2)
    assert (made.decode_ms, made.producer_done_ms, made.call_ms) == (10.0, 11.0, 12.0)
    assert (made.draft_ms, made.verify_ms, made.overlap_ms) == (6.0, 4.0, 1.0)
    assert (made.rounds, made.proposed, made.accepted, made.widths) == (3, 3, 1, {1: 2, 4: 1})
    assert (made.cpu_s, made.peak_memory_mb, made.cpu_mhz, made.temperature_c) == (0.02, 100.0, None, 40.0)
    assert made.faults == ("it failed",)
    assert made.time_line is None
    assert run(time_line=True).time_line == TimeLine(DECODED.drafting, DECODED.verifying, DECODED.steps)


def test_a_row_is_the_median_of_its_runs_figure_by_figure() -> None:
    first = run()
    runs = [
        replace(first, decode_ms=30.0, call_ms=1.0, widths={1: 3}),
        replace(first, decode_ms=20.0, call_ms=9.0, widths={1: 6, 8: 1}, temperature_c=None),
        replace(first, decode_ms=10.0, call_ms=5.0, widths={1: 0}, temperature_c=60.0, faults=("other",)),
    ]
    made = row(*runs)
    assert (made.decode_ms, made.call_ms, made.decode_ms_runs) == (20.0, 5.0, (30.0, 20.0, 10.0))
    assert made.widths == {1: 3.0, 8: 1 / 3}
    assert made.temperature_c == 50.0
    assert made.cpu_mhz is None
    assert made.faults == ("it failed", "other")
    assert made.repetitions == 3
    assert (made.window, made.clip, made.language, made.start_s) == ("clip#1", "clip", "de", 1.5)
    assert (made.method, made.drafter, made.budget, made.cores, made.drafter_cores) == (
        "as2d",
        "self",
        3,
        2,
        1,
    )
    assert (made.commit, made.host, made.corpus, made.text) == ("abc", "host", "digest", "eins")


def test_one_other_token_in_one_run_is_seen() -> None:
    good = run()
    assert row(good, good).identical
    assert not row(good, replace(good, tokens=(1, 2, 4))).identical
    assert not row(good, replace(good, tokens=(1, 2))).identical
    assert not row(good, good, expected=(1, 2)).identical


def test_loops_and_limits() -> None:
    assert row(replace(run(), finish_reason="repetition")).looped
    assert row(replace(run(), finish_reason="length")).capped
    stopped = row(run())
    assert not stopped.looped
    assert not stopped.capped


def test_the_last_time_line_is_kept() -> None:
    drawn = run(time_line=True)
    assert row(run(), drawn).time_line == drawn.time_line
    assert row(run(), run()).time_line is None
