"""Models of the package onnx-asr (Parakeet, Canary, GigaAM, Whisper, …), each chunk recognised for itself."""

from functools import partial
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any

import onnxruntime

from as2d.errors import ModelDamagedError, ModelNotFoundError
from as2d.extras import import_optional
from as2d.models.recognisers.chunkwise import ChunkwiseStream
from as2d.models.recognisers.contract import THREADS
from as2d.records import SAMPLE_RATE

# fmt: off
_EUROPEAN = (
    "bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "hr", "hu", "it",
    "lt", "lv", "mt", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "uk",
)
# fmt: on

LANGUAGES = MappingProxyType(
    {
        "gigaam-v": ("ru",),
        "nemo-fastconformer-ru": ("ru",),
        "nemo-parakeet-tdt-0.6b-v3": _EUROPEAN,
        "nemo-canary-1b-v2": _EUROPEAN,
        "alphacep/vosk-model": ("ru",),
        "t-tech/t-one": ("ru",),
    }
)
"""Languages of the models that do not speak English alone, by the beginning of their name."""


class OnnxAsr:
    """A model by the package's name for it (fetched from the hub if it is not there), or a folder with config.json."""

    def __init__(self, name_or_folder: str, languages: tuple[str, ...] | None = None) -> None:
        """Load the model. `languages` says what it transcribes where that isn't known (English is assumed).

        Raises ModelNotFoundError where the package or the model is missing, ModelDamagedError where it can't be used.
        """
        self.name = f"onnx-asr:{name_or_folder}"
        self.languages = languages or _known_languages(name_or_folder)
        self._model = _load(name_or_folder)

    def open(self, language: str, stop: Event) -> ChunkwiseStream:  # noqa: ARG002 (a chunk is one call)
        """A stream in the language, which the models that speak one alone ignore."""
        return ChunkwiseStream(partial(self._model.recognize, sample_rate=SAMPLE_RATE, language=language))


def _known_languages(name: str) -> tuple[str, ...]:
    return next((spoken for start, spoken in LANGUAGES.items() if name.startswith(start)), ("en",))


def _load(name_or_folder: str) -> Any:
    package = import_optional("onnx_asr", "onnx-asr")
    is_folder = Path(name_or_folder).is_dir()
    where = (
        (None, name_or_folder) if is_folder else (name_or_folder, None)
    )  # a folder's config.json says its type
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    try:
        return package.load_model(*where, sess_options=options, providers=["CPUExecutionProvider"])
    except (OSError, ValueError, ImportError) as error:
        raise ModelNotFoundError(
            f"onnx-asr finds no model {name_or_folder!r} ({error}); name one that it lists, or a folder that holds its "
            'files and config.json (models from the hub need pip install "onnx-asr[hub]")'
        ) from error
    except Exception as error:
        raise ModelDamagedError(
            f"onnx-asr cannot load {name_or_folder!r} ({error}); fetch the model again"
        ) from error
