"""The safetensors reader: every float type, several files, and every kind of damage."""

import json
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from as2d.errors import ModelDamagedError, ModelNotFoundError
from as2d.models.safetensors import INDEX, SINGLE, open_safetensors, read_header, weight_files

Make = Callable[..., bytes]

F16 = np.array([0.5, -1.25, 3.0], np.float16)
F32 = np.array([[1.5, -2.0], [0.25, 3.0]], np.float32)
BF16 = (np.array([1.0, -0.5, 384.0], np.float32).view(np.uint32) >> 16).astype(np.uint16)
TENSORS = {"f16": F16, "f32": F32, "bf16": BF16, "i64": np.array([7], np.int64)}


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("safetensors")


def test_floats_are_widened(tmp_path: Path, safetensors: Make) -> None:
    (tmp_path / SINGLE).write_bytes(safetensors(TENSORS))
    stored = open_safetensors(tmp_path)
    assert set(stored.entries) == set(TENSORS)
    assert stored.shape("f32") == (2, 2)
    for name, values in (("f16", F16), ("f32", F32), ("bf16", [1.0, -0.5, 384.0])):
        found = stored.float32(name)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, values)


def test_it_reads_what_the_official_library_writes(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    library.save_file({"f16": F16, "f32": F32}, tmp_path / SINGLE, metadata={"format": "np"})
    stored = open_safetensors(tmp_path)
    np.testing.assert_array_equal(stored.float32("f16"), F16.astype(np.float32))
    np.testing.assert_array_equal(stored.float32("f32"), F32)


def test_several_files_are_one(tmp_path: Path, safetensors: Make) -> None:
    for name in ("f16", "f32"):
        (tmp_path / f"{name}.safetensors").write_bytes(safetensors({name: TENSORS[name]}))
    weight_map = {"f32": "f32.safetensors", "f16": "f16.safetensors"}
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": weight_map}))
    assert weight_files(tmp_path) == (tmp_path / "f16.safetensors", tmp_path / "f32.safetensors")
    stored = open_safetensors(tmp_path)
    np.testing.assert_array_equal(stored.float32("f16"), F16.astype(np.float32))
    np.testing.assert_array_equal(stored.float32("f32"), F32)
    (tmp_path / "f16.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match=r"f16\.safetensors.*models pull"):
        open_safetensors(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"), [("i64", "has the type I64"), ("none", "lacks none"), ("nan", "not finite")]
)
def test_tensors_without_a_meaning(tmp_path: Path, safetensors: Make, name: str, message: str) -> None:
    (tmp_path / SINGLE).write_bytes(safetensors(TENSORS | {"nan": np.array([np.nan], np.float32)}))
    with pytest.raises(ModelDamagedError, match=message):
        open_safetensors(tmp_path).float32(name)


def test_a_file_that_shrinks_while_it_is_used(tmp_path: Path, safetensors: Make) -> None:
    path = tmp_path / SINGLE
    path.write_bytes(safetensors(TENSORS))
    stored = open_safetensors(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ModelDamagedError, match="became shorter"):
        stored.float32("bf16")
    path.unlink()
    with pytest.raises(ModelNotFoundError, match="cannot read"):
        stored.float32("bf16")


def file_of(header: Any, data: bytes = b"") -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


def entry(dtype: Any = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut short"),
        (struct.pack("<Q", 2**63), "cut short or no"),
        (struct.pack("<Q", 3) + b"{}", "cut short or no"),
        (file_of(b"{"), "not JSON"),
        (file_of(b"\xff"), "not JSON"),
        (file_of(b"[" * 100_000), "not JSON"),
        (file_of([]), "no JSON object"),
        (file_of({"a": 1}), "malformed at 'a'"),
        (file_of(entry(dtype=1)), "malformed"),
        (file_of(entry(shape=[-1])), "malformed"),
        (file_of(entry(shape=[True]), bytes(4)), "malformed"),
        (file_of(entry(offsets=[0])), "malformed"),
        (file_of(entry(shape=[2**40, 2**40])), "has 4 bytes"),
        (file_of(entry(offsets=[4, 8]), bytes(8)), "gap"),
        (file_of(entry() | {"b": entry()["a"]}, bytes(8)), "overlap"),
        (file_of(entry(dtype="I8", offsets=[0, -1])), "overlap"),
        (file_of(entry(), bytes(3)), "cut short"),
        (file_of(entry(), bytes(5)), "too long"),
    ],
)
def test_names_what_is_malformed(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / SINGLE
    path.write_bytes(content)
    with pytest.raises(ModelDamagedError, match=message) as caught:
        read_header(path)
    assert "\n" not in str(caught.value)


@settings(deadline=None)
@given(st.data())
def test_damage_raises_nothing_else(scratch: Path, safetensors: Make, data: st.DataObject) -> None:
    content = bytearray(safetensors(TENSORS))
    for index, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), min_size=1, max_size=4)
    ):
        content[index] = value
    (scratch / SINGLE).write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        stored = open_safetensors(scratch)
    except ModelDamagedError:
        return
    for name in stored.entries:
        try:
            stored.float32(name)
        except ModelDamagedError:
            continue


def test_only_what_is_asked_for_is_in_memory(tmp_path: Path, safetensors: Make) -> None:
    size = 1 << 18
    (tmp_path / SINGLE).write_bytes(safetensors({str(i): np.ones(size, np.float16) for i in range(40)}))
    tracemalloc.start()
    stored = open_safetensors(tmp_path)
    for name in stored.entries:
        stored.float32(name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 4 * size
