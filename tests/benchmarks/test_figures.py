import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are not installed

from benchmarks.corpus import parse_clip, referenced_clips, spoken_clips
from benchmarks.figures import (
    Contender,
    Drafting,
    MeasuredWindow,
    Timing,
    groups,
    languages,
    median_timing,
    pooled_tps,
    slow_share,
    speed_up,
    total_drafting,
)

FOLDER = Path("corpus")


def test_median_timing_takes_each_clock_by_itself() -> None:
    runs = [Timing(1, 20, 30, 40), Timing(2, 10, 31, 41), Timing(3, 15, 29, 39)]
    assert median_timing(runs) == Timing(2, 15, 30, 40)


def test_pooled_speed_is_all_tokens_over_all_time() -> None:
    windows = [window(tokens=10, as2d=100, alone=200), window(tokens=90, as2d=400, alone=800)]
    assert pooled_tps(windows, Contender.AS2D, "decode") == pytest.approx(200)
    assert speed_up(windows, Contender.ONE_CORE, "decode") == pytest.approx(2)


def test_a_window_is_slow_by_its_time_a_token() -> None:
    windows = [window(as2d=100, alone=99), window(as2d=100, alone=100), window(as2d=100, alone=101)]
    assert slow_share(windows, Contender.ONE_CORE, "complete") == pytest.approx(1 / 3)
    more_text = window(tokens=30, as2d=100, alone=99, alone_tokens=20)
    assert slow_share([more_text], Contender.ONE_CORE, "complete") == 0


def test_groups_leave_out_what_is_empty() -> None:
    english, german = window(), window(language="de")
    assert groups([english]) == {"English": [english], "ALL": [english]}
    assert groups([english, german])["other languages"] == [german]
    assert languages([german, english, english]) == "en 2, de 1"


def test_total_drafting_adds_up() -> None:
    total = total_drafting([window(), window()])
    assert (total.committed, total.proposed, total.rounds, total.faults) == (22, 12, 8, ("late", "late"))


def test_clips_of_the_manifest() -> None:
    clips = [
        clip(id="a", reference="yes"),
        clip(id="b", reference="yes", flag="song"),
        clip(id="c", reference=None, language="de", kind="other-lang"),
        clip(id="d", kind="format", reference="yes"),
        clip(id="e", language="zh-en", kind="zh"),
    ]
    assert [c.name for c in referenced_clips(clips)] == ["a"]
    spoken = spoken_clips(clips, ["en", "de"])
    assert sorted(c.name for c in spoken) == ["a", "b", "c"]
    assert spoken == spoken_clips(reversed(clips), ["en", "de"])


def clip(**fields: Any) -> Any:
    known = {"path": "audio/a.wav", "kind": "read", "language": "en", "duration_s": None}
    return parse_clip(json.dumps(known | fields), FOLDER)


def window(
    tokens: int = 10, as2d: float = 1, alone: float = 1, alone_tokens: int | None = None, language: str = "en"
) -> MeasuredWindow:
    counts = dict.fromkeys(Contender, tokens)
    if alone_tokens is not None:
        counts[Contender.ONE_CORE] = alone_tokens
    timings: Mapping[Contender, Timing] = {
        Contender.AS2D: Timing(as2d, as2d, as2d, as2d),
        Contender.ONE_CORE: Timing(alone, alone, alone, alone),
    }
    return MeasuredWindow(
        clip="clip",
        language=language,
        start_s=0,
        end_s=1,
        finish_reason="stop",
        identical=True,
        peer_agrees=True,
        tokens=counts,
        timings=timings,
        target_cross_ms=1,
        drafter_cross_ms=None,
        drafting=Drafting(11, 10, 6, 5, 4, 2, drafted=True, faults=("late",)),
    )
