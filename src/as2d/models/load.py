"""A model by name or folder, on the engine that computes it."""

from os import PathLike
from typing import Literal, get_args

from as2d.errors import InputError, UnsupportedError
from as2d.models.contract import AudioModel
from as2d.models.memory import FLOAT32, HALF, ON_ONNXRUNTIME
from as2d.models.store import Files, HubFiles, installed, pulled, resolve
from as2d.models.whisper.drafter import load_whisper_drafter, load_whisper_self_drafter
from as2d.models.whisper.model import TargetPrecision, WhisperModel, load_whisper

Engine = Literal["auto", "onnxruntime", "torch"]
"""auto: onnxruntime for Whisper, torch for all other families."""
Device = Literal["cpu", "cuda"]
Precision = Literal["auto", TargetPrecision]
"""Of a target's decoder weights on onnxruntime; auto: int8. torch computes as its device does best."""

_PRECISIONS = ("auto", *get_args(TargetPrecision))

SELF = "self"
"""The drafter that is a cheaper decoder of the target itself."""

_DRAFTERS = (SELF, "Qwen/Qwen3-ASR-0.6B-hf", "whisper-tiny.en")


def load_target(
    name_or_folder: str | PathLike[str],
    *,
    precision: Precision = "auto",
    engine: Engine = "auto",
    device: Device = "cpu",
) -> AudioModel:
    """A target of whatever family. On torch a precision is refused.

    Raises ModelNotFoundError, ModelDamagedError, CacheError, MissingExtraError, NoMemoryError, InputError, or
    UnsupportedError for a device or engine that cannot be.
    """
    files = resolve(name_or_folder)
    if precision not in _PRECISIONS:
        raise InputError(f"there is no precision {precision!r}; use one of {', '.join(_PRECISIONS)}")
    if not _on_torch(files, engine, device):
        return load_whisper(name_or_folder, "int8" if precision == "auto" else precision)
    if precision != "auto":
        raise UnsupportedError(
            f"{files.name} runs on torch, which has no precision {precision}; leave it out"
        )
    return _load_on_torch(name_or_folder, files, device)


def usual_drafters(target: str | PathLike[str] | AudioModel) -> tuple[str, ...]:
    """The drafters that are here for a target: self for Whisper, else Qwen's small one; and the small Whisper for all.

    Raises what `resolve` raises for a name.
    """
    if isinstance(target, str | PathLike):
        files = resolve(target)
        name, whisper = files.name, _is_whisper(files)
    else:
        name, whisper = target.name, isinstance(target, WhisperModel)
    named = (*((SELF,) if whisper else pulled()), *installed())
    return tuple(one for one in named if one in _DRAFTERS and one != name)


def told_precision(target: AudioModel, precision: Precision) -> str:
    """What results say of the precision that a target was loaded with."""
    return "int8" if precision == "auto" and isinstance(target, WhisperModel) else precision


def load_drafter(
    name_or_folder: str | PathLike[str],
    target: AudioModel,
    *,
    engine: Engine = "auto",
    device: Device = "cpu",
) -> AudioModel:
    """A drafter of whatever family for that target; "self" is made of the target, and a Whisper is made cheap.

    Raises what `load_target` raises.
    """
    if name_or_folder == SELF:
        return load_whisper_self_drafter(require_whisper_target(target))
    files = resolve(name_or_folder)
    if _on_torch(files, engine, device):
        return _load_on_torch(name_or_folder, files, device)
    return load_whisper_drafter(name_or_folder)


def weight_bytes(files: Files, engine: Engine, device: Device) -> int:
    """What a weight of a model takes as it is usually loaded. Raises InputError or UnsupportedError as loading does."""
    if not _on_torch(files, engine, device):
        return ON_ONNXRUNTIME
    return HALF if device == "cuda" else FLOAT32


def require_whisper_target(target: AudioModel) -> WhisperModel:
    """The target that the drafter self is made of. InputError where it is of another family or engine."""
    if isinstance(target, WhisperModel):
        return target
    raise InputError(
        f"the drafter self is made of a Whisper target on onnxruntime, and {target.name} is none; name another"
    )


def _on_torch(files: Files, engine: Engine, device: Device) -> bool:
    """Which engine it is to be. Raises InputError or UnsupportedError where that cannot be."""
    if engine not in get_args(Engine):
        raise InputError(f"there is no engine {engine!r}; use {', '.join(get_args(Engine))}")
    if device not in get_args(Device):
        raise InputError(f"there is no device {device!r}; use {' or '.join(get_args(Device))}")
    whisper = _is_whisper(files)
    if engine == "onnxruntime" and not whisper:
        raise UnsupportedError(
            f"{files.name} does not run on onnxruntime, only Whisper does; use the engine torch"
        )
    if engine == "auto":
        return not whisper or device == "cuda"
    if engine == "onnxruntime" and device != "cpu":
        raise UnsupportedError(
            "the engine onnxruntime computes on the CPU here; use the engine torch for CUDA"
        )
    return engine == "torch"


def _is_whisper(files: Files) -> bool:
    return not isinstance(files, HubFiles) or files.family == "whisper"


def _load_on_torch(name_or_folder: str | PathLike[str], files: Files, device: Device) -> AudioModel:
    if not isinstance(files, HubFiles):
        raise UnsupportedError(
            f"{files.name} is in CTranslate2's format, which torch does not read; name the model in the hub's format, "
            "such as openai/whisper-base"
        )
    from as2d.models.audio_lm import load_audio_lm  # noqa: PLC0415 -- torch takes seconds to load

    return load_audio_lm(name_or_folder, device=device)
