"""The command line in this process, over one loaded session where the models do not matter."""

import io
import json
import sys
import wave
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d import Result, Session
from as2d.audio import open_audio
from as2d.cli import answering, main

CLIPS = Path(__file__).parents[1] / "clips"


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        # On a busy machine a drafter may come too late to be worth its core, which is said and no matter here.
        return [line for line in self.err.splitlines() if "was switched off" not in line]

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Outcome]


@pytest.fixture
def run_fresh(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`as2d ARGUMENTS…`, with models of its own."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Outcome(status, out, err)

    return run


@pytest.fixture(scope="session")
def loaded() -> Iterator[Session]:
    with Session() as session:
        session.transcribe(CLIPS / "jfk.flac")  # measures the machine, which is said only once
        yield session


@pytest.fixture
def run(loaded: Session, run_fresh: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`as2d ARGUMENTS…` on the default models, loaded once."""
    monkeypatch.setattr(answering, "Session", lambda *_, **__: nullcontext(loaded))
    return run_fresh


@pytest.fixture(scope="session")
def clips() -> Path:
    return CLIPS


@pytest.fixture(scope="session")
def jfk() -> Path:
    return CLIPS / "jfk.flac"


@pytest.fixture(scope="session")
def jfk_samples(jfk: Path) -> NDArray[np.float32]:
    with open_audio(jfk) as stream:
        return np.concatenate(list(stream))


@pytest.fixture(scope="session")
def long_wav(jfk_samples: NDArray[np.float32], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three times the same sentence, 34.5 s: more than one window."""
    path = tmp_path_factory.mktemp("audio") / "long.wav"
    pause = np.zeros(8_000, np.float32)
    path.write_bytes(wav(np.concatenate([jfk_samples, pause] * 3)))
    return path


@pytest.fixture(scope="session")
def long_result(loaded: Session, long_wav: Path) -> Result:
    """What the target alone makes of it."""
    return loaded.transcribe(long_wav, method="target-only")


@pytest.fixture(scope="session")
def make_wav() -> Callable[..., bytes]:
    return wav


def wav(samples: NDArray[Any], rate: int = 16_000) -> bytes:
    """A 16-bit mono wav file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as output:
        output.setnchannels(1)
        output.setsampwidth(2)
        output.setframerate(rate)
        output.writeframes((samples * 32_767).astype("<i2").tobytes())
    return file.getvalue()


@pytest.fixture
def passage(tmp_path: Path) -> Path:
    """Spoken-SQuAD with one passage of two sentences, which is asked about twice."""
    with open_audio(CLIPS / "jfk.flac") as stream:
        samples = (np.concatenate(list(stream)) * 32767).astype(np.int16)
    folder = tmp_path / "passage"
    (folder / "dev_wav").mkdir(parents=True)
    for number, sentence in enumerate(np.array_split(samples, 2)):
        with wave.open(str(folder / "dev_wav" / f"0_0_{number}.wav"), "wb") as file:
            file.setparams((1, 2, 16_000, 0, "NONE", ""))
            file.writeframes(sentence.tobytes())
    asked: list[dict[str, Any]] = [
        {"id": name, "question": f"{name}?", "answers": []} for name in ("q1", "q2")
    ]
    content = {"data": [{"paragraphs": [{"qas": asked}]}]}
    (folder / "spoken_test-v1.1.json").write_text(json.dumps(content))
    return folder
