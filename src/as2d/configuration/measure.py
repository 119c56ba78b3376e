"""What drafting brings on this machine, measured on two clips that are part of the package."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict
from importlib.resources import files
from logging import getLogger
from pathlib import Path
from statistics import median
from threading import Event
from time import perf_counter
from typing import Literal, NamedTuple

import numpy as np

from as2d.audio import open_audio
from as2d.configuration.drafters import Drafters
from as2d.configuration.method import DEFAULT_BUDGET, Evidence, Kind, Times, Trial
from as2d.engines.onnxruntime import cpu_fingerprint
from as2d.models.cache import cache_key, cached
from as2d.models.contract import AudioModel
from as2d.records import Instruction
from as2d.runtime.pair import Pair, PreparedWindow, SpeechWindow
from as2d.runtime.window import Decoding, WindowRecord, run_window

_DECODES = 3
_TRANSCRIPTIONS = 2
_ENOUGH_MS = 20_000
"""Beyond it nothing is timed once more: a large model is slower than the machine is noisy."""
_FILE = "evidence.json"

Group = frozenset[int]
"""Sources that draft together; none is the target alone."""

_log = getLogger(__name__)


class _Clip(NamedTuple):
    kind: Kind
    file: str
    instruction: Instruction


_CLIPS = (
    _Clip("english", "ls-3080-5032-0007.flac", Instruction("transcribe", "en")),
    _Clip("other", "fleurs-de-003.ogg", Instruction("transcribe", "de")),
    _Clip("translation", "fleurs-de-003.ogg", Instruction("translate", "de")),
    _Clip("question", "ls-3080-5032-0007.flac", Instruction("ask", "en", question="What is this about?")),
)


class _Run(NamedTuple):
    total_ms: float
    record: WindowRecord


class _FaultError(Exception):
    """A source cannot be measured."""

    def __init__(self, source: int, fault: str) -> None:
        super().__init__(fault)
        self.source = source
        self.fault = fault


class _IncompleteError(Exception):
    """Evidence that is not worth keeping: what failed today may work tomorrow."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__("some sources, or all, were not measured")
        self.evidence = evidence


def evidence_of(
    pair: Pair, drafters: Drafters, cancelled: Event, worth_measuring: Callable[[], bool]
) -> Evidence:
    """What is known of the drafters on this machine: measured once and cached, unless a source fails.

    No trials where nothing is known and it is not worth being measured, which is asked only then.

    Raises CancelledError, or CacheError when the cache cannot be written.
    """
    identities = (source.identity for source in drafters.sources)
    machine = (*cpu_fingerprint().values(), str(pair.cores.alone))
    how = (str(_CLIPS), str(DEFAULT_BUDGET))

    def evidence() -> Evidence:
        return measure(pair, drafters, cancelled) if worth_measuring() else Evidence((), {})

    key = cache_key("auto", *how, pair.target.identity, *machine, str(drafters.compete), *identities)
    try:
        folder = cached(key, lambda new: _write(new, evidence()))
    except _IncompleteError as incomplete:
        return incomplete.evidence
    return _read(folder)


def measure(pair: Pair, drafters: Drafters, cancelled: Event) -> Evidence:
    """Measure the target alone and each group of drafters. A source that fails is left out, and its fault kept."""
    _log.info(
        "measuring this machine once, to know where drafting pays (some ten seconds, with large models minutes)"
    )
    groups: Collection[Group] = drafters.groups
    faults: dict[int, str] = {}
    while True:
        try:
            return Evidence(_trials(pair, drafters, groups, cancelled), faults)
        except _FaultError as error:
            faults[error.source] = error.fault
            groups = [left for group in groups if (left := group.difference(faults))]


def _trials(pair: Pair, drafters: Drafters, groups: Collection[Group], cancelled: Event) -> tuple[Trial, ...]:
    _load(drafters, groups)
    times: dict[Group, dict[Kind, Times]] = {frozenset(): {}, **{group: {} for group in groups}}
    for clip in _clips_for(pair.target):
        able = [group for group in groups if _can_draft(drafters, group, clip)]
        if able:  # otherwise the target answers alone, however long that takes
            for group, found in _measured(pair, clip, [frozenset(), *able], cancelled):
                times[group][clip.kind] = found
    return tuple(Trial(group, found) for group, found in times.items())


