"""The line that ends `as2d live`."""

from dataclasses import replace

from as2d.cli.live_summary import LiveSummary
from as2d.records import SourceStats, Stats
from as2d.session.live_text import LiveEvent
from as2d.session.pacing import LiveBlock, LiveEnd

TENTATIVE = LiveEvent(
    kind="tentative",
    window=0,
    start_s=0.0,
    end_s=4.0,
    text="one",
    tokens=(1,),
    language="en",
    finish_reason="stop",
    method="target-only",
    exact=True,
    stats=Stats(),
    sources=(),
    lag_ms=400.0,
)
STABLE = replace(
    TENTATIVE,
    kind="stable",
    method="as2d",
    sources=(
        SourceStats("tiny", windows=0),
        SourceStats("previous text", windows=1),
        SourceStats("self", windows=1, fault="ValueError: bad"),
    ),
    lag_ms=2000.0,
)


def test_nothing_was_heard() -> None:
    summary = LiveSummary()
    summary.add(LiveEnd(0.0, 0.0))
    assert summary.line == (
        "audio 0.0 s, stable texts 0, lag of tentative text -, of stable text -, blocks 0, widened 0, "
        "backlog 0.0 s, method -, drafters -"
    )
    assert summary.notices == []


def test_everything_is_counted() -> None:
    summary = LiveSummary()
    for item in (
        TENTATIVE,
        LiveBlock(0.0, 4.0, service_ms=400, backlog_s=0.0, widened=False),
        replace(TENTATIVE, lag_ms=600.0),
        STABLE,
        replace(STABLE, finish_reason="repetition"),
        LiveBlock(4.0, 12.0, service_ms=900, backlog_s=1.0, widened=True),
        LiveEnd(12.0, 2.5),
    ):
        summary.add(item)
    assert summary.line == (
        "audio 12.0 s, stable texts 2, lag of tentative text p50 0.50 p95 0.59 max 0.60 s, of stable text "
        "p50 2.00 p95 2.00 max 2.00 s, blocks 2, widened 1, backlog 2.5 s, method as2d, "
        "drafters previous text+self"
    )
    assert summary.notices == [
        "the drafter self failed, which cost only time: ValueError: bad",
        "the text of 1 windows is cut short",
    ]


def test_the_target_alone_is_named() -> None:
    summary = LiveSummary()
    summary.add(TENTATIVE)
    assert "method target-only, drafters -" in summary.line
