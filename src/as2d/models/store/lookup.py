"""A name or a folder to checked files. Nothing here touches the network."""

from os import PathLike
from pathlib import Path

from as2d.errors import ModelDamagedError, ModelNotFoundError
from as2d.models.store.files import Files
from as2d.models.store.folder import is_whole, resolve_folder
from as2d.models.store.hub_cache import Repository, is_hub_name
from as2d.models.store.official import OFFICIAL, TRANSFORMERS_LAYOUT
from as2d.models.store.packaged import KNOWN, resolve_packaged


def resolve(name_or_folder: str | PathLike[str]) -> Files:
    """The checked files of a packaged model, of a folder, or of a model that was pulled from the hub.

    A folder holds a CTranslate2 Whisper model (`ModelFiles`) or any known family in the hub's layout (`HubFiles`). The
    digest of files that have not changed since they were last read is remembered in the cache folder. The network is
    never used. Raises ModelNotFoundError when there is no such model or a file is missing, UnsupportedError when it is
    no audio model of a known family, ModelDamagedError when a file is malformed or not the published one.
    """
    if isinstance(name_or_folder, str) and name_or_folder in KNOWN:
        return resolve_packaged(KNOWN[name_or_folder])
    folder = Path(name_or_folder)
    if folder.is_dir():
        return resolve_folder(folder, folder.resolve().name)
    name = TRANSFORMERS_LAYOUT.get(str(name_or_folder), str(name_or_folder))
    if is_hub_name(name):
        return _resolve_pulled(name)
    raise ModelNotFoundError(
        f"no model or folder is named {name!r}; known models are {', '.join(KNOWN)} (see `as2d models list`), or name "
        "a folder that holds an audio model"
    )


def pulled() -> tuple[str, ...]:
    """Names of the official models that lie whole in the hub's cache (their weights are not read)."""
    return tuple(name for name in OFFICIAL if _is_pulled(name))


def _resolve_pulled(name: str) -> Files:
    snapshot = Repository.of(name).current
    if snapshot is None:
        what = "is not on this machine" if name in OFFICIAL else "is no folder, and no model that was pulled"
        raise ModelNotFoundError(f"{name} {what}; run `as2d models pull {name}` (see `as2d models list`)")
    licence = OFFICIAL[name].licence if name in OFFICIAL else None
    try:
        return resolve_folder(snapshot, name, licence)
    except ModelNotFoundError as error:
        raise ModelNotFoundError(
            f"{name} is not whole in the hub's cache ({error}); run `as2d models pull {name}`"
        ) from error


def _is_pulled(name: str) -> bool:
    snapshot = Repository.of(name).current
    try:
        return snapshot is not None and is_whole(snapshot)
    except ModelDamagedError:
        return False
