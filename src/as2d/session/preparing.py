"""Windows of a live recording, prepared once and kept for whoever asks."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from threading import Event, Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from as2d.audio import Window
from as2d.configuration.selection import Selector
from as2d.errors import CancelledError, UnsupportedError
from as2d.models.contract import AudioModel, Storable, prefix_of
from as2d.records import Instruction
from as2d.runtime.pair import Pair, PreparedWindow, SpeechWindow
from as2d.session.store import PreparedStore

_EVICTED = "it had been dropped to stay within `memory`"
_OTHER_PREFIX = "it had been prepared for another text before the audio"


class Span(NamedTuple):
    """Samples `start` up to but without `end` of the recording."""

    start: int
    end: int


def spans_of(windows: Iterable[Window]) -> frozenset[Span]:
    """Where windows are."""
    return frozenset(Span(window.start, window.end) for window in windows)


class Drafting(IntEnum):
    """Which drafters a window is prepared for; each includes those before."""

    NOBODY = 0
    SPEAKERS = 1
    ANYBODY = 2


class Key(NamedTuple):
    """A window, and what the target has read before it."""

    span: Span
    prefix: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A prepared window, and the drafters that it is prepared for."""

    window: PreparedWindow
    drafting: Drafting


@dataclass(frozen=True, slots=True)
class Packed:
    """A window that the target has encoded, as it is saved."""

    language: str | None
    arrays: Mapping[str, NDArray[np.generic]]


class Ready(NamedTuple):
    """A window to decode; `reused` unless the target had to encode it, `why` if not for the first time."""

    window: PreparedWindow
    reused: bool
    why: str | None


class Preparer:
    """Prepares the windows of one recording, and keeps them within a bound of bytes.

    `instruction` is what is prepared for without a request. One thread prepares; any may ask what is there.
    """

    def __init__(
        self,
        selector: Selector,
        instruction: Instruction,
        memory: int,
        packed: Mapping[Span, Packed] | None = None,
    ) -> None:
        """`packed` are windows that were saved, for the same instruction."""
        self.keeps = memory > 0
        """Whether it is of use to prepare anything before it is asked for."""
        self.instruction = instruction
        self._selector = selector
        self._pair: Pair = selector.pair
        self._store: PreparedStore[Key, Kept] = PreparedStore(memory)
        self._packed = {Key(span, self.prefix): value for span, value in (packed or {}).items() if self.keeps}
        self._seen: set[Key] = set(self._packed)
        self._lock = Lock()

    @property
    def prefix(self) -> str:
        """What the target reads before the audio when nothing else is asked for."""
        return prefix_of(self._pair.target, self.instruction)

    @property
    def drafts(self) -> bool:
        """Whether there are drafters to prepare for."""
        return bool(self._selector.drafters.sources)

    @property
    def held(self) -> int:
        """Bytes of what is prepared."""
        return self._store.held

    def ready(self, window: Window, instruction: Instruction, drafting: Drafting, cancelled: Event) -> Ready:
        """The window, prepared for those drafters at least. Raises CancelledError, and what models raise."""
        if cancelled.is_set():
            raise CancelledError("the request was cancelled")
        key = Key(Span(window.start, window.end), prefix_of(self._pair.target, instruction))
        before = self._store.get(key)
        kept = before or self._unpacked(key, window)
        why = None if kept else self._why_again(key)
        now = kept or Kept(self._encoded(window, instruction), Drafting.NOBODY)
        if now.drafting < drafting:
            now = Kept(self._with_sources(now.window, window, instruction, drafting, cancelled), drafting)
        if now is not before:
            self._keep(key, now)
        return Ready(now.window, kept is not None, why)

    def has(self, window: Window) -> bool:
        """Whether the target has encoded the window, and it is still here."""
        return Key(Span(window.start, window.end), self.prefix) in self._store

    def languages(self, windows: Iterable[Window], instruction: Instruction) -> set[str | None]:
        """The languages of prepared windows; None where one is not prepared."""
        prefix = prefix_of(self._pair.target, instruction)
        found = [self._store.get(Key(Span(window.start, window.end), prefix)) for window in windows]
        return {kept.window.language if kept else None for kept in found}

    def forget(self, gone: Callable[[Span], bool]) -> None:
        """Drop what is prepared of such windows."""
        with self._lock:
            keys = [key for key in self._seen if gone(key.span)]
            self._seen.difference_update(keys)
        for key in keys:
            self._packed.pop(key, None)
            self._store.discard(key)

    def close(self) -> None:
        """Drop all, and keep nothing of what is still being prepared."""
        self._packed.clear()
        self._store.close()

    def packed(self) -> dict[Span, Packed]:
        """What the target has encoded after the usual words, as far as it is here. UnsupportedError where it cannot."""
        target = storable(self._pair.target)
        waiting = {key.span: packed for key, packed in self._packed.copy().items()}
        encoded = {
            key.span: Packed(kept.window.language, target.pack(kept.window.target))
            for key, kept in self._store.items().items()
            if key.prefix == self.prefix
        }
        return waiting | encoded

    def _keep(self, key: Key, kept: Kept) -> None:
        self._store.put(key, kept)
        with self._lock:
            self._seen.add(key)

    def _why_again(self, key: Key) -> str | None:
        with self._lock:
            if key in self._seen:
                return _EVICTED
            return _OTHER_PREFIX if any(seen.span == key.span for seen in self._seen) else None

    def _unpacked(self, key: Key, window: Window) -> Kept | None:
        packed = self._packed.pop(key, None)
        if packed is None:
            return None
        target = storable(self._pair.target)
        audio = target.unpack(packed.arrays, len(window.samples), self._pair.cores.alone)
        prepared = PreparedWindow(window.start, window.end, audio, packed.language, prefix=key.prefix)
        return Kept(prepared, Drafting.NOBODY)

    def _encoded(self, window: Window, instruction: Instruction) -> PreparedWindow:
        """In the recording's language: what one request says of it must not reach the next."""
        asked = replace(instruction, language=self.instruction.language)
        speech = SpeechWindow(window.start, window.samples)
        return self._pair.prepare(speech, asked, any_language=False, chosen=_nobody)

    def _with_sources(
        self,
        prepared: PreparedWindow,
        window: Window,
        instruction: Instruction,
        drafting: Drafting,
        cancelled: Event,
    ) -> PreparedWindow:
        """The window with the part of each drafter that may be chosen for it."""
        chosen = self._selector.to_prepare(cancelled)
        return self._pair.with_sources(
            prepared,
            SpeechWindow(window.start, window.samples),
            instruction,
            any_language=drafting is Drafting.ANYBODY,
            chosen=chosen,
        )


def storable(model: AudioModel) -> Storable:
    """The model, if what it prepares can be saved; else UnsupportedError."""
    if not isinstance(model, Storable):
        raise UnsupportedError(
            f"what {model.name} prepares cannot be saved; keep the audio, and prepare it again"
        )
    return model


def _nobody(_: Instruction) -> frozenset[int]:
    return frozenset()
