"""A live recording on disk: its audio and what the target has encoded, and a small JSON that says what they are.

`recording.json` names the schema, as2d's version, the target's identity, the digest of `audio.safetensors`, and where
the windows are. A save is written beside the folder and then takes its place, so that there is never half of one.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import file_digest
from inspect import get_annotations
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple, TypeVar, get_origin
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from as2d._version import __version__
from as2d.audio import Window
from as2d.audio.live import LiveWindows
from as2d.errors import InputError, SaveError
from as2d.session.preparing import Packed, Span

SCHEMA = 1
MANIFEST = "recording.json"
TENSORS = "audio.safetensors"

_NOT_SPEECH: NDArray[np.float32] = np.zeros(0, np.float32)

Arrays = Mapping[str, NDArray[np.generic]]


E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Saved:
    """All that a live recording goes on from. What is `packed` was encoded after the words `prefix`."""

    sample_rate: int
    open: LiveWindows
    complete: tuple[Window, ...] = ()
    samples: int = 0
    packed: Mapping[Span, Packed] = field(default_factory=dict)
    language: str | None = None
    context: str = ""
    prefix: str = ""
    warnings: tuple[str, ...] = ()
    finished: bool = False


class _SavedWindow(NamedTuple):
    """A window in the manifest; `language` is that of what is packed."""

    start: int
    end: int
    speech: bool
    packed: bool
    language: str | None


@dataclass(frozen=True, slots=True)
class _Manifest:
    schema: int
    as2d: str
    target: str
    sha256: str
    sample_rate: int
    samples: int
    language: str | None
    context: str
    prefix: str
    warnings: list[str]
    finished: bool
    windows: list[_SavedWindow]


def write_saved(folder: str | os.PathLike[str], saved: Saved, target: str) -> None:
    """Write a recording prepared by the target of that identity, in place of an earlier one if there is one.

    InputError for a folder that holds something else; SaveError where it cannot be written: what was there stays.
    """
    place = Path(folder).resolve()
    new = place.with_name(f".{place.name}-{uuid4().hex}")
    try:
        _check_replaceable(place)
        new.mkdir()
        _write(new, saved, target)
        _take_place(place, new)
    except (OSError, SafetensorError) as error:
        raise SaveError(
            f"the recording could not be saved to {place} ({error}); free space there, or choose another folder"
        ) from error
    finally:
        rmtree(new, ignore_errors=True)


def read_saved(folder: str | os.PathLike[str], target: str) -> Saved:
    """The recording in a folder, if it was prepared by the target of that identity. Raises InputError."""
    place = Path(folder)
    manifest = _read_manifest(place, target)
    try:
        return _saved(manifest, _read_tensors(place, manifest.sha256))
    except (LookupError, ValueError, TypeError, OSError, SafetensorError) as error:
        raise _damaged(place, str(error)) from error


def _check_replaceable(place: Path) -> None:
    """InputError unless there is nothing, an empty folder, or an earlier save alone."""
    if not place.exists():
        return
    if not place.is_dir() or not {path.name for path in place.iterdir()} <= {MANIFEST, TENSORS}:
        raise InputError(f"{place} holds other things than a saved recording; choose another folder")


def _write(new: Path, saved: Saved, target: str) -> None:
    _synced(new / TENSORS, lambda path: save_file(dict(_tensors(saved)), path))
    manifest = json.dumps(asdict(_manifest(saved, target, _digest(new / TENSORS))), ensure_ascii=False)
    _synced(new / MANIFEST, lambda path: path.write_text(manifest, encoding="utf-8"))


def _synced(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file; a disk may say that it is full only when it has to keep what was written."""
    write(path)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _take_place(place: Path, new: Path) -> None:
    """Rename `new`; what was there goes only when that has worked."""
    if not place.exists():
        new.rename(place)
        return
    old = new.with_name(f"{new.name}-old")
    place.rename(old)
    try:
        new.rename(place)
    except BaseException:
        old.rename(place)
        raise
    rmtree(old, ignore_errors=True)


