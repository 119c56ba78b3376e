"""The writers, on results made up here."""

import json

import pytest

from as2d.cli.formats import WRITERS, Format, timestamp
from as2d.records import Event, Result, Segment, SourceStats, Stats


def result(*texts: str) -> Result:
    segments = tuple(Segment(30.0 * i, 30.0 * i + 1.5, text, (i,)) for i, text in enumerate(texts))
    return Result(
        text="".join(texts),
        language="en" if texts else None,
        duration_s=60.0,
        tokens=tuple(range(len(texts))),
        segments=segments,
        method="target-only",
        exact=True,
        finish_reason="stop" if texts else "no_speech",
        truncated=False,
        warnings=(),
        stats=Stats(),
        sources=(SourceStats("self"),),
    )


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "00:00:00,000"),
        (0.0004, "00:00:00,000"),
        (0.0006, "00:00:00,001"),
        (59.9996, "00:01:00,000"),
        (3599.9999, "01:00:00,000"),
        (3723.0625, "01:02:03,062"),
        (360_000.0, "100:00:00,000"),
    ],
)
def test_timestamps(seconds: float, expected: str) -> None:
    assert timestamp(seconds, ",") == expected


def test_srt() -> None:
    assert WRITERS["srt"]("a.wav").result(result("One & <two>.", "", "Three\n\nfour.")) == (
        "1\n00:00:00,000 --> 00:00:01,500\nOne & <two>.\n\n2\n00:01:00,000 --> 00:01:01,500\nThree  four.\n"
    )


def test_vtt_escapes_what_would_be_markup() -> None:
    assert WRITERS["vtt"]("a.wav").result(result('R&D <b> --> "c"')) == (
        'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nR&amp;D &lt;b&gt; --&gt; "c"\n'
    )


@pytest.mark.parametrize(("name", "text"), [("txt", ""), ("srt", ""), ("vtt", "WEBVTT\n")])
def test_nothing_said(name: Format, text: str) -> None:
    assert WRITERS[name]("a.wav").result(result()) == text


def event(text: str, *, last: bool = False) -> Event:
    return Event((1,), ("alone",), 0, 0, finish_reason="stop" if last else None, text=text)


def test_txt_comes_window_by_window() -> None:
    writer = WRITERS["txt"]("a.wav")
    texts = [writer.event(event(text, last=last)) for text, last in ((" One", False), (".\n Two", True))]
    assert texts == ["", "One.  Two\n"]
    assert [writer.event(event("", last=True)), writer.event(event("Three", last=True))] == ["", "Three\n"]


@pytest.mark.parametrize("name", ["srt", "vtt", "json"])
def test_the_others_come_at_the_end(name: Format) -> None:
    assert WRITERS[name]("a.wav").event(event("One", last=True)) == ""


def test_json_is_one_line() -> None:
    for name in ("json", "jsonl"):
        text = WRITERS[name]("日本.wav").result(result("One\ntwo"))
        assert text.count("\n") == 1
        assert '"file": "日本.wav"' in text
        assert json.loads(text)["text"] == "One\ntwo"
        assert "sources" not in json.loads(text)
