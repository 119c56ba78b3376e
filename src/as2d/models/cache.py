"""The cache folder: built files that are written whole, checked at every start and rebuilt when damaged.

An entry is a folder `<cache>/<key>` with a `manifest.json` that lists every file's size, modification time
and SHA-256. It is made beside its final place and renamed into it, so a reader sees all of it or nothing.
"""

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from as2d._version import __version__
from as2d.errors import CacheError

_MANIFEST = "manifest.json"
_DIGESTS = "digests.json"
_CHUNK = 1 << 20


def cache_folder() -> Path:
    """The folder that holds everything as2d builds; it may not exist yet.

    `AS2D_CACHE`, else `as2d` in `XDG_CACHE_HOME`, else `~/.cache/as2d`. Raises CacheError when there is no
    home.
    """
    if chosen := os.environ.get("AS2D_CACHE"):
        return _expanded(chosen)
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore a relative path.
    return (Path(shared) if Path(shared).is_absolute() else _expanded("~/.cache")) / "as2d"


def cache_key(*parts: str) -> str:
    """A folder name that changes with the package version and with any of `parts`."""
    # JSON keeps the boundaries between parts: ("ab", "c") and ("a", "bc") differ.
    text = json.dumps([__version__, *parts])
    return f"{__version__}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def cached(key: str, build: Callable[[Path], None]) -> Path:
    """The intact folder of `key`, built first by `build(empty_folder)` where it is missing or damaged.

    Only one process or thread builds a key at a time, the others wait for it. A file that kept its size and
    modification time is believed; one with another time is hashed again. Raises CacheError when the folder
    cannot be written; errors of `build` that are no OSError pass through. Nothing half-built stays behind
    either way.
    """
    folder = cache_folder()
    entry = folder / key
    if _is_intact(entry):
        return entry
    with _usable(folder), _locked(folder / f"{key}.lock"):
        if not _is_intact(entry):
            _rebuild(entry, build)
    return entry


def concatenated_digest(files: Sequence[Path]) -> str:
    """SHA-256 (hex) of the concatenated `files`, read in full."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def remembered_digest(files: Sequence[Path]) -> str:
    """SHA-256 (hex) of the concatenated `files`, read again only when one of them has changed.

    A change is another size, modification time or inode. OSError when a file cannot be read.
    """
    memory = cache_folder() / _DIGESTS
    name = json.dumps([str(path.absolute()) for path in files])
    state = [_state(path) for path in files]
    known = _read_json(memory)
    match known.get(name):
        case {"state": then, "sha256": str(digest)} if then == state:
            return digest
    digest = concatenated_digest(files)
    # The memory only saves time: without it the next start reads the files again.
    with suppress(OSError):
        _write_json(memory, known | {name: {"state": state, "sha256": digest}})
    return digest


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise CacheError(
            "there is no home folder for the cache; set AS2D_CACHE to a writable folder"
        ) from error


def _state(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino]


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Make `folder` and turn every OSError inside into a CacheError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except CacheError:
        raise
    except OSError as error:
        remedy = "set AS2D_CACHE to a writable folder with free space"
        raise CacheError(f"the cache folder {folder} cannot be used ({error}); {remedy}") from error


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    # The lock file stays: removing it would let two processes hold locks on two different files.
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _rebuild(entry: Path, build: Callable[[Path], None]) -> None:
    # The lock is held, so whatever an earlier build left here belongs to a process that died.
    for leftover in entry.parent.glob(f"{entry.name}.*.tmp"):
        shutil.rmtree(leftover)
    folder = Path(tempfile.mkdtemp(prefix=f"{entry.name}.", suffix=".tmp", dir=entry.parent))
    try:
        build(folder)
        _write_json(folder / _MANIFEST, {"files": _describe(folder)})
        _remove(entry)
        folder.rename(entry)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink(missing_ok=True)


def _describe(folder: Path) -> dict[str, dict[str, int | str]]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): _describe_file(path) for path in files}


def _describe_file(path: Path) -> dict[str, int | str]:
    _flush(path)
    status = path.stat()
    return {
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "sha256": concatenated_digest([path]),
    }


def _flush(path: Path) -> None:
    # A power cut after the rename must not leave a file with the right size and no content.
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _is_intact(entry: Path) -> bool:
    manifest = _read_json(entry / _MANIFEST).get("files")
    if not isinstance(manifest, dict):
        return False
    try:
        touched = [name for name, record in manifest.items() if not _is_untouched(entry / name, record)]
        if any(not _has_same_content(entry / name, manifest[name]) for name in touched):
            return False
    except (OSError, KeyError, TypeError, ValueError):
        return False
    if touched:
        _remember_times(entry, manifest)
    return True


def _is_untouched(path: Path, record: dict[str, object]) -> bool:
    status = path.stat()
    return (status.st_size, status.st_mtime_ns) == (record["size"], record["mtime_ns"])


def _has_same_content(path: Path, record: dict[str, object]) -> bool:
    # A size that differs settles it without reading the file.
    return path.stat().st_size == record["size"] and concatenated_digest([path]) == record["sha256"]


def _remember_times(entry: Path, manifest: dict[str, Any]) -> None:
    """Note the new times of files that were copied whole, so that the next start does not hash them again."""
    with suppress(OSError):
        times = {
            name: {**record, "mtime_ns": (entry / name).stat().st_mtime_ns}
            for name, record in manifest.items()
        }
        _write_json(entry / _MANIFEST, {"files": times})


def _read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where the file is missing, unreadable or malformed."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a JSON file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