def _tensors(saved: Saved) -> dict[str, NDArray[Any]]:
    tensors = {f"open.{name}": array for name, array in saved.open.pack().items()}
    for index, window in enumerate(saved.complete):
        if window.speech:
            tensors[f"{index}.samples"] = window.samples
        packed = saved.packed.get(Span(window.start, window.end))
        if packed:
            tensors |= {f"{index}.packed.{name}": array for name, array in packed.arrays.items()}
    return {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def _manifest(saved: Saved, target: str, sha256: str) -> _Manifest:
    return _Manifest(
        schema=SCHEMA,
        as2d=__version__,
        target=target,
        sha256=sha256,
        sample_rate=saved.sample_rate,
        samples=saved.samples,
        language=saved.language,
        context=saved.context,
        prefix=saved.prefix,
        warnings=list(saved.warnings),
        finished=saved.finished,
        windows=[_saved_window(window, saved.packed) for window in saved.complete],
    )


def _saved_window(window: Window, packed: Mapping[Span, Packed]) -> _SavedWindow:
    its = packed.get(Span(window.start, window.end))
    return _SavedWindow(
        window.start, window.end, window.speech, its is not None, its.language if its else None
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _read_manifest(place: Path, target: str) -> _Manifest:
    try:
        values = json.loads((place / MANIFEST).read_bytes())
    except OSError as error:
        raise InputError(
            f"there is no saved recording in {place} ({error.strerror}); check the path"
        ) from error
    except ValueError as error:
        raise _damaged(place, f"{MANIFEST} is not JSON") from error
    if not isinstance(values, dict):
        raise _damaged(place, f"{MANIFEST} is no object")
    if values.get("schema") != SCHEMA:
        raise InputError(
            f"the recording in {place} has schema {values.get('schema')!r}, not {SCHEMA}: it was saved by as2d "
            f"{values.get('as2d')}; open it with that version, or record again"
        )
    if values.get("target") != target:
        raise InputError(
            f"the recording in {place} was prepared by another model ({values.get('target')}, not {target}); "
            "load that one, or feed the audio to a new recording"
        )
    try:
        windows = [_typed(_SavedWindow(*window)) for window in values.pop("windows")]
        return _typed(_Manifest(**values, windows=windows))
    except (KeyError, TypeError) as error:
        raise _damaged(place, f"{MANIFEST} is malformed: {error}") from error


def _typed(entry: E) -> E:
    """TypeError for values of other types."""
    kinds: dict[str, Any] = get_annotations(type(entry))
    for name, kind in kinds.items():
        value = getattr(entry, name)
        if not isinstance(value, list if get_origin(kind) is list else kind):
            raise TypeError(f"{name} is {value!r}")
    return entry


def _read_tensors(place: Path, sha256: str) -> dict[str, NDArray[Any]]:
    if _digest(place / TENSORS) != sha256:
        raise InputError(f"{TENSORS} does not have the digest that {MANIFEST} says")
    return load_file(place / TENSORS)


def _saved(manifest: _Manifest, tensors: Arrays) -> Saved:
    """Raises LookupError, ValueError or TypeError for what does not fit together."""
    windows = tuple(_window(window, index, tensors) for index, window in enumerate(manifest.windows))
    open_ = LiveWindows.unpack(_within(tensors, "open."))
    _check_whole(manifest, open_)
    return Saved(
        sample_rate=manifest.sample_rate,
        open=open_,
        complete=windows,
        samples=manifest.samples,
        packed={
            Span(window.start, window.end): Packed(window.language, _within(tensors, f"{index}.packed."))
            for index, window in enumerate(manifest.windows)
            if window.packed
        },
        language=manifest.language,
        context=manifest.context,
        prefix=manifest.prefix,
        warnings=tuple(manifest.warnings),
        finished=manifest.finished,
    )


def _check_whole(manifest: _Manifest, open_: LiveWindows) -> None:
    """InputError unless the windows, and what is open, follow one another up to the last sample."""
    parts = [Span(window.start, window.end) for window in manifest.windows]
    if not manifest.finished:
        parts.append(Span(open_.start, open_.end))
    if any(before.end != after.start for before, after in pairwise(parts)):
        raise InputError("the windows do not follow one another")
    if parts and parts[-1].end != manifest.samples:
        raise InputError(f"it ends at sample {parts[-1].end}, not at {manifest.samples}")


def _window(saved: _SavedWindow, index: int, tensors: Arrays) -> Window:
    samples = np.asarray(tensors[f"{index}.samples"], np.float32) if saved.speech else _NOT_SPEECH
    if saved.end <= saved.start or (saved.speech and len(samples) != saved.end - saved.start):
        raise InputError(f"window {index} has {len(samples)} samples")
    return Window(saved.start, saved.end, samples, saved.speech)


def _within(tensors: Arrays, prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def _damaged(place: Path, what: str) -> InputError:
    return InputError(
        f"the recording in {place} is damaged: {what}; save it again, or feed the audio to a new one"
    )
