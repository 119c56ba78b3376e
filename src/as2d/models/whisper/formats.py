"""What a Whisper model's files say, whichever of the two formats they are in."""

from collections.abc import Mapping
from typing import Any

from as2d.errors import UnsupportedError
from as2d.models.store import Files, HubFiles, read_json
from as2d.models.whisper.checkpoint import WhisperWeights, load_weights
from as2d.models.whisper.checkpoint_ct2 import read_checkpoint
from as2d.models.whisper.checkpoint_hub import read_hub_checkpoint

_CTRANSLATE2_NAMES = {"suppress_tokens": "suppress_ids", "begin_suppress_tokens": "suppress_ids_begin"}


def read_weights(files: Files) -> WhisperWeights:
    """The checked weights by role. Those in the hub's format are never all in memory.

    Raises UnsupportedError when the model is no Whisper, ModelNotFoundError when a file cannot be read,
    ModelDamagedError when it holds no whole Whisper model.
    """
    require_whisper(files)
    if isinstance(files, HubFiles):
        return load_weights(read_hub_checkpoint(files.folder))
    return load_weights(read_checkpoint(files.model_bin))


def require_whisper(files: Files) -> None:
    """UnsupportedError when the model is of another family."""
    if isinstance(files, HubFiles) and files.family != "whisper":
        raise UnsupportedError(
            f"{files.name} is a {files.family} model, and a Whisper model is needed here; name one (see `as2d models "
            "list`)"
        )


def suppression_lists(files: Files) -> Mapping[str, Any]:
    """The lists of suppressed tokens under CTranslate2's names, `suppress_ids` and `suppress_ids_begin`.

    In the hub's format they are in generation_config.json, in older models in config.json; a list that is nowhere is
    empty, as transformers has it. Raises ModelNotFoundError or ModelDamagedError when a file cannot be read.
    """
    config = read_json(files.config)
    if not isinstance(files, HubFiles):
        return config
    generation = files.folder / "generation_config.json"
    stated = read_json(generation) if generation.is_file() else {}
    return {
        name: _first_stated(stated.get(hub_name), config.get(hub_name))
        for hub_name, name in _CTRANSLATE2_NAMES.items()
    }


def _first_stated(*lists: Any) -> Any:
    return next((one for one in lists if one is not None), [])
