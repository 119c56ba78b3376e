"""Whisper from safetensors: the weights that CTranslate2's file holds, and the answers that transformers gives."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError, ModelNotFoundError, UnsupportedError
from as2d.evaluation.peers.weights import TRANSFORMERS, named_weights
from as2d.models.safetensors import INDEX, SINGLE
from as2d.models.store import HubFiles, ModelFiles, read_json, resolve
from as2d.models.store.hub_cache import Repository
from as2d.models.whisper.checkpoint import load_weights
from as2d.models.whisper.checkpoint_hub import read_hub_checkpoint
from as2d.models.whisper.formats import read_weights, suppression_lists
from as2d.models.whisper.model import WhisperModel, load_whisper
from as2d.records import Instruction

Make = Callable[..., bytes]
Array = NDArray[Any]

D, FFN, VOCAB, MELS, AUDIO, TEXT = 64, 96, 70, 8, 6, 5


def small_tensors() -> dict[str, Array]:
    """A whole, tiny Whisper under the hub's names: one encoder and two decoder layers."""
    rng = np.random.default_rng(1)
    shapes: dict[str, tuple[int, ...]] = {
        "encoder.conv1.weight": (D, MELS, 3),
        "encoder.conv1.bias": (D,),
        "encoder.conv2.weight": (D, D, 3),
        "encoder.conv2.bias": (D,),
        "encoder.embed_positions.weight": (AUDIO, D),
        "decoder.embed_positions.weight": (TEXT, D),
        "decoder.embed_tokens.weight": (VOCAB, D),
    }
    norms = ["encoder.layer_norm", "decoder.layer_norm"]
    for layer in ("encoder.layers.0", "decoder.layers.0", "decoder.layers.1"):
        attentions = ["self_attn", "encoder_attn"] if layer.startswith("decoder") else ["self_attn"]
        for attention in attentions:
            norms.append(f"{layer}.{attention}_layer_norm")
            for part in ("q", "k", "v", "out"):
                shapes[f"{layer}.{attention}.{part}_proj.weight"] = (D, D)
                if part != "k":
                    shapes[f"{layer}.{attention}.{part}_proj.bias"] = (D,)
        norms.append(f"{layer}.final_layer_norm")
        shapes |= {f"{layer}.fc1.weight": (FFN, D), f"{layer}.fc1.bias": (FFN,)}
        shapes |= {f"{layer}.fc2.weight": (D, FFN), f"{layer}.fc2.bias": (D,)}
    shapes |= {f"{norm}.{part}": (D,) for norm in norms for part in ("weight", "bias")}
    return {f"model.{name}": rng.standard_normal(shape).astype(np.float16) for name, shape in shapes.items()}


@pytest.fixture
def save(tmp_path: Path, safetensors: Make) -> Callable[..., Path]:
    """Writes a folder of hub layout."""

    def write(tensors: Mapping[str, Array], config: Mapping[str, Any] | None = None) -> Path:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "whisper"} | dict(config or {})))
        (tmp_path / SINGLE).write_bytes(safetensors(tensors))
        return tmp_path

    return write


def test_weights_by_role(save: Callable[..., Path]) -> None:
    tensors = small_tensors()
    weights = load_weights(read_hub_checkpoint(save(tensors)))
    config = weights.config
    assert (config.encoder_layers, config.decoder_layers, config.heads, config.ffn) == (1, 2, 1, FFN)
    assert (config.vocab, config.n_mels, config.audio_ctx, config.text_ctx) == (VOCAB, MELS, AUDIO, TEXT)
    named = named_weights(weights, TRANSFORMERS)
    assert set(named) == set(tensors)
    for name, value in tensors.items():
        np.testing.assert_array_equal(named[name], value.astype(np.float32), err_msg=name)
    assert not weights.decoder.layers[0].qkv.bias[D : 2 * D].any()
    assert not weights.decoder.layers[0].cross_kv.bias[:D].any()


def test_an_output_projection_that_is_the_embedding(save: Callable[..., Path]) -> None:
    tensors = small_tensors()
    tied = tensors | {"proj_out.weight": tensors["model.decoder.embed_tokens.weight"]}
    assert load_weights(read_hub_checkpoint(save(tied))).config.vocab == VOCAB
    with pytest.raises(ModelDamagedError, match="output projection"):
        load_weights(read_hub_checkpoint(save(tied | {"proj_out.weight": np.ones((VOCAB, D), np.float16)})))


