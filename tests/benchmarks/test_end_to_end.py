"""Whole clips: which are measured, and the table."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.end_to_end import MeasuredClip, long_enough, table

from as2d.evaluation.corpora import Clip
from as2d.models.whisper.model import WhisperModel


def test_the_table_sums_by_language() -> None:
    clips = [
        MeasuredClip("en", 10.0, {"alone": 1.0, "auto": 0.5}),
        MeasuredClip("en", 20.0, {"alone": 2.0, "auto": 1.0}),
        MeasuredClip("de", 5.0, {"alone": 1.0, "auto": 1.0}),
    ]
    assert table(clips).splitlines() == [
        "| clips | audio | alone | auto |",
        "| --- | ---: | ---: | ---: |",
        "| English (2) | 30 s | 3.00 s, RTFx 10.0 | 1.50 s, RTFx 20.0 |",
        "| other languages (1) | 5 s | 1.00 s, RTFx 5.0 | 1.00 s, RTFx 5.0 |",
        "| all (3) | 35 s | 4.00 s, RTFx 8.8 | 2.50 s, RTFx 14.0 |",
    ]


def test_groups_that_are_empty_are_left_out() -> None:
    lines = table([MeasuredClip("de", 5.0, {"alone": 1.0})]).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| other languages (1)", "| all (1)"]


def test_clips_that_say_enough_are_taken(base: WhisperModel, clips: Mapping[str, Path]) -> None:
    def clip(name: str, language: str, duration_s: float = 11.0) -> Clip:
        return Clip(name, clips[name], "read", language, "", duration_s, doubtful=False)

    offered = [
        clip("jfk", "en", 151.0),
        clip("jfk", "en"),
        clip("ls-3080-5032-0007", "en"),
        clip("ls-3080-5032-0007", "en"),
        clip("fleurs-de-003", "de"),
        clip("fleurs-fr-005", "fr"),
    ]
    found = [one.name for one, samples in long_enough(base, offered, 1) if len(samples)]
    assert found == ["ls-3080-5032-0007", "fleurs-de-003"]
