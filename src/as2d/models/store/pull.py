"""Fetching a model from the hub into the cache that all of its tools share: resumable, checked, whole or not at all."""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from as2d.errors import CacheError, InputError, ModelDamagedError, UnsupportedError
from as2d.extras import import_optional
from as2d.models.safetensors import read_header
from as2d.models.store.choose import needed
from as2d.models.store.family import family_in
from as2d.models.store.files import Files
from as2d.models.store.hub import RemoteFile, RemoteModel, ask, download
from as2d.models.store.hub_cache import Repository, is_hub_name, is_offline
from as2d.models.store.lookup import resolve
from as2d.models.store.official import OFFICIAL, TRANSFORMERS_LAYOUT
from as2d.models.store.packaged import KNOWN

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Pull:
    """What is to be fetched. `size` counts the bytes of all files, `remaining` those that are not here yet."""

    model: RemoteModel
    licence: str
    repository: Repository

    @property
    def size(self) -> int:
        """Bytes of the whole model."""
        return sum(file.size for file in self.model.files)

    @property
    def remaining(self) -> int:
        """Bytes to download."""
        return sum(file.size - _held(self.repository, file) for file in self.model.files)


def plan(name: str) -> Pull:
    """Ask the hub what the model `owner/name` is; nothing is downloaded yet.

    Raises InputError for what is no name of a hub's model and where the environment forbids the network,
    UnsupportedError when it is no audio model of a known family, else as `hub.ask`.
    """
    if name in KNOWN:
        packages = " ".join(KNOWN[name].packages)
        raise InputError(
            f"{name} is not on the hub but in the packages {packages}; run pip install {packages}"
        )
    if not is_hub_name(name):
        raise InputError(f"{name!r} is no name of the form owner/name; see `as2d models list`")
    if is_offline():
        raise InputError(f"HF_HUB_OFFLINE forbids the network; unset it to pull {name}")
    model = ask(TRANSFORMERS_LAYOUT.get(name, name))
    if model.model_type is not None:
        family_in({"model_type": model.model_type}, name)
    chosen = needed(file.path for file in model.files)
    if not chosen:
        raise UnsupportedError(
            f"{name} holds no weights as safetensors at its top, and no CTranslate2 model.bin; name another model (see "
            "`as2d models list`)"
        )
    return Pull(_restricted(model, chosen), _licence(model), Repository.of(model.name))


def fetch(pull: Pull) -> Files:
    """Download what is missing, check all of it and make it current; a progress bar for each file on stderr.

    Raises as `hub.download`, ModelDamagedError when content is not what the hub announced (it is thrown away),
    CacheError when there is no room, and what `resolve` raises.
    """
    try:
        _require_room(pull)
        for file in pull.model.files:
            _fetch(pull, file)
        pull.repository.make_current(pull.model.commit)
    except OSError as error:
        if isinstance(error, CacheError):
            raise
        raise CacheError(
            f"the hub's cache cannot be written ({error}); set HF_HUB_CACHE to a folder"
        ) from error
    return resolve(pull.model.name)


def _restricted(model: RemoteModel, chosen: frozenset[str]) -> RemoteModel:
    files = tuple(file for file in model.files if file.path in chosen)
    return RemoteModel(model.name, model.commit, files, model.licence, model.model_type)


def _licence(model: RemoteModel) -> str:
    known = OFFICIAL.get(model.name)
    return known.licence if known else model.licence or "not stated"


def _held(repository: Repository, file: RemoteFile) -> int:
    """How many bytes of a file are here."""
    if repository.blob(file.digest).is_file():
        return file.size
    partial = repository.partial(file.digest)
    return min(partial.stat().st_size, file.size) if partial.is_file() else 0


def _require_room(pull: Pull) -> None:
    folder = pull.repository.folder
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < pull.remaining:
        raise CacheError(
            f"{pull.model.name} needs {pull.remaining / 1e9:.1f} GB and {folder} has {free / 1e9:.1f} GB of room; make "
            "room or set HF_HUB_CACHE to another disk"
        )


def _fetch(pull: Pull, file: RemoteFile) -> None:
    repository, lock = pull.repository, pull.repository.lock(file.digest)
    lock.parent.mkdir(parents=True, exist_ok=True)
    with import_optional("huggingface_hub.utils", "hub").WeakFileLock(lock):
        blob = repository.blob(file.digest)
        if not blob.is_file() or not _is_announced(blob, file):
            blob.unlink(missing_ok=True)
            _complete(pull, file)
    if file.path.endswith(".safetensors"):
        read_header(blob)
    repository.link(pull.model.commit, file.path, file.digest)


def _complete(pull: Pull, file: RemoteFile) -> None:
    """Download the rest of a file, and move it to its place once it is what it should be."""
    partial = pull.repository.partial(file.digest)
    partial.parent.mkdir(parents=True, exist_ok=True)
    if partial.is_file() and partial.stat().st_size > file.size:
        partial.unlink()
    with partial.open("ab") as content:
        download(pull.model, file, content)
    if not _is_announced(partial, file):
        partial.unlink()
        raise ModelDamagedError(
            f"{file.path} of {pull.model.name} arrived damaged and was thrown away; run `as2d models pull "
            f"{pull.model.name}` again"
        )
    partial.replace(pull.repository.blob(file.digest))


def _is_announced(path: Path, file: RemoteFile) -> bool:
    """Whether content has the size and digest that the hub stated."""
    if path.stat().st_size != file.size:
        return False
    digest = hashlib.sha1(usedforsecurity=False) if file.in_git else hashlib.sha256()
    if file.in_git:
        digest.update(f"blob {file.size}\0".encode())
    _feed(path, digest.update)
    return digest.hexdigest() == file.digest


def _feed(path: Path, update: Callable[[Any], None]) -> None:
    with path.open("rb") as content:
        while chunk := content.read(_CHUNK):
            update(chunk)
