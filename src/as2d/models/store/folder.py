"""What a model folder holds: a CTranslate2 Whisper, or a model in the layout of the Hugging Face hub."""

from pathlib import Path

from as2d.errors import ModelNotFoundError
from as2d.models.safetensors import weight_files
from as2d.models.store.family import family_of
from as2d.models.store.files import Files, HubFiles, ModelFiles, digest_of, hub_hashed

_CTRANSLATE2 = ("model.bin", "config.json", "tokenizer.json")


def resolve_folder(folder: Path, name: str, licence: str | None = None) -> Files:
    """The files of the model in a folder, which as2d is to call `name`.

    Raises ModelNotFoundError when the folder holds no model or not all of it, UnsupportedError when it is no audio
    model of a known family, ModelDamagedError when a file is malformed.
    """
    if is_ctranslate2(folder):
        _require(folder, _CTRANSLATE2, "name a folder that holds a CTranslate2 Whisper model")
        model_bin, config, tokenizer = (folder / file for file in _CTRANSLATE2)
        return ModelFiles(name, (model_bin,), config, tokenizer, digest_of((model_bin,)))
    family = family_of(folder)
    _require_weights(folder)
    return HubFiles(name, folder, family, digest_of(hub_hashed(folder)), licence)


def is_ctranslate2(folder: Path) -> bool:
    """Whether the folder is in CTranslate2's format, which is Whisper's here."""
    return (folder / "model.bin").is_file()


def is_whole(folder: Path) -> bool:
    """Whether all that a model needs is there; nothing is read but small JSON files."""
    if is_ctranslate2(folder):
        return not _missing(folder, _CTRANSLATE2)
    files = weight_files(folder)
    return bool(files) and not _missing(folder, ("config.json", *(file.name for file in files)))


def _require_weights(folder: Path) -> None:
    files = weight_files(folder)
    if not files:
        raise ModelNotFoundError(
            f"{folder} holds neither model.safetensors nor its index nor a CTranslate2 model.bin; name a folder that "
            "holds the weights (other formats: save the model with transformers' save_pretrained)"
        )
    _require(folder, tuple(file.name for file in files), "copy or pull the whole model")


def _require(folder: Path, names: tuple[str, ...], remedy: str) -> None:
    if missing := _missing(folder, names):
        raise ModelNotFoundError(f"{folder} lacks {', '.join(missing)}; {remedy}")


def _missing(folder: Path, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not (folder / name).is_file()]
