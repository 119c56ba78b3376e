"""The limits of memory, and the recordings that it is measured with."""

import os
import wave
from collections.abc import Mapping
from pathlib import Path

import pytest
from benchmarks.memory import Memory, join, peak_mb

from as2d.evaluation.corpora import Clip


@pytest.mark.parametrize(
    ("short_mb", "long_mb", "good"),
    [(1000, 1099, True), (1000, 1100, False), (1150, 1200, False), (1200, 1100, False)],
)
def test_peak_and_growth_are_limited(short_mb: float, long_mb: float, good: bool) -> None:
    assert Memory(short_mb, long_mb).within_limits is good


def test_clips_are_joined_to_the_length(clips: Mapping[str, Path], tmp_path: Path) -> None:
    jfk = Clip("jfk", clips["jfk"], "read", "en", "", 11.0, doubtful=False)
    join([jfk, jfk], 15, tmp_path / "joined.wav")
    with wave.open(str(tmp_path / "joined.wav")) as file:
        assert (file.getnframes(), file.getframerate(), file.getnchannels()) == (240_000, 16_000, 1)
    with pytest.raises(SystemExit, match="lacks 4 s"):
        join([jfk], 15, tmp_path / "joined.wav")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells it")
def test_the_peak_is_that_of_this_process() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    assert pages * os.sysconf("SC_PAGE_SIZE") / 1e6 <= peak_mb() + 1
