"""A small builder of ONNX graphs, and the weight quantisation that onnxruntime's MatMulNBits expects."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Precision = Literal["fp32", "int8", "int4"]

MICROSOFT = "com.microsoft"
BLOCK = 128
"""Weights that share one scale; 8-bit block 128 reproduces float32 transcripts (docs/decisions.md)."""

_OPSET = 20
_IR_VERSION = 10
_EPSILON = 1e-5
_SMALLEST_EXTERNAL = 1024
_BITS: dict[Precision, int] = {"int8": 8, "int4": 4}
# Asks MatMulNBits to quantise activations to int8 too, a block of one row at a time: fast, and rows stay independent.
_INT8_ACTIVATIONS = 4


def quantise(weight: NDArray[np.float32], bits: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Symmetric block quantisation of a [out, in] weight along `in`.

    Returns the values [out, blocks, BLOCK · bits / 8] with zero at 2^(bits−1), and the scales [out · blocks].
    """
    rows, columns = weight.shape
    blocks = -(-columns // BLOCK)
    padded = np.zeros((rows, blocks * BLOCK), np.float32)
    padded[:, :columns] = weight
    grouped = padded.reshape(rows, blocks, BLOCK)
    scales = np.abs(grouped).max(axis=-1, keepdims=True) / (2 ** (bits - 1) - 1)
    scales[scales == 0] = 1
    values = (np.rint(grouped / scales) + 2 ** (bits - 1)).clip(0, 2**bits - 1).astype(np.uint8)
    if bits == 4:
        values = values[..., 0::2] | (values[..., 1::2] << 4)
    return values, scales.astype(np.float32).reshape(-1)


class GraphBuilder:
    """Collects the nodes, inputs, outputs and constants of one graph.

    Large constants go to a file beside `path` as they come, so that a graph may be larger than the memory, and sessions
    share the mapped file.
    """

    def __init__(self, name: str, path: Path) -> None:
        self._name = name
        self._path = path
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[int | str], dtype: int = TensorProto.FLOAT) -> str:
        """Declare an input; a string in `shape` names a dimension that varies."""
        self._inputs.append(helper.make_tensor_value_info(name, dtype, list(shape)))
        return name

    def output(self, name: str, shape: Sequence[int | str]) -> None:
        """Declare that the value `name` is a float32 output."""
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Store an array under `name`; a name stands for one value, stored once."""
        if name not in self._constants:
            whole = np.ascontiguousarray(value)
            small = whole.nbytes < _SMALLEST_EXTERNAL
            self._constants[name] = (
                numpy_helper.from_array(whole, name) if small else self._stored(whole, name)
            )
        return name

    def integers(self, *values: int) -> str:
        """A constant vector of int64, for shapes, axes and splits."""
        return self.constant("i" + "_".join(map(str, values)), np.array(values, np.int64))

    def op(
        self, kind: str, *inputs: str, name: str | None = None, domain: str = "", **attributes: Any
    ) -> str:
        """Add a node with one output and return the output's name."""
        output = name or f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def ops(
        self, kind: str, *inputs: str, outputs: Sequence[str], domain: str = "", **attributes: Any
    ) -> None:
        """Add a node with several outputs, named by the caller; an empty name leaves one out."""
        self._nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **attributes))

    def linear(
        self,
        x: str,
        name: str,
        weight: NDArray[np.float32],
        bias: NDArray[np.float32] | None,
        precision: Precision,
    ) -> str:
        """x @ weight.T + bias for a [out, in] weight, stored in the given precision."""
        if precision == "fp32":
            y = self.op("MatMul", x, self.constant(f"{name}.weight", weight.T))
            return y if bias is None else self.op("Add", y, self.constant(f"{name}.bias", bias))
        rows, columns = weight.shape
        values, scales = quantise(weight, _BITS[precision])
        inputs = [x, self.constant(f"{name}.values", values), self.constant(f"{name}.scales", scales)]
        if bias is not None:
            inputs += ["", "", self.constant(f"{name}.bias", bias)]
        return self.op(
            "MatMulNBits",
            *inputs,
            domain=MICROSOFT,
            K=columns,
            N=rows,
            bits=_BITS[precision],
            block_size=BLOCK,
            accuracy_level=_INT8_ACTIVATIONS,
        )

    def layer_norm(self, x: str, name: str, gamma: NDArray[np.float32], beta: NDArray[np.float32]) -> str:
        """Normalise the last axis."""
        return self.op("LayerNormalization", x, *self._scale(name, gamma, beta), axis=-1, epsilon=_EPSILON)

    def add_and_norm(
        self, x: str, update: str, name: str, gamma: NDArray[np.float32], beta: NDArray[np.float32]
    ) -> tuple[str, str]:
        """(x + update, its layer norm) in one node."""
        total, normed = f"{name}.sum", f"{name}.out"
        self.ops(
            "SkipLayerNormalization",
            x,
            update,
            *self._scale(name, gamma, beta),
            outputs=[normed, "", "", total],
            domain=MICROSOFT,
            epsilon=_EPSILON,
        )
        return total, normed

    def _scale(self, name: str, gamma: NDArray[np.float32], beta: NDArray[np.float32]) -> tuple[str, str]:
        return self.constant(f"{name}.gamma", gamma), self.constant(f"{name}.beta", beta)

    def save(self) -> None:
        """Write the graph to its path."""
        graph = helper.make_graph(
            self._nodes, self._name, self._inputs, self._outputs, list(self._constants.values())
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(MICROSOFT, 1)]
        onnx.save_model(helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION), self._path)

    def _stored(self, value: NDArray[Any], name: str) -> onnx.TensorProto:
        """A constant whose bytes are appended to the file beside the graph."""
        data = self._path.with_name(f"{self._path.name}.data")
        with data.open("ab") as file:
            place = {"location": data.name, "offset": file.tell(), "length": value.nbytes}
            file.write(value.data)
        tensor = onnx.TensorProto(
            name=name,
            data_type=helper.np_dtype_to_tensor_dtype(value.dtype),
            dims=value.shape,
            data_location=TensorProto.EXTERNAL,
        )
        for key, stated in place.items():
            tensor.external_data.add(key=key, value=str(stated))
        return tensor
