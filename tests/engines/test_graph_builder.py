"""Quantised weights and the graphs that hold them."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from as2d.engines.graph_builder import BLOCK, GraphBuilder, Precision, quantise
from as2d.engines.onnxruntime import Graph

Float32 = NDArray[np.float32]


def random_weight(rows: int = 48, columns: int = 3 * BLOCK) -> Float32:
    return np.random.default_rng(1).standard_normal((rows, columns)).astype(np.float32)


def unpacked(values: NDArray[np.uint8], bits: int) -> NDArray[np.int64]:
    """[out, blocks, BLOCK] with zero at 0."""
    if bits == 4:
        values = np.stack([values & 15, values >> 4], axis=-1).reshape(*values.shape[:2], BLOCK)
    return np.asarray(values.astype(np.int64) - 2 ** (bits - 1))


def dequantised(weight: Float32, bits: int) -> Float32:
    values, scales = quantise(weight, bits)
    blocks = unpacked(values, bits) * scales.reshape(len(weight), -1, 1)
    return blocks.reshape(len(weight), -1)[:, : weight.shape[1]].astype(np.float32)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("columns", [BLOCK, 3 * BLOCK, BLOCK + 40])
def test_a_weight_comes_back_within_half_a_step(bits: int, columns: int) -> None:
    weight = random_weight(columns=columns)
    _, scales = quantise(weight, bits)
    steps = np.repeat(scales.reshape(len(weight), -1), BLOCK, axis=1)[:, :columns]
    assert (np.abs(dequantised(weight, bits) - weight) <= steps * 0.5001).all()


@pytest.mark.parametrize("bits", [8, 4])
def test_the_largest_weight_of_a_block_is_exact_and_zero_stays_zero(bits: int) -> None:
    weight = random_weight()
    weight[3] = 0
    back = dequantised(weight, bits)
    rows, columns = np.arange(len(weight)), np.abs(weight[:, :BLOCK]).argmax(axis=1)
    np.testing.assert_allclose(back[rows, columns], weight[rows, columns], rtol=1e-6)
    assert not back[3].any()


def test_four_bits_are_packed_low_half_first() -> None:
    weight = np.zeros((1, BLOCK), np.float32)
    weight[0, :4] = [7, -7, 1, 0]
    values, scales = quantise(weight, 4)
    assert scales.tolist() == [1]
    assert values.shape == (1, 1, BLOCK // 2)
    assert values[0, 0, :2].tolist() == [15 | 1 << 4, 9 | 8 << 4]


def build_linear(path: Path, weight: Float32, bias: Float32 | None, precision: Precision) -> Graph:
    g = GraphBuilder("linear", path)
    g.input("x", ["K", weight.shape[1]])
    g.op("Identity", g.linear("x", "layer", weight, bias, precision), name="y")
    g.output("y", ["K", weight.shape[0]])
    g.save()
    return Graph(path)


def multiplied(graph: Graph, x: Float32, weight: Float32) -> Float32:
    y = np.empty((len(x), len(weight)), np.float32)
    graph.run(1, {"x": x}, {"y": y})
    return y


def quantised_rows(x: Float32) -> Float32:
    """What MatMulNBits makes of its input: int8 with one scale for each block of a row."""
    blocks = x.reshape(len(x), -1, BLOCK)
    scales = np.abs(blocks).max(axis=-1, keepdims=True) / 127
    rounded: Float32 = (np.rint(blocks / scales) * scales).reshape(x.shape).astype(np.float32)
    return rounded


@pytest.mark.parametrize("precision", ["int8", "int4"])
@pytest.mark.parametrize("biased", [True, False])
def test_the_engine_multiplies_by_the_dequantised_weight(
    tmp_path: Path, precision: Precision, biased: bool
) -> None:
    weight = random_weight()
    bias = np.arange(len(weight), dtype=np.float32) if biased else None
    x = np.random.default_rng(2).standard_normal((5, weight.shape[1])).astype(np.float32)
    y = multiplied(build_linear(tmp_path / "linear.onnx", weight, bias, precision), x, weight)
    kept = dequantised(weight, 8 if precision == "int8" else 4)
    offset = 0 if bias is None else bias
    # the activations are quantised too, to 1/127 of the largest of a block
    np.testing.assert_allclose(y, x @ kept.T + offset, atol=0.9)
    np.testing.assert_allclose(y, quantised_rows(x) @ kept.T + offset, atol=0.05)


@pytest.mark.parametrize("biased", [True, False])
def test_float32_stays_float32(tmp_path: Path, biased: bool) -> None:
    weight = random_weight()
    bias = np.ones(len(weight), np.float32) if biased else None
    x = np.random.default_rng(2).standard_normal((3, weight.shape[1])).astype(np.float32)
    y = multiplied(build_linear(tmp_path / "linear.onnx", weight, bias, "fp32"), x, weight)
    np.testing.assert_allclose(y, x @ weight.T + biased, atol=1e-4)


def test_a_graph_keeps_its_constants_in_a_file_beside_it(tmp_path: Path) -> None:
    build_linear(tmp_path / "linear.onnx", random_weight(), None, "int8")
    assert {path.name for path in tmp_path.iterdir()} == {"linear.onnx", "linear.onnx.data"}
    assert (tmp_path / "linear.onnx").stat().st_size < 2000
    assert (tmp_path / "linear.onnx.data").stat().st_size >= random_weight().size
    onnx.checker.check_model(str(tmp_path / "linear.onnx"))


def test_a_constant_is_stored_once(tmp_path: Path) -> None:
    g = GraphBuilder("constants", tmp_path / "constants.onnx")
    assert g.integers(1, 2) == g.integers(1, 2)
    assert g.constant("a", np.zeros(3)) == "a"
    assert g.constant("a", np.ones(3)) == "a"
    assert len(g._constants) == 2
