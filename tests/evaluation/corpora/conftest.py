"""Sounds and texts for miniatures of corpora, and manifests."""

import json
import wave
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from as2d.audio import open_audio
from as2d.evaluation.corpora import Clip, as_file

RATE = 16_000
Sound = Callable[..., None]
Lines = Callable[..., None]
WriteManifest = Callable[..., Path]


@pytest.fixture
def sound() -> Sound:
    """Writes a file of the kind that its suffix names: so many seconds of a constant `level`."""

    def sound(path: Path, seconds: float = 0.25, level: int = 1000) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        samples = np.full(round(seconds * RATE), level, np.int16)
        if path.suffix == ".wav":
            with wave.open(str(path), "wb") as file:
                file.setparams((1, 2, RATE, 0, "NONE", ""))
                file.writeframes(samples.tobytes())
        else:
            _encode(path, samples)

    return sound


@pytest.fixture
def lines() -> Lines:
    """Writes a text file of these lines."""

    def lines(path: Path, *content: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in content), encoding="utf-8")

    return lines


@pytest.fixture
def seconds_of() -> Callable[[Clip], float]:
    """How long a clip is when it is heard."""

    def seconds_of(clip: Clip) -> float:
        with as_file(clip) as whole, open_audio(whole.path) as stream:
            return sum(len(block) for block in stream) / RATE

    return seconds_of


@pytest.fixture
def write_manifest(tmp_path: Path) -> WriteManifest:
    """Writes a manifest of these entries (or raw lines), and a file for each that has `sound`."""

    def write(*entries: dict[str, Any] | str) -> Path:
        lines = []
        for entry in entries:
            if isinstance(entry, str):
                lines.append(entry)
                continue
            sound = entry.pop("sound", None)
            full = {
                "path": f"{entry.get('id')}.wav",
                "kind": "read",
                "language": "en",
                "reference": "a",
            } | entry
            lines.append(json.dumps({name: value for name, value in full.items() if value != "-"}))
            if sound:
                (tmp_path / full["path"]).write_bytes(sound)
        (tmp_path / "manifest.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return tmp_path

    return write


def _encode(path: Path, samples: np.ndarray) -> None:
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream({".flac": "flac", ".mp3": "mp3"}[path.suffix], rate=RATE)
        frame = av.AudioFrame.from_ndarray(samples[None], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = RATE, 0, Fraction(1, RATE)
        resampler = av.AudioResampler(stream.codec_context.format, "mono", RATE)
        for part in [*resampler.resample(frame), None]:
            container.mux(stream.encode(part))
