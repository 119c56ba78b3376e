"""Peak memory of the Whisper pair: each recording is transcribed in a process of its own.

`python -m benchmarks.memory FILE` transcribes the file and prints the peak.
"""

import subprocess
import sys
import wave
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import as2d
from as2d.records import SAMPLE_RATE
from benchmarks.corpus import Clip
from benchmarks.end_to_end import read_samples

SHORT_S = 30
LONG_S = 600
PEAK_LIMIT_MB = 1200
GROWTH_LIMIT_MB = 100


@dataclass(frozen=True, slots=True)
class Memory:
    """Peak resident memory in MB (10⁶ bytes) for a recording of 30 s and one of 10 minutes."""

    short_mb: float
    long_mb: float

    @property
    def growth_mb(self) -> float:
        """What the longer recording takes more."""
        return self.long_mb - self.short_mb

    @property
    def within_limits(self) -> bool:
        """Whether the peak and its growth are what the project promises."""
        return max(self.short_mb, self.long_mb) < PEAK_LIMIT_MB and self.growth_mb < GROWTH_LIMIT_MB


def measure_memory(clips: Iterable[Clip]) -> Memory:
    """Join English clips to recordings of both lengths, and transcribe each in a fresh process with AS²D."""
    with TemporaryDirectory(prefix="as2d-bench-") as folder:
        short, long = Path(folder) / "short.wav", Path(folder) / "long.wav"
        english = [clip for clip in clips if clip.language == "en"]
        _join(english, SHORT_S, short)
        _join(english, LONG_S, long)
        _peak_in_child(short)  # builds graphs and probes exactness where that is still to do
        return Memory(_peak_in_child(short), _peak_in_child(long))


def _join(clips: Iterable[Clip], seconds: int, path: Path) -> None:
    """Write the beginning of the clips' concatenation as 16-bit wav."""
    missing = seconds * SAMPLE_RATE
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        for clip in clips:
            samples = read_samples(clip)[:missing]
            file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
            missing -= len(samples)
            if not missing:
                return
    sys.exit(f"the corpus lacks {missing / SAMPLE_RATE:.0f} s of English speech for {seconds} s")


def _peak_in_child(path: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.memory", str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peak_mb() -> float:
    """Peak resident memory of this process since it began, in MB (Linux).

    `ru_maxrss` would also count what the parent held when it forked.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    as2d.transcribe(sys.argv[1], drafter="whisper-tiny.en", method="as2d", language="en")
    print(peak_mb())
