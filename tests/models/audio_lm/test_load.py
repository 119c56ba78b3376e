"""Folders that are loaded, and those that are refused."""

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from as2d.errors import InputError, ModelDamagedError, ModelNotFoundError, UnsupportedError
from as2d.models.audio_lm import AUDIO_LM_FAMILIES, load_audio_lm
from as2d.models.contract import AudioModel
from as2d.models.store import FAMILIES, resolve
from as2d.records import Instruction


@pytest.fixture
def folder(saved: Any, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(saved("qwen3_asr")[0], tmp_path / "model"))


def edit(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **changes}), encoding="utf-8")


def test_all_families_can_be_loaded() -> None:
    assert set(AUDIO_LM_FAMILIES) == set(FAMILIES)


def test_what_a_model_says_of_itself(loaded: Callable[..., AudioModel]) -> None:
    model = loaded("qwen3_asr")
    assert model.name.startswith("qwen3_asr")
    assert "float32" in model.identity
    assert loaded("qwen3_asr", 1).identity != model.identity
    assert model.capabilities.longest_s == 1200
    assert loaded("qwen2_5_omni").capabilities.longest_s == 300
    assert loaded("qwen2_audio").capabilities.longest_s == 30
    assert all(loaded(family).end_ids for family in FAMILIES)


def test_ends_are_those_of_the_settings_and_of_the_tokenizer(saved: Any, folder: Path) -> None:
    edit(folder / "generation_config.json", eos_token_id=7)
    assert load_audio_lm(folder).end_ids == {7, saved("qwen3_asr")[1].tokenizer.eos_token_id}


def test_other_precisions_compute(folder: Path, noise: Any) -> None:
    model = load_audio_lm(folder, dtype="bfloat16")
    assert "bfloat16" in model.identity
    decoder = model.open(model.prepare(noise(0.5), 1), Instruction(language="en"), 1)
    assert decoder.scores([decoder.root]).dtype == "float32"


def test_devices_and_precisions_that_are_not_there(folder: Path) -> None:
    options: Any
    for options in ({"device": "gpu"}, {"dtype": "int8"}):
        with pytest.raises(InputError, match="there is no"):
            load_audio_lm(folder, **options)
    if not torch.cuda.is_available():
        with pytest.raises(UnsupportedError, match="use the device cpu"):
            load_audio_lm(folder, device="cuda")


def test_folders_that_are_no_such_model(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        load_audio_lm(tmp_path)
    edit(folder / "config.json", model_type="qwen3")
    with pytest.raises(UnsupportedError, match="no audio model"):
        load_audio_lm(folder)


def test_models_that_are_not_converted_for_transformers(folder: Path) -> None:
    edit(folder / "config.json", thinker_config={})
    with pytest.raises(UnsupportedError, match="model-hf"):
        load_audio_lm(folder)


def test_a_thinker_within_the_whole_model(
    saved: Any, loaded: Callable[..., AudioModel], noise: Any, tmp_path: Path
) -> None:
    """As on the hub, beside the parts that speak."""
    folder = Path(shutil.copytree(saved("qwen2_5_omni")[0], tmp_path / "omni"))
    thinker = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    whole = {"model_type": "qwen2_5_omni", "thinker_config": thinker}
    (folder / "config.json").write_text(json.dumps(whole), encoding="utf-8")
    weights = load_file(folder / "model.safetensors")
    named = {f"thinker.{name}": weight for name, weight in weights.items()}
    save_file(
        {**named, "talker.x": torch.zeros(2), "token2wav.y": torch.zeros(2)},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    model, same = load_audio_lm(folder), loaded("qwen2_5_omni")
    assert model.identity != same.identity
    rows = [
        one.open(one.prepare(noise(0.5), 1), Instruction(), 1).scores([5, 6, 7]).copy()
        for one in (model, same)
    ]
    assert (rows[0] == rows[1]).all()


def with_adapter(folder: Path) -> None:
    edit(folder / "config.json", has_lora_adapter=True)
    (folder / "adapter_config.json").write_text("{}", encoding="utf-8")
    (folder / "adapter_model.safetensors").write_bytes(b"adapter")


@pytest.mark.skipif(find_spec("peft") is not None, reason="peft is installed")
def test_an_adapter_needs_peft(folder: Path) -> None:
    with_adapter(folder)
    with pytest.raises(UnsupportedError, match="pip install 'peft>="):
        load_audio_lm(folder)


@pytest.mark.parametrize("lost", ["adapter_config.json", "adapter_model.safetensors"])
def test_an_adapter_is_not_left_out(folder: Path, lost: str) -> None:
    with_adapter(folder)
    (folder / lost).unlink()
    with pytest.raises(ModelNotFoundError, match=f"lacks {lost}"):
        load_audio_lm(folder)


def test_an_adapter_is_part_of_the_weights(folder: Path) -> None:
    with_adapter(folder)
    before = resolve(folder).digest
    (folder / "adapter_model.safetensors").write_bytes(b"another")
    assert resolve(folder).digest != before


def test_missing_weights_are_not_made_up(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    lost = next(name for name in weights if name.endswith("q_proj.weight"))
    save_file(
        {name: weight for name, weight in weights.items() if name != lost},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    with pytest.raises(ModelDamagedError, match="lacks the weights"):
        load_audio_lm(folder)


@pytest.mark.parametrize("lost", ["tokenizer.json", "processor_config.json", "chat_template.jinja"])
def test_a_folder_that_is_not_whole(folder: Path, lost: str) -> None:
    (folder / lost).unlink()
    with pytest.raises(ModelDamagedError, match="install the"):
        load_audio_lm(folder)


def test_a_chat_template_in_the_older_file(folder: Path) -> None:
    template = folder / "chat_template.jinja"
    content = {"chat_template": template.read_text(encoding="utf-8")}
    (folder / "chat_template.json").write_text(json.dumps(content), encoding="utf-8")
    template.unlink()
    assert load_audio_lm(folder).end_ids
