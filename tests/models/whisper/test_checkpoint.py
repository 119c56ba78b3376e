"""The CTranslate2 reader: every type, every kind of damage, and the real models."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError, ModelNotFoundError
from as2d.models.store import resolve
from as2d.models.whisper.checkpoint import load_weights, whisper_config
from as2d.models.whisper.checkpoint_ct2 import Checkpoint, read_checkpoint
from as2d.models.whisper.formats import read_weights

Tensors = dict[str, NDArray[Any]]

CODES = {"float32": 0, "int8": 1, "int16": 2, "int32": 3, "float16": 4, "uint16": 5}
D, FFN, VOCAB, MELS, AUDIO, TEXT = 64, 96, 70, 8, 6, 5


def string(text: str) -> bytes:
    raw = text.encode() + b"\0"
    return struct.pack("<H", len(raw)) + raw


def tensor_bytes(name: str, value: NDArray[Any]) -> bytes:
    head = struct.pack(f"<B{value.ndim}I", value.ndim, *value.shape)
    return string(name) + head + struct.pack("<BI", CODES[value.dtype.name], value.nbytes) + value.tobytes()


def model_bytes(tensors: Tensors, aliases: Mapping[str, str], spec: str = "WhisperSpec") -> bytes:
    content = struct.pack("<I", 6) + string(spec) + struct.pack("<II", 3, len(tensors))
    content += b"".join(tensor_bytes(name, value) for name, value in tensors.items())
    content += struct.pack("<I", len(aliases))
    return content + b"".join(string(alias) + string(target) for alias, target in aliases.items())


def small_tensors() -> Tensors:
    """One tensor of each type, int8 with a scale a row."""
    return {
        "f32": np.array([[1.5, -2.0], [0.25, 3.0]], np.float32),
        "f16": np.array([0.5, -1.25, 3.0], np.float16),
        "bf16": (np.array([1.0, -0.5, 384.0], np.float32).view(np.uint32) >> 16).astype(np.uint16),
        "i8": np.array([[127, -64], [10, 0]], np.int8),
        "i8_scale": np.array([127.0, 20.0], np.float32),
        "i16": np.array([[1000, -500]], np.int16),
        "i16_scale": np.array(1000.0, np.float32),
        "i32": np.array([7], np.int32),
    }


def whisper_tensors() -> Tensors:
    """A whole, tiny Whisper: one encoder and two decoder layers."""
    rng = np.random.default_rng(1)
    shapes: dict[str, tuple[int, ...]] = {
        "encoder/conv1/weight": (D, MELS, 3),
        "encoder/conv1/bias": (D,),
        "encoder/conv2/weight": (D, D, 3),
        "encoder/conv2/bias": (D,),
        "encoder/position_encodings/encodings": (AUDIO, D),
        "decoder/position_encodings/encodings": (TEXT, D),
        "decoder/embeddings/weight": (VOCAB, D),
        "encoder/layer_norm/gamma": (D,),
        "encoder/layer_norm/beta": (D,),
        "decoder/layer_norm/gamma": (D,),
        "decoder/layer_norm/beta": (D,),
    }
    linears = {
        "self_attention/linear_0": (3 * D, D),
        "self_attention/linear_1": (D, D),
        "ffn/linear_0": (FFN, D),
        "ffn/linear_1": (D, FFN),
    }
    cross = {"attention/linear_0": (D, D), "attention/linear_1": (2 * D, D), "attention/linear_2": (D, D)}
    for layer in ("encoder/layer_0", "decoder/layer_0", "decoder/layer_1"):
        for name, shape in (linears | cross if layer.startswith("decoder") else linears).items():
            shapes[f"{layer}/{name}/weight"] = shape
            shapes[f"{layer}/{name}/bias"] = shape[:1]
            for part in ("gamma", "beta"):
                shapes[f"{layer}/{name.split('/')[0]}/layer_norm/{part}"] = (D,)
    tensors: Tensors = {name: rng.standard_normal(shape).astype(np.float16) for name, shape in shapes.items()}
    tensors["encoder/num_heads"] = np.array(1, np.int16)
    tensors["decoder/activation"] = np.array(3, np.int8)
    return tensors


TIED = {"decoder/projection/weight": "decoder/embeddings/weight"}


def checkpoint_of(
    folder: Path, tensors: Tensors, aliases: Mapping[str, str], spec: str = "WhisperSpec"
) -> Checkpoint:
    path = folder / "model.bin"
    path.write_bytes(model_bytes(tensors, aliases, spec))
    return read_checkpoint([path])


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoint")


def test_reads_every_type(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, small_tensors(), {"other": "f16"})
    assert (checkpoint.spec, checkpoint.revision) == ("WhisperSpec", 3)
    for name, value in small_tensors().items():
        np.testing.assert_array_equal(checkpoint.tensors[name], value)
    assert checkpoint.tensors["other"] is checkpoint.tensors["f16"]


def test_converts_every_weight_type_to_float32(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, small_tensors(), {"other": "f16"})
    expected = {
        "f32": [[1.5, -2.0], [0.25, 3.0]],
        "f16": [0.5, -1.25, 3.0],
        "other": [0.5, -1.25, 3.0],
        "bf16": [1.0, -0.5, 384.0],
        "i8": [[1.0, -64 / 127], [0.5, 0.0]],
        "i16": [[1.0, -0.5]],
    }
    for name, values in expected.items():
        converted = checkpoint.float32(name)
        assert converted.dtype == np.float32
        assert converted.flags.c_contiguous
        np.testing.assert_array_equal(converted, np.array(values, np.float32))


def test_dequantises_a_convolution_by_its_output_rows(tmp_path: Path) -> None:
    tensors: Tensors = {"w": np.full((2, 3, 3), 100, np.int8), "w_scale": np.array([100.0, 50.0], np.float32)}
    converted = checkpoint_of(tmp_path, tensors, {}).float32("w")
    np.testing.assert_array_equal(
        converted, np.array([1.0, 2.0], np.float32)[:, None, None] * np.ones((2, 3, 3))
    )


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"w": np.ones((2, 2), np.int8)}, "lacks w_scale"),
        ({"w": np.ones((2, 2), np.int8), "w_scale": np.ones(3, np.float32)}, "scale of another size"),
        ({"w": np.ones((2, 2), np.int8), "w_scale": np.zeros(2, np.float32)}, "not finite"),
        ({"w": np.ones(2, np.int32)}, "int32"),
        ({"w": np.array([np.nan], np.float32)}, "not finite"),
        ({"v": np.ones(2, np.float32)}, "lacks w"),
    ],
)
def test_refuses_weights_without_a_meaning(tmp_path: Path, tensors: Tensors, message: str) -> None:
    checkpoint = checkpoint_of(tmp_path, tensors, {})
    with pytest.raises(ModelDamagedError, match=message):
        checkpoint.float32("w")


def test_parts_are_one_file(tmp_path: Path) -> None:
    content = model_bytes(small_tensors(), {})
    parts = [tmp_path / "part1", tmp_path / "part2"]
    parts[0].write_bytes(content[:61])
    parts[1].write_bytes(content[61:])
    np.testing.assert_array_equal(read_checkpoint(parts).tensors["f32"], small_tensors()["f32"])


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"model\.bin"):
        read_checkpoint([tmp_path / "model.bin"])


def header(count: int) -> bytes:
    return struct.pack("<I", 6) + string("S") + struct.pack("<II", 3, count)


ONE = tensor_bytes("a", np.ones(1, np.float32))
NO_ALIASES = struct.pack("<I", 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut short"),
        (struct.pack("<I", 5), "binary version 5"),
        (struct.pack("<IH", 6, 0), "no end"),
        (struct.pack("<IH", 6, 2) + b"\xff\0", "not UTF-8"),
        (header(2**32 - 1) + ONE, "cut short"),
        (header(2) + ONE + ONE + NO_ALIASES, "twice"),
        (header(1) + string("a") + b"\xff", "rank 255"),
        (header(1) + string("a") + struct.pack("<BIBI", 1, 1, 9, 4), "unknown type 9"),
        (header(1) + string("a") + struct.pack("<B4IBI", 4, *[2**32 - 1] * 4, 0, 4), "has 4 bytes"),
        (header(1) + string("a") + struct.pack("<BIBI", 1, 2**30 - 1, 0, 2**32 - 4), "cut short"),
        (header(1) + string("a") + struct.pack("<BIBI", 1, 0, 0, 0), "has 0 bytes"),
        (header(1) + ONE + struct.pack("<I", 1) + string("b") + string("c"), "no target"),
        (header(1) + ONE + NO_ALIASES + b"x", "bytes follow"),
    ],
)
def test_names_what_is_malformed(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(ModelDamagedError, match=message) as caught:
        read_checkpoint([path])
    assert "\n" not in str(caught.value)


def test_truncation_at_every_byte_is_noticed(scratch: Path) -> None:
    content = model_bytes(small_tensors(), {"other": "f16"})
    path = scratch / "cut.bin"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(ModelDamagedError):
            read_checkpoint([path])


@settings(deadline=None)
@given(st.data())
def test_flipped_bytes_raise_nothing_else(scratch: Path, data: st.DataObject) -> None:
    tensors, aliases = data.draw(
        st.sampled_from([(small_tensors(), {"other": "f16"}), (whisper_tensors(), TIED)]), label="model"
    )
    content = bytearray(model_bytes(tensors, aliases))
    # The names and sizes at the start are hit more often than the long data.
    position = st.integers(0, len(content) - 1) | st.integers(0, 400)
    for index, value in data.draw(st.lists(st.tuples(position, st.integers(0, 255)), min_size=1, max_size=4)):
        content[index % len(content)] = value
    path = scratch / "flipped.bin"
    path.write_bytes(content)
    use_all_that_is_readable(path)


def use_all_that_is_readable(path: Path) -> None:
    try:
        checkpoint = read_checkpoint([path])
    except ModelDamagedError:
        return
    for name in checkpoint.tensors:
        try:
            checkpoint.float32(name)
        except ModelDamagedError:
            continue
    try:
        weights = load_weights(checkpoint)
        list(weights.encoder.layers)
        list(weights.decoder.layers)
    except ModelDamagedError:
        return


def test_weights_by_role(tmp_path: Path) -> None:
    tensors = whisper_tensors()
    weights = load_weights(checkpoint_of(tmp_path, tensors, TIED))
    config = weights.config
    assert (config.encoder_layers, config.decoder_layers, config.heads, config.ffn) == (1, 2, 1, FFN)
    assert (config.vocab, config.n_mels, config.audio_ctx, config.text_ctx) == (VOCAB, MELS, AUDIO, TEXT)
    assert not config.multilingual
    encoder, decoder = weights.encoder.layers[0], weights.decoder.layers[1]
    for found, name in (
        (weights.encoder.conv1.weight, "encoder/conv1/weight"),
        (weights.encoder.conv2.bias, "encoder/conv2/bias"),
        (weights.encoder.position, "encoder/position_encodings/encodings"),
        (weights.encoder.norm.gamma, "encoder/layer_norm/gamma"),
        (weights.decoder.token_embedding, "decoder/embeddings/weight"),
        (weights.decoder.position, "decoder/position_encodings/encodings"),
        (weights.decoder.norm.beta, "decoder/layer_norm/beta"),
        (encoder.self_norm.beta, "encoder/layer_0/self_attention/layer_norm/beta"),
        (encoder.qkv.weight, "encoder/layer_0/self_attention/linear_0/weight"),
        (encoder.self_out.bias, "encoder/layer_0/self_attention/linear_1/bias"),
        (encoder.ffn_norm.gamma, "encoder/layer_0/ffn/layer_norm/gamma"),
        (encoder.fc1.weight, "encoder/layer_0/ffn/linear_0/weight"),
        (encoder.fc2.weight, "encoder/layer_0/ffn/linear_1/weight"),
        (decoder.self_norm.gamma, "decoder/layer_1/self_attention/layer_norm/gamma"),
        (decoder.qkv.bias, "decoder/layer_1/self_attention/linear_0/bias"),
        (decoder.self_out.weight, "decoder/layer_1/self_attention/linear_1/weight"),
        (decoder.cross_norm.gamma, "decoder/layer_1/attention/layer_norm/gamma"),
        (decoder.cross_q.weight, "decoder/layer_1/attention/linear_0/weight"),
        (decoder.cross_kv.weight, "decoder/layer_1/attention/linear_1/weight"),
        (decoder.cross_out.weight, "decoder/layer_1/attention/linear_2/weight"),
        (decoder.ffn_norm.beta, "decoder/layer_1/ffn/layer_norm/beta"),
        (decoder.fc1.bias, "decoder/layer_1/ffn/linear_0/bias"),
        (decoder.fc2.bias, "decoder/layer_1/ffn/linear_1/bias"),
    ):
        np.testing.assert_array_equal(found, tensors[name].astype(np.float32), err_msg=name)


def test_layers_are_a_lazy_sequence(tmp_path: Path) -> None:
    layers = load_weights(checkpoint_of(tmp_path, whisper_tensors(), TIED)).decoder.layers
    assert len(layers) == 2
    assert len(layers[1:]) == 1
    np.testing.assert_array_equal(layers[1:][0].fc1.bias, layers[-1].fc1.bias)
    with pytest.raises(IndexError):
        layers[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decoder/activation": np.array(0, np.int8)}, "activation is not 3"),
        ({"encoder/num_heads": np.array(2, np.int16)}, "num_heads is not 1"),
        ({"decoder/layer_1/ffn/linear_0/bias": np.ones(3, np.float16)}, "shape"),
        ({"decoder/embeddings/weight": np.ones((70, 65), np.float16)}, "multiple of 64"),
        ({"encoder/conv1/weight": np.ones((64, 8), np.float16)}, "rank 2"),
        ({"decoder/layer_3/ffn/linear_0/bias": np.ones(3, np.float16)}, "lacks decoder/layer_2"),
    ],
)
def test_refuses_what_is_no_whisper(tmp_path: Path, change: Tensors, message: str) -> None:
    checkpoint = checkpoint_of(tmp_path, whisper_tensors() | change, TIED)
    with pytest.raises(ModelDamagedError, match=message):
        load_weights(checkpoint)


def test_refuses_another_architecture_and_an_untied_head(tmp_path: Path) -> None:
    with pytest.raises(ModelDamagedError, match="no WhisperSpec"):
        whisper_config(checkpoint_of(tmp_path, whisper_tensors(), TIED, "TransformerSpec"))
    head: Tensors = {"decoder/projection/weight": np.ones((VOCAB, D), np.float16)}
    with pytest.raises(ModelDamagedError, match="output projection"):
        whisper_config(checkpoint_of(tmp_path, whisper_tensors() | head, {}))


@pytest.mark.parametrize(
    ("name", "sizes", "multilingual"),
    [
        ("whisper-base", (6, 6, 512, 8, 2048, 51865, 80, 1500, 448), True),
        ("whisper-tiny.en", (4, 4, 384, 6, 1536, 51864, 80, 1500, 448), False),
    ],
)
def test_real_models(
    name: str,
    sizes: tuple[int, ...],
    multilingual: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AS2D_CACHE", str(tmp_path))
    weights = read_weights(resolve(name))
    config = weights.config
    found = (
        config.encoder_layers,
        config.decoder_layers,
        config.d_model,
        config.heads,
        config.ffn,
        config.vocab,
        config.n_mels,
        config.audio_ctx,
        config.text_ctx,
    )
    assert (found, config.multilingual) == (sizes, multilingual)
    layer, d = weights.decoder.layers[0], config.d_model
    # Whisper's keys have no bias; a folded scale would make queries and keys differ in size.
    assert not layer.qkv.bias[d : 2 * d].any()
    assert not layer.cross_kv.bias[:d].any()
    query, key = np.linalg.norm(layer.qkv.weight[:d]), np.linalg.norm(layer.qkv.weight[d : 2 * d])
    assert 0.7 < query / key < 1.4
