"""A soak passes where all is well, and fails for each thing that may not happen."""

import threading
import wave
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from as2d.audio import open_audio
from as2d.evaluation.corpora import Clip
from as2d.evaluation.soak import faults, run
from as2d.evaluation.soak.report import as_dict, failures, markdown, progress
from as2d.evaluation.soak.run import Soak, SoakOptions
from as2d.models.contract import AudioModel
from as2d.runtime.source import source_of

END = 256
TEXT = "Ask not what your country can do for you."
OPTIONS = SoakOptions(minutes=0.01, clients=2, fault_share=0.3, seed=3)


@pytest.fixture(autouse=True)
def _short(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults that take no time, and no patience with what was left behind."""
    monkeypatch.setattr(faults, "LONGEST_S", 0.1)
    monkeypatch.setattr(run, "_SETTLING_S", 0.5)


@pytest.fixture
def make(toy: Callable[..., AudioModel], clips: Mapping[str, Path], tmp_path: Path) -> Callable[..., Soak]:
    """A soak of toys; `says` gives the target's next token, `on_open` is called at each of its decodes."""

    sentence = tmp_path / "sentence.wav"
    with open_audio(clips["jfk"]) as stream, wave.open(str(sentence), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes((np.concatenate(list(stream))[:48_000] * 32_767).astype("<i2").tobytes())

    def make(says: Any = TEXT, **hooks: Callable[[], None]) -> Soak:
        clip = Clip("jfk", sentence, "read", "en", "", 3.0, False)
        target = toy(says, **hooks)
        return Soak(target, [source_of(toy(TEXT, name="drafter"))], [clip], OPTIONS, cores=2)

    return make


class Switch:
    """Off during warm-up."""

    def __init__(self) -> None:
        self.on = False

    def run(self, soak: Soak) -> Soak:
        for _ in soak.run():
            self.on = True
        return soak


@pytest.fixture
def switch() -> Switch:
    return Switch()


def test_it_passes_where_all_is_well(make: Callable[..., Soak], switch: Switch) -> None:
    soak = switch.run(make())
    assert failures(soak) == []
    assert soak.tally.counts["answers"] > 10
    assert soak.faults.counts.total() > 0
    assert len(soak.readings) == 7
    text = markdown(soak, {"Host": "a machine"})
    assert "* Host: a machine" in text
    assert "Verdict: passed" in text
    assert "0 wrong, 0 errors" in progress(soak, OPTIONS)
    assert as_dict(soak, {})["readings"][0]["threads"]["MainThread"] == 1


def test_it_catches_a_wrong_token(make: Callable[..., Soak], switch: Switch) -> None:
    def says(prefix: Sequence[int]) -> int:
        text = TEXT.replace("country", "cousins") if switch.on else TEXT
        answer = (*text.encode(), END)
        return answer[len(prefix)] if len(prefix) < len(answer) else END

    (found, *_) = failures(switch.run(make(says)))
    assert found.startswith("wrong token: ")
    assert "of jfk (" in found


def test_it_catches_what_is_raised(make: Callable[..., Soak], switch: Switch) -> None:
    def fail() -> None:
        if switch.on:
            raise RuntimeError("no luck")

    (found, *_) = failures(switch.run(make(on_open=fail)))
    assert found.startswith("error: ")
    assert found.endswith("RuntimeError: no luck")


def test_it_catches_leaked_threads_descriptors_and_memory(
    make: Callable[..., Soak], switch: Switch, tmp_path: Path, files: list[Any]
) -> None:
    enough = threading.Event()
    kept = []

    def leak() -> None:
        if switch.on:
            threading.Thread(target=enough.wait, name="forgotten", daemon=True).start()
            files.append((tmp_path / "left open").open("wb"))
            kept.append(np.ones(8 << 20, np.uint8))

    soak = switch.run(make(on_open=leak))
    enough.set()
    threads, descriptors, memory = failures(soak)
    assert threads.startswith("threads: ")
    assert threads.endswith(" of forgotten")
    assert descriptors.startswith("files: ")
    assert descriptors.endswith("left open")
    assert memory.startswith("memory grew by ")


@pytest.fixture
def files() -> Iterator[list[Any]]:
    opened: list[Any] = []
    yield opened
    for file in opened:
        file.close()


def test_without_an_answer_it_fails(make: Callable[..., Soak]) -> None:
    soak = make()
    assert failures(soak) == [
        "no answer was compared; give it more minutes",
        "it did not get through warm-up",
    ]
    assert "Verdict: **failed**" in markdown(soak, {})


@pytest.mark.parametrize(
    ("minutes", "warm_up_min"), [(0.1, 0.05), (2, 1), (5, 1), (20, 2), (60, 3), (600, 3)]
)
def test_a_warm_up_is_long_enough(minutes: float, warm_up_min: float) -> None:
    assert run.warm_up_s(60 * minutes) == pytest.approx(60 * warm_up_min)
