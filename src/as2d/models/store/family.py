"""Which family a model folder is of, as its config.json says."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from as2d.errors import ModelNotFoundError, UnsupportedError
from as2d.models.store.json_file import read_json

Family = Literal["whisper", "qwen3_asr", "qwen2_5_omni", "qwen2_audio", "voxtral", "granite_speech"]

FAMILIES: tuple[Family, ...] = get_args(Family)
"""The families of audio models that as2d knows, by the `model_type` of the hub."""

# The part of Qwen2.5-Omni that hears and writes may be saved by itself.
_FAMILY_OF_TYPE: Mapping[str, Family] = MappingProxyType(
    {**{family: family for family in FAMILIES}, "qwen2_5_omni_thinker": "qwen2_5_omni"}
)


def family_of(folder: Path) -> Family:
    """The family of the model in a folder of hub layout.

    Raises ModelNotFoundError when the folder holds no model, UnsupportedError when it holds one that is no audio model
    of a known family, ModelDamagedError when its config.json is malformed.
    """
    config = folder / "config.json"
    if not config.is_file():
        raise ModelNotFoundError(
            f"{folder} lacks config.json, so it is no model folder; name one that holds an audio model"
        )
    return family_in(read_json(config), str(folder))


def family_in(config: Mapping[str, Any], name: str) -> Family:
    """The family that a parsed config.json states; the model's `name` is for messages. Raises as `family_of`."""
    match config.get("model_type"):
        case str(kind) if kind in _FAMILY_OF_TYPE:
            return _FAMILY_OF_TYPE[kind]
        case str(kind):
            raise UnsupportedError(
                f"{name} is of type {kind!r:.40}, which is no audio model that as2d knows; name one of the families "
                f"{', '.join(FAMILIES)}"
            )
    raise ModelNotFoundError(
        f"config.json of {name} states no model_type; name a folder that holds an audio model, or a CTranslate2 "
        "Whisper with its model.bin"
    )
