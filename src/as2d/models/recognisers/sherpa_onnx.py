"""Recognisers of the package sherpa-onnx, from a folder laid out as its published models are."""

from collections.abc import Mapping
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError, ModelNotFoundError
from as2d.extras import import_optional
from as2d.models.recognisers.chunkwise import ChunkwiseStream
from as2d.models.recognisers.contract import THREADS, RecogniserStream
from as2d.records import SAMPLE_RATE

_TAIL = np.zeros(SAMPLE_RATE * 2 // 3, np.float32)
"""Silence behind the last chunk: streaming encoders look ahead, and would keep the last word to themselves."""


class Form(NamedTuple):
    """A kind of model: its files, the metadata that its first file must have, and what loads it.

    The package ends the whole process where metadata is missing, so that a model is told by having all of it.
    """

    name: str
    files: tuple[str, ...]
    metadata: frozenset[str]
    loader: str
    streaming: bool = False
    languages: tuple[str, ...] = ("en",)
    options: Mapping[str, Any] = MappingProxyType({})


_ONE = ("model",)
_THREE = ("encoder", "decoder", "joiner")
_NEMO = frozenset({"vocab_size", "subsampling_factor"})
_NEMO_STREAMING = (
    _NEMO
    | {"window_size", "chunk_shift"}
    | {f"cache_last_{cache}_dim{axis}" for cache in ("channel", "time") for axis in (1, 2, 3)}
)
_TRANSDUCER = frozenset({"pred_rnn_layers", "pred_hidden"})
_SENSE_VOICE = frozenset(
    {"vocab_size", "lfr_window_size", "lfr_window_shift", "normalize_samples", "neg_mean", "inv_stddev"}
    | {"with_itn", "without_itn"}
    | {f"lang_{language}" for language in ("auto", "zh", "en", "ja", "ko", "yue")}
)

FORMS = (
    Form(
        "SenseVoice",
        _ONE,
        _SENSE_VOICE,
        "from_sense_voice",
        languages=("zh", "en", "ja", "ko", "yue"),
        options=MappingProxyType({"use_itn": True}),  # punctuation and numerals, as Whisper writes
    ),
    Form("streaming NeMo CTC", _ONE, _NEMO_STREAMING, "from_nemo_ctc", streaming=True),
    Form("NeMo CTC", _ONE, _NEMO | {"normalize_type"}, "from_nemo_ctc"),
    Form(
        "streaming NeMo transducer", _THREE, _NEMO_STREAMING | _TRANSDUCER, "from_transducer", streaming=True
    ),
    Form(
        "NeMo transducer",
        _THREE,
        _NEMO | _TRANSDUCER | {"normalize_type"},
        "from_transducer",
        options=MappingProxyType({"model_type": "nemo_transducer"}),
    ),
)
"""The kinds of model, the more special first."""


class SherpaOnnx:
    """A model in a folder with tokens.txt and either model.onnx or encoder, decoder and joiner; int8 preferred."""

    def __init__(self, folder: str, languages: tuple[str, ...] | None = None) -> None:
        """Load the model. `languages` says what it transcribes where that isn't known (English is assumed).

        Raises ModelNotFoundError where the package or a file is missing, ModelDamagedError where it can't be used.
        """
        package = import_optional("sherpa_onnx", "sherpa-onnx")
        form, files = _recognised(Path(folder))
        self.name = f"sherpa-onnx:{folder}"
        self.languages = languages or form.languages
        self._streaming = form.streaming
        self._recognizer = _load(package, form, files, Path(folder))

    def open(self, language: str, stop: Event) -> RecogniserStream:  # noqa: ARG002 (the model knows or detects it)
        """A stream: single chunks, or a growing text if the model is a streaming one."""
        if self._streaming:
            return SherpaStream(self._recognizer, stop)
        return ChunkwiseStream(self._recognise)

    def _recognise(self, chunk: NDArray[np.float32]) -> str:
        stream = self._recognizer.create_stream()
        stream.accept_waveform(SAMPLE_RATE, chunk)
        self._recognizer.decode_stream(stream)
        text: str = stream.result.text
        return text


class SherpaStream:
    """A streaming recogniser's hypothesis, which grows chunk by chunk."""

    def __init__(self, recognizer: Any, stop: Event) -> None:
        self._recognizer = recognizer
        self._stream = recognizer.create_stream()
        self._stop = stop

    def accept(self, chunk: NDArray[np.float32], *, last: bool) -> str:
        """Decode as far as the samples reach; give the text so far."""
        self._stream.accept_waveform(SAMPLE_RATE, chunk)
        if last:
            self._stream.accept_waveform(SAMPLE_RATE, _TAIL)
            self._stream.input_finished()
        while self._recognizer.is_ready(self._stream) and not self._stop.is_set():
            self._recognizer.decode_stream(self._stream)
        text: str = self._recognizer.get_result(self._stream)
        return text

    def close(self) -> None:
        """Nothing is held beyond the object itself."""


def _recognised(folder: Path) -> tuple[Form, dict[str, Path]]:
    if not (folder / "tokens.txt").is_file():
        raise ModelNotFoundError(f"{folder} has no tokens.txt; name the folder of a sherpa-onnx model")
    metadata: dict[str, frozenset[str]] = {}
    for form in FORMS:
        files = {part: path for part in form.files if (path := _find(folder, part))}
        if len(files) < len(form.files):
            continue
        first = form.files[0]
        metadata.setdefault(first, _metadata(files[first]))
        if form.metadata <= metadata[first]:
            return form, files
    known = ", ".join(form.name for form in FORMS)
    raise ModelNotFoundError(f"{folder} holds no model that as2d knows how to load; it knows {known}")


def _find(folder: Path, part: str) -> Path | None:
    found = sorted(folder.glob(f"*{part}*.onnx"), key=lambda path: ("int8" not in path.name, path.name))
    return found[0] if found else None


def _metadata(path: Path) -> frozenset[str]:
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:
        raise ModelDamagedError(f"{path} is not an ONNX model ({error}); fetch it again") from error
    return frozenset(entry.key for entry in model.metadata_props)


def _load(package: Any, form: Form, files: Mapping[str, Path], folder: Path) -> Any:
    kind = package.OnlineRecognizer if form.streaming else package.OfflineRecognizer
    paths = {part: str(path) for part, path in files.items()}
    try:
        return getattr(kind, form.loader)(
            **paths, tokens=str(folder / "tokens.txt"), num_threads=THREADS, **form.options
        )
    except Exception as error:
        raise ModelDamagedError(
            f"sherpa-onnx cannot load {folder} ({error}); fetch the model again"
        ) from error
