"""Every model that can draft, and answers of any combination of them to recordings that are prepared once."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from time import sleep
from types import MappingProxyType
from typing import Any, Literal, cast
from zlib import crc32

import numpy as np
import pytest

from as2d.models.contract import AudioModel, Decoder, Rows
from as2d.models.recognisers.contract import Recogniser
from as2d.models.recognisers.load import load_recogniser
from as2d.models.whisper.drafter import load_whisper_self_drafter
from as2d.models.whisper.model import WhisperModel
from as2d.records import Instruction, Task, UsedMethod
from as2d.runtime.pair import Pair, SpeechWindow
from as2d.runtime.source import Source
from as2d.runtime.window import Decoding, WindowRecord, run_window
from as2d.session import PreparedRecording
from as2d.session.recording import Recording

Pace = Literal["live", "patient", "unhurried"]
"""How a target runs: as fast as it can; behind drafters that have ended; or with a rest before every round."""
Setting = Mapping[str, Any]
"""Options of `ask`."""

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
            if thread.name == "as2d-producer" and thread.is_alive():  # not one that is just being started
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


def _pair(target: AudioModel, drafters: Sequence[AudioModel | Recogniser | Source], threads: int) -> Pair:
    def loader(model: AudioModel | Recogniser | Source) -> Callable[[], AudioModel | Recogniser | Source]:
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
            windows = tuple(
                pair.prepare(window, Instruction(), any_language=True) for window in recording.windows
            )
            return PreparedRecording(windows, recording.samples, recording.warnings)

    return prepared


@pytest.fixture(scope="session")
def ask(
    base: WhisperModel, drafters: Mapping[str, AudioModel | Recogniser]
) -> Callable[..., list[WindowRecord]]:
    """Gives the records of a recording's windows, decoded with the named drafters; with none by the target alone.

    A recording is what `prepare` made, or windows that nobody has encoded. `stand_ins` draft instead of the drafters
    of their names.
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
        method: UsedMethod = "as2d",
        stand_ins: Mapping[str, Source] = MappingProxyType({}),
    ) -> list[WindowRecord]:
        models = [stand_ins.get(name, drafters[name]) for name in names]
        pair = _pair(cast(AudioModel, targets[pace]), models, threads)
        assert pair.exact
        decoding = Decoding(method if names else "target-only", budget, "word", True, resync)
        if isinstance(recording, PreparedRecording):
            places = [list(drafters).index(name) for name in names]
            windows: Sequence[Any] = [
                replace(window, sources=tuple(window.sources[place] for place in places))
                for window in recording.windows
            ]
        else:
            windows = recording
        records = [_run(pair, window, Instruction(task), decoding) for window in windows]
        faults = [fault for record in records for fault in record.faults]
        assert all("left behind" in fault for fault in faults), (
            faults
        )  # a loaded machine ends nothing in time
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


@pytest.fixture(scope="session")
def ask_all(ask: Callable[..., list[WindowRecord]]) -> Callable[..., list[list[WindowRecord]]]:
    """Gives the answers of `ask` for several settings, beside what is common to them all.

    Two at a time, which takes less time and disturbs the drafters more.
    """

    def asked(
        recording: PreparedRecording,
        names: Sequence[str],
        settings: Iterable[Setting],
        **common: Any,
    ) -> list[list[WindowRecord]]:
        def answer(setting: Setting) -> list[WindowRecord]:
            return ask(recording, names, **setting, **common)

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(answer, settings))

    return asked


@pytest.fixture(scope="session")
def said() -> Callable[[Sequence[WindowRecord]], list[tuple[Any, ...]]]:
    """Gives what may not depend on the method."""
    return lambda records: [
        (
            record.start,
            record.end,
            record.language,
            [token for commit in record.commits for token in commit.tokens],
            record.commits[-1].finish_reason,
        )
        for record in records
    ]


@pytest.fixture(scope="session")
def checksums() -> Callable[[PreparedRecording], list[int]]:
    """Gives those of all arrays that the target and the drafters share."""
    return lambda recording: [
        crc32(array.data)
        for window in recording.windows
        for audio in (window.target, *(source.audio for source in window.sources))
        for array in _arrays(audio)
    ]


def _arrays(audio: Any) -> Sequence[Any]:
    """What a recogniser or a Whisper model has prepared."""
    if isinstance(audio, np.ndarray):
        return (audio,)
    return (audio.states, *audio.cross.keys, *audio.cross.values)
