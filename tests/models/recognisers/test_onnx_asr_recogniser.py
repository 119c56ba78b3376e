"""onnx-asr on a tiny random model in its own layout."""

from collections.abc import Callable
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError, ModelNotFoundError
from as2d.models.recognisers import onnx_asr
from as2d.models.recognisers.load import load_recogniser

pytest.importorskip("onnx_asr", reason='needs pip install "as2d[onnx-asr]"')

CHUNK = 40_960


def test_a_folder(tiny_ctc: Callable[..., Path], speech: NDArray[np.float32]) -> None:
    folder = tiny_ctc()
    recogniser = load_recogniser(f"onnx-asr:{folder}")
    assert recogniser.name == f"onnx-asr:{folder}"
    assert recogniser.languages == ("en",)
    stream = recogniser.open("en", Event())
    first = stream.accept(speech[:CHUNK], last=False)
    both = stream.accept(speech[CHUNK : 2 * CHUNK], last=False)
    assert len(first.split()) > 2
    assert both.startswith(first + " ")
    assert stream.accept(speech[:1], last=True) == both
    stream.close()


def test_streams_share_nothing(tiny_ctc: Callable[..., Path], speech: NDArray[np.float32]) -> None:
    recogniser = load_recogniser(f"onnx-asr:{tiny_ctc()}")
    one, other = recogniser.open("en", Event()), recogniser.open("en", Event())
    text = one.accept(speech[:CHUNK], last=False)
    assert other.accept(speech[:CHUNK], last=False) == text


def test_the_languages_can_be_said(tiny_ctc: Callable[..., Path]) -> None:
    assert load_recogniser(f"onnx-asr:{tiny_ctc()}", ("ru", "uk")).languages == ("ru", "uk")


def test_the_languages_of_a_name_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_asr, "_load", lambda name: None)
    assert load_recogniser("onnx-asr:gigaam-v3-ctc").languages == ("ru",)
    assert load_recogniser("onnx-asr:nemo-parakeet-ctc-0.6b").languages == ("en",)
    assert len(load_recogniser("onnx-asr:nemo-parakeet-tdt-0.6b-v3").languages) == 25


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.onnx"])
def test_a_missing_file(tiny_ctc: Callable[..., Path], name: str) -> None:
    folder = tiny_ctc()
    (folder / name).unlink()
    with pytest.raises(ModelNotFoundError, match="onnx-asr finds no model"):
        load_recogniser(f"onnx-asr:{folder}")


def test_a_damaged_file(tiny_ctc: Callable[..., Path]) -> None:
    folder = tiny_ctc()
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelDamagedError, match="cannot load"):
        load_recogniser(f"onnx-asr:{folder}")


def test_an_unknown_name() -> None:
    with pytest.raises(ModelNotFoundError, match="name one that it lists"):
        load_recogniser("onnx-asr:parrot")
