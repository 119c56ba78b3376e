"""Recognisers by name, and what is said where their package is missing."""

import sys

import numpy as np
import pytest

from as2d.errors import InputError, ModelNotFoundError
from as2d.models.recognisers.chunkwise import SHORTEST_CHUNK, ChunkwiseStream
from as2d.models.recognisers.load import load_recogniser


@pytest.mark.parametrize("name", ["", "parrot", "onnx-asr", "onnx-asr:", "sherpa-onnx:", "pocketsphinx:x"])
def test_an_unknown_name(name: str) -> None:
    with pytest.raises(InputError, match="sherpa-onnx:FOLDER"):
        load_recogniser(name)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("pocketsphinx", "pocketsphinx", "pocketsphinx"),
        ("onnx-asr:x", "onnx_asr", "onnx-asr"),
        ("sherpa-onnx:x", "sherpa_onnx", "sherpa-onnx"),
    ],
)
def test_a_missing_package(name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModelNotFoundError) as caught:
        load_recogniser(name)
    assert f'pip install "as2d[{extra}]"' in str(caught.value)


def test_chunk_texts_are_joined_and_snippets_not_recognised() -> None:
    texts = iter(["and so", "my fellow"])
    stream = ChunkwiseStream(lambda chunk: next(texts))
    assert stream.accept(np.zeros(SHORTEST_CHUNK, np.float32), last=False) == "and so"
    assert stream.accept(np.zeros(SHORTEST_CHUNK - 1, np.float32), last=False) == "and so"
    assert stream.accept(np.zeros(SHORTEST_CHUNK, np.float32), last=True) == "and so my fellow"
    stream.close()
