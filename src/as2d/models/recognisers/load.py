"""Recognisers by name."""

from as2d.errors import InputError
from as2d.models.recognisers.contract import Recogniser
from as2d.models.recognisers.onnx_asr import OnnxAsr
from as2d.models.recognisers.pocketsphinx import PocketSphinx
from as2d.models.recognisers.sherpa_onnx import SherpaOnnx

_PACKAGES = ("pocketsphinx", "onnx-asr", "sherpa-onnx")


def names_recogniser(name: str) -> bool:
    """Whether the name is for `load_recogniser`, whether or not there is one so named."""
    return name.partition(":")[0] in _PACKAGES


def load_recogniser(name: str, languages: tuple[str, ...] | None = None) -> Recogniser:
    """Load "pocketsphinx", "onnx-asr:NAME_OR_FOLDER" or "sherpa-onnx:FOLDER".

    `languages` (ISO 639-1) says what an onnx-asr or sherpa-onnx model transcribes where that is not known. Raises
    InputError for any other name, ModelNotFoundError where the package or the model is missing.
    """
    package, _, model = name.partition(":")
    if name == "pocketsphinx":
        return PocketSphinx()
    if package == "onnx-asr" and model:
        return OnnxAsr(model, languages)
    if package == "sherpa-onnx" and model:
        return SherpaOnnx(model, languages)
    raise InputError(
        f"no recogniser is named {name!r}; use pocketsphinx, onnx-asr:NAME_OR_FOLDER or sherpa-onnx:FOLDER"
    )
