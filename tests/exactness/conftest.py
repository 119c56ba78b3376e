"""Every model that can draft, and answers of any combination of them to recordings that are prepared once."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any, Literal, cast

import pytest

from as2d.models.contract import AudioModel, Decoder, Rows
from as2d.models.recognisers.contract import Recogniser
from as2d.models.recognisers.load import load_recogniser
from as2d.models.whisper.drafter import load_whisper_self_drafter
from as2d.models.whisper.model import WhisperModel
from as2d.records import Instruction, Task
from as2d.runtime.pair import Pair, SpeechWindow
from as2d.runtime.window import Decoding, WindowRecord, run_window
from as2d.session import PreparedRecording
from as2d.session.recording import Recording

Pace = Literal["live", "patient", "unhurried"]
"""How a target runs: as fast as it can; behind drafters that have ended; or with a rest before every round."""

_REST_SECONDS = 0.03


class Patient:
    """A target that begins when its drafters have said everything.

    A drafter that does not speak the language, or is as slow as the target, is otherwise hardly ever ahead. Not for
    drafters that may be restarted: they wait for that, and do not end.
    """

    def __init__(self, model: AudioModel) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def open(self, *arguments: Any) -> Decoder:
        for thread in threading.enumerate():
            if thread.name == "as2d-producer":
                thread.join()
        return self._model.open(*arguments)


class Unhurried:
    """A target whose drafters have the time to be restarted, too."""

    def __init__(self, model: AudioModel) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def open(self, *arguments: Any) -> Decoder:
        return cast(Decoder, UnhurriedDecoder(self._model.open(*arguments)))


class UnhurriedDecoder:
    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)

    def forward(self, tokens: Sequence[int]) -> Rows:
        sleep(_REST_SECONDS)
        return self._decoder.forward(tokens)


@pytest.fixture(scope="session")
def patient() -> Callable[[AudioModel], AudioModel]:
    """Makes a target patient."""
    return lambda model: cast(AudioModel, Patient(model))


@pytest.fixture(scope="session")
def drafters(base: WhisperModel, tiny: WhisperModel) -> Mapping[str, AudioModel | Recogniser]:
    """All that can draft here, by name. Prepared recordings hold them in this order, the default drafter first."""
    models: dict[str, AudioModel | Recogniser] = {"tiny.en": tiny, "self": load_whisper_self_drafter(base)}
    if find_spec("pocketsphinx"):
        models["pocketsphinx"] = load_recogniser("pocketsphinx")
    return models


def _pair(target: AudioModel, drafters: Sequence[AudioModel | Recogniser], threads: int) -> Pair:
    def loader(model: AudioModel | Recogniser) -> Callable[[], AudioModel | Recogniser]:
        return lambda: model

    return Pair(target, [loader(model) for model in drafters], threads)


@pytest.fixture(scope="session")
def prepare(
    base: WhisperModel, drafters: Mapping[str, AudioModel | Recogniser]
) -> Callable[[Path], PreparedRecording]:
    """Prepares a recording for every drafter, whatever it speaks."""
    pair = _pair(base, list(drafters.values()), 2)

    def prepared(path: Path) -> PreparedRecording:
        with Recording(path) as recording:
            windows = tuple(pair.prepare(window, None, any_language=True) for window in recording.windows)
            return PreparedRecording(windows, recording.samples, recording.warnings)

    return prepared


@pytest.fixture(scope="session")
def ask(
    base: WhisperModel, drafters: Mapping[str, AudioModel | Recogniser]
) -> Callable[..., list[WindowRecord]]:
    """Gives the records of a recording's windows, decoded with the named drafters; with none by the target alone.

    A recording is what `prepare` made, or windows that nobody has encoded.
    """
    targets = {"live": base, "patient": Patient(base), "unhurried": Unhurried(base)}

    def asked(
        recording: PreparedRecording | Sequence[SpeechWindow],
        names: Sequence[str] = (),
        *,
        budget: int = 7,
        threads: int = 1,
        resync: bool = False,
        pace: Pace = "live",
        task: Task = "transcribe",
    ) -> list[WindowRecord]:
        pair = _pair(cast(AudioModel, targets[pace]), [drafters[name] for name in names], threads)
        assert pair.exact
        decoding = Decoding("as2d" if names else "target-only", budget, "word", True, resync)
        if isinstance(recording, PreparedRecording):
            places = [list(drafters).index(name) for name in names]
            windows: Sequence[Any] = [
                replace(window, sources=tuple(window.sources[place] for place in places))
                for window in recording.windows
            ]
        else:
            windows = recording
        records = [_run(pair, window, Instruction(task), decoding) for window in windows]
        assert not any(record.faults for record in records)
        return records

    return asked


def _run(pair: Pair, window: Any, instruction: Instruction, decoding: Decoding) -> WindowRecord:
    run: Iterator[Any] = run_window(pair, window, instruction, decoding, Event())
    while True:
        try:
            next(run)
        except StopIteration as stop:
            record: WindowRecord = stop.value
            return record
