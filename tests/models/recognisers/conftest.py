"""Speech, and tiny models with random weights in the layouts that the recogniser packages load."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from as2d.audio import open_audio

FEATURES = 80
PIECES = ("▁and", "▁so", "▁my", "▁fellow", "▁ask", "▁not", "▁what", "ed", "ing", "<blk>")
HIDDEN = 4
CACHES = {"cache_last_channel": 4, "cache_last_time": 4, "cache_last_channel_len": 1}
"""The streaming encoder's states and their ranks; the toy hands them through."""

NEMO = {"vocab_size": len(PIECES) - 1, "subsampling_factor": 8, "normalize_type": "per_feature"}
STREAMING = (
    NEMO
    | {"window_size": 32, "chunk_shift": 16}
    | {f"cache_last_{cache}_dim{axis}": 1 for cache in ("channel", "time") for axis in (1, 2, 3)}
)
TRANSDUCER = {"pred_rnn_layers": 1, "pred_hidden": HIDDEN}
LANGUAGES = ("auto", "zh", "en", "ja", "ko", "yue")


@pytest.fixture(scope="session")
def speech(clips: Mapping[str, Path]) -> NDArray[np.float32]:
    """The JFK clip: 11 s of English, float32 [176000]."""
    with open_audio(clips["jfk"]) as stream:
        return np.concatenate(list(stream))


@pytest.fixture
def tiny_ctc(tmp_path: Path) -> Callable[..., Path]:
    """Writes a NeMo CTC model for onnx-asr and sherpa-onnx; metadata may be left out."""

    def write(*, streaming: bool = False, without: str = "") -> Path:
        metadata = STREAMING if streaming else NEMO
        kept = {key: value for key, value in metadata.items() if key != without}
        nodes = [*encoder(streaming=streaming), helper.make_node("LogSoftmax", ["encoded"], ["logprobs"])]
        save(
            tmp_path / "model.onnx",
            nodes,
            weights(len(PIECES)),
            audio_inputs(),
            ["logprobs"],
            kept,
            streaming,
        )
        write_tokens(tmp_path)
        return tmp_path

    return write


@pytest.fixture
def tiny_transducer(tmp_path: Path) -> Callable[..., Path]:
    """Writes a NeMo transducer for sherpa-onnx."""

    def write(*, streaming: bool = False) -> Path:
        nodes = [
            *encoder(streaming=streaming),
            helper.make_node("Transpose", ["encoded"], ["outputs"], perm=[0, 2, 1]),  # [n, hidden, u]
            helper.make_node("Shape", ["outputs"], ["size"], start=2, end=3),
        ]
        lengths = [] if streaming else ["size"]
        metadata = (STREAMING if streaming else NEMO) | TRANSDUCER
        save(
            tmp_path / "encoder.onnx",
            nodes,
            weights(HIDDEN),
            audio_inputs(),
            ["outputs", *lengths],
            metadata,
            streaming,
        )
        write_predictor(tmp_path / "decoder.onnx")
        write_joiner(tmp_path / "joiner.onnx")
        write_tokens(tmp_path)
        return tmp_path

    return write


@pytest.fixture
def tiny_sense_voice(tmp_path: Path) -> Path:
    """Writes a SenseVoice model for sherpa-onnx: its first four frames are not text but tags."""
    size = 560
    metadata = {
        "vocab_size": len(PIECES),
        "blank_id": len(PIECES) - 1,
        "lfr_window_size": 7,
        "lfr_window_shift": 6,
        "normalize_samples": 0,
        "with_itn": 14,
        "without_itn": 15,
        "neg_mean": ",".join(["0"] * size),
        "inv_stddev": ",".join(["1"] * size),
    } | {f"lang_{language}": index for index, language in enumerate(LANGUAGES)}
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "t", size])]
    inputs += [integers(name, 1) for name in ("x_length", "language", "text_norm")]
    nodes = [helper.make_node("MatMul", ["x", "weights"], ["logits"])]
    save(tmp_path / "model.onnx", nodes, weights(len(PIECES), size), inputs, ["logits"], metadata)
    write_tokens(tmp_path)
    return tmp_path


