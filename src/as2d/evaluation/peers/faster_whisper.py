"""faster-whisper (CTranslate2)."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from as2d.errors import UnsupportedError
from as2d.evaluation.peers.contract import PeerModel
from as2d.extras import import_optional
from as2d.models.store import Files, HubFiles
from as2d.records import Instruction

Float32 = NDArray[np.float32]
Precision = Literal["int8", "float32"]


class FasterWhisper:
    """faster-whisper, greedy, without timestamps, fallback or speech detection.

    Its model works on whole recordings; a window is decoded by the CTranslate2 model inside, which it too calls.
    """

    def __init__(self, model: PeerModel, folder: Path, precision: Precision, threads: int) -> None:
        """`folder` holds the CTranslate2 files of `model`."""
        library = import_optional("faster_whisper", "peers")
        self._storage = import_optional("ctranslate2", "peers").StorageView
        self._whisper = library.WhisperModel(
            str(folder), device="cpu", compute_type=precision, cpu_threads=threads
        )
        self._model = model
        self.name = f"faster-whisper {precision}"

    def prepare(self, samples: Float32) -> Any:
        """One window encoded."""
        features = self._model.features(samples)  # the view does not own it
        return self._whisper.model.encode(self._storage.from_array(features))

    def decode(self, prepared: Any, instruction: Instruction, limit: int) -> tuple[int, ...]:
        """The useful tokens, at most `limit`."""
        (result,) = self._whisper.model.generate(
            prepared,
            [list(self._model.prompt(instruction))],
            beam_size=1,
            sampling_topk=1,
            max_length=2 * limit,  # CTranslate2 gives half of it at most
            suppress_blank=True,
            suppress_tokens=[-1],
        )
        return tuple(result.sequences_ids[0])

    def transcribe(self, samples: Float32, language: str) -> str:
        """The text of a whole recording, cut to windows by faster-whisper itself."""
        segments, _ = self._whisper.transcribe(
            samples,
            language=language,
            beam_size=1,
            temperature=0.0,
            without_timestamps=True,
            condition_on_previous_text=False,
            vad_filter=False,
        )
        return "".join(segment.text for segment in segments)


@contextmanager
def open_faster_whisper(model: PeerModel, threads: int, precision: Precision) -> Iterator[FasterWhisper]:
    """faster-whisper on a folder that is put together for the while.

    UnsupportedError for a model that is not in CTranslate2's format.
    """
    with TemporaryDirectory(prefix="as2d-peer-") as temporary:
        folder = Path(temporary)
        _assemble(model.files, folder)
        yield FasterWhisper(model, folder, precision, threads)


def _assemble(files: Files, folder: Path) -> None:
    if isinstance(files, HubFiles):
        raise UnsupportedError(
            f"{files.name} is not in CTranslate2's format; name such a model to compare with faster-whisper"
        )
    with (folder / "model.bin").open("wb") as whole:
        for part in files.model_bin:
            with part.open("rb") as content:
                shutil.copyfileobj(content, whole)
    for file in (files.config, files.tokenizer, *files.config.parent.glob("vocabulary.*")):
        shutil.copy(file, folder)