def _load(drafters: Drafters, groups: Collection[Group]) -> None:
    for index in sorted(frozenset[int]().union(*groups)):
        try:
            drafters.sources[index].loaded()
        except Exception as error:  # whatever a drafter does, the target answers
            raise _FaultError(index, f"{type(error).__name__}: {error}") from error


def _clips_for(target: AudioModel) -> Iterator[_Clip]:
    known = target.capabilities
    for clip in _CLIPS:
        if clip.instruction.language in known.languages and clip.instruction.task in known.tasks:
            yield clip


def _can_draft(drafters: Drafters, group: Group, clip: _Clip) -> bool:
    return any(drafters.sources[index].can_draft(clip.instruction) for index in group)


def _measured(
    pair: Pair, clip: _Clip, groups: Sequence[Group], cancelled: Event
) -> Iterator[tuple[Group, Times]]:
    window = _heard(clip.file)

    def run(audio: SpeechWindow | PreparedWindow, group: Group) -> _Run:
        return _run(pair, audio, clip.instruction, group, cancelled)

    # A source that hangs does so in a thread of its own here, where it is found out.
    unprepared = _alternated(groups, lambda group: run(window, group).total_ms, _TRANSCRIPTIONS)
    everybody = frozenset[int]().union(*groups)
    prepared = pair.prepare(window, clip.instruction, any_language=False, chosen=lambda _: everybody)
    decoded = _alternated(groups, lambda group: run(prepared, group).record.decode_ms, _DECODES)
    for group in groups:
        # The first transcription opens what the second finds open, so that their median says little.
        yield group, Times(median(decoded[group]), min(unprepared[group]))


def _heard(file: str) -> SpeechWindow:
    speech = files("as2d.configuration").joinpath("speech", file).read_bytes()
    with open_audio(speech) as stream:
        return SpeechWindow(0, np.concatenate(list(stream)))


def _alternated(
    groups: Sequence[Group], milliseconds: Callable[[Group], float], turns: int
) -> dict[Group, list[float]]:
    """Each group's times, at most so many. The groups take turns, since a machine is faster at times."""
    found: dict[Group, list[float]] = {group: [] for group in groups}
    for _ in range(turns):
        for group in groups:
            found[group].append(milliseconds(group))
        if sum(map(sum, found.values())) >= _ENOUGH_MS:
            break
    return found


def _run(
    pair: Pair,
    audio: SpeechWindow | PreparedWindow,
    instruction: Instruction,
    group: Group,
    cancelled: Event,
) -> _Run:
    """Decode one window as a request would. Raises _FaultError when a source failed."""
    method: Literal["as2d", "target-only"] = "as2d" if group else "target-only"
    decoding = Decoding(method, DEFAULT_BUDGET, "word", any_language=False, chosen=lambda _: group)
    start = perf_counter()
    decode = run_window(pair, audio, instruction, decoding, cancelled)
    while True:
        try:
            next(decode)
        except StopIteration as stop:
            total_ms = (perf_counter() - start) * 1000
            record: WindowRecord = stop.value
            _require_sound(record)
            return _Run(total_ms, record)


def _require_sound(record: WindowRecord) -> None:
    for index, source in enumerate(record.sources):
        if source.fault:
            raise _FaultError(index, source.fault)


def _write(folder: Path, evidence: Evidence) -> None:
    if evidence.faults or not evidence.trials:
        raise _IncompleteError(evidence)
    trials = [asdict(trial) | {"sources": sorted(trial.sources)} for trial in evidence.trials]
    (folder / _FILE).write_text(json.dumps(trials), encoding="utf-8")


def _read(folder: Path) -> Evidence:
    trials = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    return Evidence(tuple(_trial(**trial) for trial in trials), {})


def _trial(sources: list[int], times: dict[Kind, list[float]]) -> Trial:
    return Trial(frozenset(sources), {kind: Times(*found) for kind, found in times.items()})
