"""What may draft beside a target: names, folders and loaded models, as sources that are loaded when first needed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from threading import Lock
from typing import Any

from as2d.configuration.memory import ABSENT, Absent, Room, if_room
from as2d.drafting.prefix import PrefixDrafter
from as2d.errors import InputError
from as2d.models.contract import AudioModel, SharesEncoder, Vocabulary
from as2d.models.load import (
    SELF,
    Device,
    Engine,
    load_drafter,
    require_whisper_target,
    usual_drafters,
    weight_bytes,
)
from as2d.models.memory import free_bytes, needed_bytes
from as2d.models.recognisers.contract import Recogniser
from as2d.models.recognisers.load import load_recogniser, names_recogniser
from as2d.models.store import Files, HubFiles, resolve
from as2d.records import Instruction
from as2d.runtime.pair import Load
from as2d.runtime.source import Encoded, Float32, Job, Source, source_of

AUTO = "auto"
"""The best of the drafters that come with as2d."""


Drafter = str | PathLike[str] | AudioModel | Recogniser
"""A name ("self", one of `as2d models list`, or of a recogniser), a Whisper folder, or a loaded model."""


class LazySource:
    """A source whose model is loaded when it is first needed. Any thread may be the first."""

    def __init__(
        self, name: str, identity: str, load: Load, *, encodes: bool, writes_on: bool = True
    ) -> None:
        """`identity` tells apart what drafts differently; `encodes` says that it has an encoder of its own, and
        `writes_on` that it can draft from a given text."""
        self.name = name
        self.identity = identity
        self.encodes = encodes
        self.writes_on = writes_on
        self._load = load
        self._lock = Lock()
        self._source: Source | None = None

    def loaded(self) -> Source:
        """The source itself. Raises what loading it raises, each time."""
        with self._lock:
            if self._source is None:
                self._source = source_of(self._load())
            return self._source

    def can_draft(self, instruction: Instruction) -> bool:
        """Whether it speaks the language and does the task."""
        return self.loaded().can_draft(instruction)

    def waits(self, instruction: Instruction) -> bool:
        """Whether it has nothing to do before the target has encoded a window."""
        return self.loaded().waits(instruction)

    def prepare(self, samples: Float32, encoded: Encoded, threads: int, instruction: Instruction) -> Any:
        """Encode one window."""
        return self.loaded().prepare(samples, encoded, threads, instruction)

    def draft(self, prepared: Any, job: Job) -> None:
        """Publish until there is no more to say."""
        self.loaded().draft(prepared, job)

    def open(
        self, prepared: Any, instruction: Instruction, target: Vocabulary, threads: int
    ) -> PrefixDrafter:
        """What drafts on from the target's text."""
        return self.loaded().open(prepared, instruction, target, threads)


@dataclass(frozen=True, slots=True)
class Drafters:
    """The sources that a session may use; of those that `compete` one drafts at a time, otherwise all together."""

    sources: tuple[LazySource, ...]
    compete: bool = False

    @property
    def groups(self) -> tuple[frozenset[int], ...]:
        """The sets of sources that may draft together."""
        indices = frozenset(range(len(self.sources)))
        if self.compete:
            return tuple(frozenset({index}) for index in sorted(indices))
        return (indices,) if indices else ()


def drafters_for(
    target: AudioModel,
    drafter: Drafter | Sequence[Drafter] | None,
    engine: Engine = "auto",
    device: Device = "cpu",
) -> Drafters:
    """What the caller named; audio models by name run on that engine. InputError or ModelNotFoundError for no name."""
    wanted = _as_sequence(drafter)
    if AUTO not in wanted:
        room = Room(free_bytes(device))
        return Drafters(tuple(_source(one, target, engine, device, room) for one in wanted))
    if len(wanted) > 1:
        raise InputError("the drafter auto stands for the best of several; name others without it")
    room = Room(free_bytes())
    sources = tuple(_source(name, target, "auto", "cpu", room) for name in usual_drafters(target))
    return Drafters(sources, compete=True)


def _as_sequence(drafter: Drafter | Sequence[Drafter] | None) -> Sequence[Drafter]:
    if drafter is None:
        return ()
    if isinstance(drafter, Sequence) and not isinstance(drafter, str):
        return drafter
    return (drafter,)


def _source(drafter: Drafter, target: AudioModel, engine: Engine, device: Device, room: Room) -> LazySource:
    if drafter == SELF:
        return _self(target)
    if isinstance(drafter, str) and names_recogniser(drafter):
        return LazySource(drafter, drafter, partial(load_recogniser, drafter), encodes=False, writes_on=False)
    if isinstance(drafter, str | PathLike):
        return _named(drafter, target, engine, device, room)
    identity = getattr(drafter, "identity", drafter.name)
    is_model = hasattr(drafter, "prepare")
    encodes = is_model and not isinstance(drafter, SharesEncoder)
    return LazySource(drafter.name, identity, lambda: drafter, encodes=encodes, writes_on=is_model)


def _named(
    name: str | PathLike[str], target: AudioModel, engine: Engine, device: Device, room: Room
) -> LazySource:
    files = resolve(name)
    if room.takes(files.name, needed_bytes(files, weight_bytes(files, engine, device))):
        load = partial(load_drafter, name, target=target, engine=engine, device=device)
        return LazySource(
            files.name, _identity(files, engine, device), partial(if_room, files.name, load), encodes=True
        )
    return LazySource(files.name, ABSENT, partial(Absent, files.name), encodes=False)


def _identity(files: Files, engine: Engine, device: Device) -> str:
    """The weights, and what computes them unless that is the usual engine on the CPU."""
    usual = "torch" if isinstance(files, HubFiles) and files.family != "whisper" else "onnxruntime"
    used = usual if engine == "auto" and device == "cpu" else "torch" if device == "cuda" else engine
    return files.digest if (used, device) == (usual, "cpu") else f"{files.digest} on {used} {device}"


def _self(target: AudioModel) -> LazySource:
    load = partial(load_drafter, SELF, require_whisper_target(target))
    return LazySource(SELF, f"{SELF} of {target.identity}", load, encodes=False)
