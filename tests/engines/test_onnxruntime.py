"""Sessions, bindings and the fingerprint."""

from collections.abc import Callable
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from as2d.engines.graph_builder import GraphBuilder
from as2d.engines.onnxruntime import Graph, cpu_fingerprint
from as2d.errors import ModelDamagedError


@pytest.fixture
def doubling(tmp_path: Path) -> Graph:
    """y = x + x for x [K, 3]."""
    g = GraphBuilder("double", tmp_path / "double.onnx")
    g.input("x", ["K", 3])
    g.op("Add", "x", "x", name="y")
    g.output("y", ["K", 3])
    g.save()
    return Graph(tmp_path / "double.onnx")


def in_threads(work: Callable[[], object], count: int) -> None:
    threads = [Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_session_is_made_once_for_a_thread_count(doubling: Graph) -> None:
    assert doubling.session(1) is doubling.session(1)
    assert doubling.session(2) is not doubling.session(1)
    assert doubling.session(2).get_session_options().intra_op_num_threads == 2


def test_threads_that_ask_together_get_one_session(doubling: Graph) -> None:
    found = set()
    in_threads(lambda: found.add(id(doubling.session(1))), 8)
    assert found == {id(doubling.session(1))}


def test_a_session_does_not_spin(doubling: Graph) -> None:
    options = doubling.session(2).get_session_options()
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"


def test_a_call_writes_the_outputs(doubling: Graph) -> None:
    y = np.empty((2, 3), np.float32)
    doubling.run(1, {"x": np.ones((2, 3), np.float32)}, {"y": y})
    assert (y == 2).all()


def test_a_binding_reads_and_writes_the_caller_s_arrays(doubling: Graph) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    large = np.full((4, 3), -1, np.float32)
    binding = doubling.bind(1)
    binding.input("x", x)
    binding.output("y", large[1:3])
    binding.run()
    assert large.tolist() == [[-1] * 3, [0, 2, 4], [6, 8, 10], [-1] * 3]
    x += 1
    binding.run()
    assert large[1].tolist() == [2, 4, 6]


def test_a_cache_grows_in_place(tmp_path: Path) -> None:
    g = GraphBuilder("cumulate", tmp_path / "cumulate.onnx")
    g.input("past", ["T", 2])
    g.input("x", ["K", 2])
    total = g.op("ReduceSum", "past", g.integers(0), keepdims=1)
    g.op("Add", "x", total, name="new")
    g.output("new", ["K", 2])
    g.save()
    memory, x = np.full((5, 2), 7, np.float32), np.array([[1, 2]], np.float32)
    binding = Graph(tmp_path / "cumulate.onnx").bind(1)
    binding.input("x", x)
    for length in range(4):
        binding.cache("past", "new", memory.ctypes.data, (length, 1), (2,))
        binding.run()
    assert memory.tolist() == [[1, 2], [2, 4], [4, 8], [8, 16], [7, 7]]


def test_a_binding_takes_another_width(doubling: Graph) -> None:
    binding = doubling.bind(1)
    for rows in (3, 1, 5):
        x, y = np.full((rows, 3), rows, np.float32), np.empty((rows, 3), np.float32)
        binding.input("x", x)
        binding.output("y", y)
        binding.run()
        assert (y == 2 * rows).all()


@pytest.mark.parametrize("content", [b"", b"no graph", None])
def test_a_file_that_is_no_graph_is_damaged(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "graph.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelDamagedError, match=r"cannot load .*delete it"):
        Graph(path).session(1)


def test_a_graph_without_its_weights_is_damaged(tmp_path: Path) -> None:
    g = GraphBuilder("add", tmp_path / "add.onnx")
    g.input("x", ["K", 1000])
    g.op("Add", "x", g.constant("w", np.ones(1000, np.float32)), name="y")
    g.output("y", ["K", 1000])
    g.save()
    (tmp_path / "add.onnx.data").unlink()
    with pytest.raises(ModelDamagedError):
        Graph(tmp_path / "add.onnx").session(1)


def test_the_fingerprint_names_engine_and_processor() -> None:
    fingerprint = cpu_fingerprint()
    assert fingerprint == cpu_fingerprint()
    assert fingerprint["engine"].startswith("onnxruntime ")
    assert set(fingerprint) == {"engine", "cpu"}