def encoder(*, streaming: bool) -> list[Any]:
    """Features [n, 80, t] → encoded [n, t / 8, width of the weights]."""
    ceil = 0 if streaming else 1
    return [
        helper.make_node(
            "AveragePool", ["audio_signal"], ["pooled"], kernel_shape=[8], strides=[8], ceil_mode=ceil
        ),
        helper.make_node("Transpose", ["pooled"], ["frames"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["frames", "weights"], ["encoded"]),
    ]


def write_predictor(path: Path) -> None:
    """Says the same whatever was said before."""
    inputs = [
        helper.make_tensor_value_info("targets", TensorProto.INT32, ["n", 1]),
        helper.make_tensor_value_info("target_length", TensorProto.INT32, ["n"]),
        *(floats(name, 3) for name in ("states_1", "states_2")),
    ]
    nodes = [
        helper.make_node("Transpose", ["states_1"], ["outputs"], perm=[1, 2, 0]),  # [n, hidden, 1]
        helper.make_node("Identity", ["target_length"], ["output_length"]),
        helper.make_node("Identity", ["states_1"], ["next_1"]),
        helper.make_node("Identity", ["states_2"], ["next_2"]),
    ]
    save(path, nodes, None, inputs, ["outputs", "output_length", "next_1", "next_2"], {})


def write_joiner(path: Path) -> None:
    """Scores [n, 1, 1, pieces] of one encoder frame [n, hidden, 1]."""
    inputs = [floats(name, 3) for name in ("encoder_outputs", "decoder_outputs")]
    nodes = [
        helper.make_node("Add", inputs_names(inputs), ["sum"]),
        helper.make_node("Transpose", ["sum"], ["row"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["row", "weights"], ["scores"]),
        helper.make_node("Unsqueeze", ["scores", "axis"], ["logits"]),
    ]
    save(path, nodes, weights(len(PIECES), HIDDEN), inputs, ["logits"], {})


def write_tokens(folder: Path) -> None:
    """tokens.txt for sherpa-onnx, vocab.txt and config.json for onnx-asr."""
    lines = "".join(f"{piece} {index}\n" for index, piece in enumerate(PIECES))
    (folder / "tokens.txt").write_text(lines, encoding="utf-8")
    (folder / "vocab.txt").write_text(lines, encoding="utf-8")
    (folder / "config.json").write_text('{"model_type": "nemo-conformer-ctc"}', encoding="utf-8")


def save(
    path: Path,
    nodes: list[Any],
    kernel: NDArray[np.float32] | None,
    inputs: list[Any],
    outputs: Sequence[str],
    metadata: Mapping[str, object],
    streaming: bool = False,
) -> None:
    """Write a model; a streaming one also hands the length and its caches through."""
    constants = [numpy_helper.from_array(np.array([1]), "axis")]
    constants += [] if kernel is None else [numpy_helper.from_array(kernel, "weights")]
    passed = ["length", *CACHES] if streaming else []
    inputs = inputs + ([cache(name, rank) for name, rank in CACHES.items()] if streaming else [])
    nodes = nodes + [helper.make_node("Identity", [name], [f"next_{name}"]) for name in passed]
    shown = [helper.make_empty_tensor_value_info(name) for name in (*outputs, *(f"next_{n}" for n in passed))]
    graph = helper.make_graph(nodes, "tiny", inputs, shown, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, {key: str(value) for key, value in metadata.items()})
    onnx.save(model, path)


def weights(width: int, size: int = FEATURES) -> NDArray[np.float32]:
    """Random but always the same, and blind to the loudness, which would drown all else."""
    kernel = np.random.default_rng(0).normal(size=(size, width)).astype(np.float32)
    kernel -= kernel.mean(axis=0)
    return kernel


def audio_inputs() -> list[Any]:
    """What a NeMo encoder hears."""
    signal = helper.make_tensor_value_info("audio_signal", TensorProto.FLOAT, ["n", FEATURES, "t"])
    return [signal, helper.make_tensor_value_info("length", TensorProto.INT64, ["n"])]


def inputs_names(inputs: list[Any]) -> list[str]:
    return [value.name for value in inputs]


def floats(name: str, rank: int) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank)


def integers(name: str, rank: int) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.INT32, [None] * rank)


def cache(name: str, rank: int) -> Any:
    kind = TensorProto.INT64 if name.endswith("_len") else TensorProto.FLOAT
    return helper.make_tensor_value_info(name, kind, [None] * rank)
