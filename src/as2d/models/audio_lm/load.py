"""Load an audio language model from a folder in the hub's layout. torch is imported when a model is loaded."""

from collections.abc import Mapping
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from as2d.errors import InputError, UnsupportedError
from as2d.extras import import_optional
from as2d.models.store import Family, HubFiles, resolve

if TYPE_CHECKING:
    from as2d.models.contract import AudioModel

Device = Literal["cpu", "cuda"]
DType = Literal["float32", "bfloat16", "float16"]

AUDIO_LM_FAMILIES: Mapping[Family, str] = MappingProxyType(
    {
        "qwen3_asr": "Qwen3ASRForConditionalGeneration",
        "qwen2_5_omni": "Qwen2_5OmniThinkerForConditionalGeneration",
        "qwen2_audio": "Qwen2AudioForConditionalGeneration",
        "voxtral": "VoxtralForConditionalGeneration",
        "granite_speech": "GraniteSpeechForConditionalGeneration",
        "whisper": "WhisperForConditionalGeneration",
    }
)
"""The families that can be loaded, and transformers' class for each."""


def load_audio_lm(
    name_or_folder: str | PathLike[str], *, device: Device = "cpu", dtype: DType | None = None
) -> "AudioModel":
    """A model of any of the families, by name or folder in the hub's layout; the network is never used.

    `dtype` is float32 on the CPU and bfloat16 on CUDA where it is not given; only float32 rows are expected to be
    exact (`as2d.runtime.exactness` probes it). Raises ModelNotFoundError, ModelDamagedError, MissingExtraError,
    InputError where memory does not suffice, or UnsupportedError for another family and for a device that is not there.
    """
    _require(device, get_args(Device), "device")
    _require(dtype or "float32", get_args(DType), "dtype")
    files = resolve(name_or_folder)
    if not isinstance(files, HubFiles) or files.family not in AUDIO_LM_FAMILIES:
        raise UnsupportedError(
            f"{files.name} is no audio language model that runs on torch; name one of the families "
            f"{', '.join(AUDIO_LM_FAMILIES)}"
        )
    for module in ("torch", "transformers"):
        import_optional(module, "torch")
    build: Any = import_optional("as2d.models.audio_lm.build", "torch")
    model: AudioModel = build.build(files, AUDIO_LM_FAMILIES[files.family], device, dtype)
    return model


def _require(value: str, known: tuple[str, ...], what: str) -> None:
    if value not in known:
        raise InputError(f"there is no {what} {value!r}; use {' or '.join(known)}")