@pytest.mark.parametrize(
    ("change", "config", "message"),
    [
        ({}, {"activation_function": "relu"}, "activation_function is 'relu'"),
        ({}, {"scale_embedding": True}, "scale_embedding is True"),
        ({}, {"decoder_attention_heads": 4}, "decoder_attention_heads is 4"),
        ({}, {"tie_word_embeddings": False}, "tie_word_embeddings is False"),
        ({}, {"model_type": "llama"}, "model_type is 'llama'"),
        ({"model.decoder.layers.1.fc1.bias": np.ones(3, np.float16)}, {}, "has shape"),
        ({"model.decoder.layers.3.fc1.bias": np.ones(3, np.float16)}, {}, r"lacks .*layers\.2\."),
        ({"model.decoder.layers.1.self_attn.k_proj.weight": np.ones((D, 3), np.float16)}, {}, "fit together"),
        ({"model.decoder.embed_tokens.weight": np.array(1, np.float16)}, {}, "rank 0"),
        ({"model.encoder.conv1.weight": np.ones((D, MELS), np.float16)}, {}, "rank 2"),
    ],
)
def test_refuses_what_is_no_whisper(
    save: Callable[..., Path], change: dict[str, Array], config: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(ModelDamagedError, match=message):
        load_weights(read_hub_checkpoint(save(small_tensors() | change, config)))


def test_a_key_without_its_weight(save: Callable[..., Path]) -> None:
    tensors = small_tensors()
    del tensors["model.encoder.layers.0.self_attn.k_proj.weight"]
    with pytest.raises(
        ModelDamagedError, match=r"lacks model\.encoder\.layers\.0\.self_attn\.k_proj\.weight"
    ):
        load_weights(read_hub_checkpoint(save(tensors)))


@pytest.mark.usefixtures("own_cache")
def test_only_whisper_is_loaded_as_whisper(save: Callable[..., Path]) -> None:
    folder = save(small_tensors(), {"model_type": "qwen3_asr"})
    with pytest.raises(UnsupportedError, match="qwen3_asr model, and a Whisper model is needed"):
        load_whisper(folder)
    with pytest.raises(UnsupportedError, match="Whisper"):
        read_weights(resolve(folder))


@pytest.mark.usefixtures("own_cache")
def test_a_folder_without_a_tokenizer(save: Callable[..., Path]) -> None:
    with pytest.raises(ModelNotFoundError, match=r"tokenizer\.json"):
        load_whisper(save(small_tensors()))


@pytest.mark.parametrize(
    ("generation", "config", "lists"),
    [
        (None, {}, ([], [])),
        (None, {"suppress_tokens": [1], "begin_suppress_tokens": [2]}, ([1], [2])),
        ({"suppress_tokens": [3]}, {"suppress_tokens": [1], "begin_suppress_tokens": [2]}, ([3], [2])),
        ({"suppress_tokens": [], "begin_suppress_tokens": None}, {"suppress_tokens": [1]}, ([], [])),
    ],
)
def test_suppressed_tokens(
    tmp_path: Path, generation: Any, config: Mapping[str, Any], lists: tuple[list[int], list[int]]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    if generation is not None:
        (tmp_path / "generation_config.json").write_text(json.dumps(generation))
    found = suppression_lists(HubFiles("model", tmp_path, "whisper", ""))
    assert found == {"suppress_ids": lists[0], "suppress_ids_begin": lists[1]}


def test_the_real_weights_are_those_of_ctranslate2(tmp_path: Path, safetensors: Make) -> None:
    ctranslate2 = read_weights(resolve("whisper-tiny.en"))
    expected = named_weights(ctranslate2, TRANSFORMERS)
    halves = {name: value.astype(np.float16) for name, value in expected.items()}
    (tmp_path / "config.json").write_text('{"model_type": "whisper"}')
    (tmp_path / SINGLE).write_bytes(safetensors(halves))
    weights = load_weights(read_hub_checkpoint(tmp_path))
    found = named_weights(weights, TRANSFORMERS)
    assert set(found) == set(expected)
    assert all(np.array_equal(found[name], value) for name, value in expected.items())
    assert weights.config == ctranslate2.config


def large_v3_tokenizer() -> dict[str, Any]:
    """The tokenizer of large-v3: Cantonese after the other languages, and thus all later ids one higher."""
    base = resolve("whisper-base")
    content = read_json(base.tokenizer)
    content["added_tokens"] = [token for token in content["added_tokens"] if token["id"] <= 50363]
    translate = next(token["id"] for token in content["added_tokens"] if token["content"] == "<|translate|>")
    for token in content["added_tokens"]:
        token["id"] += token["id"] >= translate
    content["added_tokens"].append(content["added_tokens"][-1] | {"id": translate, "content": "<|yue|>"})
    content["added_tokens"].sort(key=lambda token: int(token["id"]))
    return content


SUPPRESSED = (*range(50_258, 51_866), 1, 2, 7)
FIRST = (220, 50_257)


@pytest.fixture(scope="module")
def reference() -> Any:
    """A small random Whisper of transformers with large-v3's vocabulary and 128 mel bins."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(3)
    config = transformers.WhisperConfig(
        vocab_size=51_866,
        num_mel_bins=128,
        d_model=128,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=192,
        decoder_ffn_dim=192,
        max_source_positions=100,
        max_target_positions=48,
        init_std=0.2,
        decoder_start_token_id=50_258,
        bos_token_id=50_257,
        eos_token_id=50_257,
        pad_token_id=50_257,
    )
    model = transformers.WhisperForConditionalGeneration(config).eval()
    model.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=50_258,
        eos_token_id=50_257,
        pad_token_id=50_257,
        max_length=48,
        suppress_tokens=list(SUPPRESSED),
        begin_suppress_tokens=list(FIRST),
        no_timestamps_token_id=50_364,
        is_multilingual=True,
        lang_to_id={"<|en|>": 50_259, "<|yue|>": 50_358},
        task_to_id={"translate": 50_359, "transcribe": 50_360},
    )
    return model


@pytest.mark.parametrize(("dtype", "shard"), [("float32", "50GB"), ("float16", "50GB"), ("bfloat16", "2MB")])
def test_what_transformers_saves(reference: Any, tmp_path: Path, dtype: str, shard: str) -> None:
    torch = pytest.importorskip("torch")
    kind = type(reference)
    copy = kind(reference.config)
    copy.load_state_dict(reference.state_dict())
    copy.to(getattr(torch, dtype)).save_pretrained(tmp_path, max_shard_size=shard)
    assert (tmp_path / INDEX).is_file() == (shard == "2MB")
    weights = load_weights(read_hub_checkpoint(tmp_path))
    assert (weights.config.n_mels, weights.config.vocab, weights.config.multilingual) == (128, 51_866, True)
    state = copy.state_dict()
    for name, value in named_weights(weights, TRANSFORMERS).items():
        np.testing.assert_array_equal(value, state[name].float().numpy(), err_msg=name)


@pytest.fixture(scope="module")
def loaded(reference: Any, tmp_path_factory: pytest.TempPathFactory) -> WhisperModel:
    """The same model on onnxruntime in float32, from where a pull would have put it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AS2D_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("HF_HUB_CACHE", str(tmp_path_factory.mktemp("hub")))
        repository = Repository.of("openai/whisper-large-v3")
        folder = repository.snapshot("0")
        reference.save_pretrained(folder)
        (folder / "tokenizer.json").write_text(json.dumps(large_v3_tokenizer()), encoding="utf-8")
        repository.make_current("0")
        return load_whisper("openai/whisper-large-v3", "fp32")


@pytest.fixture(scope="module")
def samples() -> NDArray[np.float32]:
    return np.random.default_rng(5).standard_normal(32_000).astype(np.float32) * np.float32(0.1)


def features(samples: NDArray[np.float32]) -> Any:
    torch = pytest.importorskip("torch")
    extractor = pytest.importorskip("transformers").WhisperFeatureExtractor(feature_size=128, chunk_length=2)
    return torch.from_numpy(extractor(samples, sampling_rate=16_000, return_tensors="np").input_features)


def test_it_has_cantonese(loaded: WhisperModel) -> None:
    assert isinstance(loaded.parts.files, HubFiles)
    assert loaded.name == "openai/whisper-large-v3"
    assert len(loaded.capabilities.languages) == 100
    assert "yue" in loaded.capabilities.languages
    assert loaded.vocabulary.notimestamps == 50_364
    assert loaded.vocabulary.decode(loaded.vocabulary.encode(" time 你好")) == " time 你好"


def test_rows_are_those_of_transformers(
    reference: Any, loaded: WhisperModel, samples: NDArray[np.float32]
) -> None:
    torch = pytest.importorskip("torch")
    prepared = loaded.prepare(samples, 1)
    with torch.no_grad():
        states = reference.model.encoder(features(samples)).last_hidden_state
        np.testing.assert_allclose(prepared.states, states[0].numpy(), atol=2e-4)
        decoder = loaded.open(prepared, Instruction(language="yue"), 1)
        tokens = [decoder.root, 100, 2000, 30_000, 50_000]
        prompt = [50_258, 50_358, 50_360, *tokens]
        logits = reference(encoder_outputs=(states,), decoder_input_ids=torch.tensor([prompt])).logits[0]
    assert decoder.root == 50_364
    columns = loaded.parts.decoder.head.ids
    expected = logits.numpy()[-len(tokens) :, columns]
    assert expected.std() > 1
    np.testing.assert_allclose(decoder.scores(tokens), expected, atol=2e-3)


@pytest.mark.parametrize(("language", "task"), [("yue", "transcribe"), ("en", "translate")])
def test_answers_are_those_of_transformers(
    reference: Any, loaded: WhisperModel, samples: NDArray[np.float32], language: str, task: Any
) -> None:
    torch = pytest.importorskip("torch")
    with torch.no_grad():
        output = reference.generate(
            features(samples), language=language, task=task, do_sample=False, max_new_tokens=12
        )
    expected = [token for token in output[0].tolist() if token < 50_257]
    prepared = loaded.prepare(samples, 1)
    decoder = loaded.open(prepared, Instruction(task, language), 1)
    token, said = decoder.root, []
    for _ in range(12):
        (token,) = decoder.forward([token]).greedy
        if token in loaded.end_ids:
            break
        said.append(token)
    assert said == expected
    assert len(set(said)) > 3


def test_ctranslate2_files_keep_their_lists() -> None:
    files = resolve("whisper-base")
    assert isinstance(files, ModelFiles)
    assert suppression_lists(files)["suppress_ids_begin"] == [220, 50_257]
