"""sherpa-onnx on tiny random models in its own layouts."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError, ModelNotFoundError
from as2d.models.recognisers.contract import Recogniser
from as2d.models.recognisers.load import load_recogniser

pytest.importorskip("sherpa_onnx", reason='needs pip install "as2d[sherpa-onnx]"')

CHUNK = 40_960


def heard(recogniser: Recogniser, samples: NDArray[np.float32], stop: Event | None = None) -> list[str]:
    stream = recogniser.open("en", stop or Event())
    starts = range(0, len(samples), CHUNK)
    texts = [stream.accept(samples[start : start + CHUNK], last=start == starts[-1]) for start in starts]
    stream.close()
    return texts


def assert_grows(texts: list[str]) -> None:
    assert texts[0]
    assert all(after.startswith(before) for before, after in pairwise(texts))
    assert len(texts[-1]) > len(texts[0])


@pytest.mark.parametrize("streaming", [False, True])
def test_a_ctc_model(tiny_ctc: Callable[..., Path], speech: NDArray[np.float32], streaming: bool) -> None:
    recogniser = load_recogniser(f"sherpa-onnx:{tiny_ctc(streaming=streaming)}")
    texts = heard(recogniser, speech)
    assert_grows(texts)
    assert recogniser.languages == ("en",)
    assert heard(recogniser, speech) == texts


@pytest.mark.parametrize("streaming", [False, True])
def test_a_transducer(
    tiny_transducer: Callable[..., Path], speech: NDArray[np.float32], streaming: bool
) -> None:
    assert_grows(heard(load_recogniser(f"sherpa-onnx:{tiny_transducer(streaming=streaming)}"), speech))


def test_sense_voice(tiny_sense_voice: Path, speech: NDArray[np.float32]) -> None:
    recogniser = load_recogniser(f"sherpa-onnx:{tiny_sense_voice}")
    assert_grows(heard(recogniser, speech))
    assert recogniser.languages == ("zh", "en", "ja", "ko", "yue")


@pytest.mark.parametrize("streaming", [False, True])
def test_a_last_chunk_of_one_sample(
    tiny_ctc: Callable[..., Path], speech: NDArray[np.float32], streaming: bool
) -> None:
    recogniser = load_recogniser(f"sherpa-onnx:{tiny_ctc(streaming=streaming)}")
    before, after = heard(recogniser, speech[: CHUNK + 1])
    assert after.startswith(before)


def test_a_streaming_model_is_stopped_inside_a_chunk(
    tiny_ctc: Callable[..., Path], speech: NDArray[np.float32]
) -> None:
    stop = Event()
    stop.set()
    recogniser = load_recogniser(f"sherpa-onnx:{tiny_ctc(streaming=True)}")
    assert heard(recogniser, speech, stop)[-1] == ""


def test_the_int8_files_are_preferred(tiny_ctc: Callable[..., Path]) -> None:
    folder = tiny_ctc()
    (folder / "model.onnx").rename(folder / "model.int8.onnx")
    (folder / "model.onnx").write_bytes(b"never read")
    load_recogniser(f"sherpa-onnx:{folder}")


def test_the_languages_can_be_said(tiny_ctc: Callable[..., Path]) -> None:
    assert load_recogniser(f"sherpa-onnx:{tiny_ctc()}", ("ru",)).languages == ("ru",)


def test_a_model_that_would_end_the_process_is_refused(tiny_ctc: Callable[..., Path]) -> None:
    folder = tiny_ctc(without="vocab_size")
    with pytest.raises(ModelNotFoundError, match="it knows SenseVoice"):
        load_recogniser(f"sherpa-onnx:{folder}")


@pytest.mark.parametrize("name", ["tokens.txt", "model.onnx"])
def test_a_missing_file(tiny_ctc: Callable[..., Path], name: str) -> None:
    folder = tiny_ctc()
    (folder / name).unlink()
    with pytest.raises(ModelNotFoundError):
        load_recogniser(f"sherpa-onnx:{folder}")


def test_a_damaged_file(tiny_ctc: Callable[..., Path]) -> None:
    folder = tiny_ctc()
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelDamagedError, match="fetch it again"):
        load_recogniser(f"sherpa-onnx:{folder}")


def test_a_model_that_the_package_cannot_load(tiny_ctc: Callable[..., Path]) -> None:
    folder = tiny_ctc()
    data = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(data.replace(b"AveragePool", b"AveragePuul"))
    with pytest.raises(ModelDamagedError, match="cannot load"):
        load_recogniser(f"sherpa-onnx:{folder}")
