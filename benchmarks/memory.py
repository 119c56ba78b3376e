"""Peak memory of the Whisper pair under AS²D: each recording is transcribed in a process of its own.

Run with `python -m benchmarks.memory`. Needs the corpus that `AS2D_CORPUS` names, and Linux. Exits with 1 when the peak
or its growth from 30 s to 10 minutes is beyond what the project promises.
"""

import argparse
import subprocess
import sys
import wave
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import as2d
from as2d.evaluation.corpora import Clip
from as2d.records import SAMPLE_RATE
from benchmarks.setting import development_corpus, print_header, read_samples, spoken_clips
from benchmarks.variants import SMALL

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


def main() -> int:
    """Measure and print; or transcribe the one file that is named, and print the peak of this process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("file", nargs="?", help="only transcribe this, and print the peak in MB")
    arguments = parser.parse_args()
    if arguments.file:
        as2d.transcribe(arguments.file, drafter=SMALL, method="as2d", language="en")
        print(peak_mb())
        return 0
    corpus = development_corpus()
    print_header(corpus)
    memory = _measure(spoken_clips(corpus.clips, ("en",)))
    print(
        f"peak memory of the pair: {memory.short_mb:.0f} MB for {SHORT_S} s, "
        f"{memory.long_mb:.0f} MB for {LONG_S // 60} min "
        f"(limit {PEAK_LIMIT_MB}), growth {memory.growth_mb:+.0f} MB (limit {GROWTH_LIMIT_MB})"
    )
    return 0 if memory.within_limits else 1


def _measure(clips: Iterable[Clip]) -> Memory:
    """Join clips to recordings of both lengths, and transcribe each in a fresh process."""
    with TemporaryDirectory(prefix="as2d-bench-") as folder:
        short, long = Path(folder) / "short.wav", Path(folder) / "long.wav"
        join(clips, SHORT_S, short)
        join(clips, LONG_S, long)
        _peak_in_child(short)  # builds graphs and probes exactness where that is still to do
        return Memory(_peak_in_child(short), _peak_in_child(long))


def join(clips: Iterable[Clip], seconds: int, path: Path) -> None:
    """Write the beginning of the clips' concatenation as 16-bit wav; ends the program where they are too short."""
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
    sys.exit(main())
