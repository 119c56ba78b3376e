"""Folders that are loaded, and those that are refused."""

import json
import shutil
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.utils.peft_utils import find_adapter_config_file

from as2d.errors import InputError, ModelDamagedError, ModelNotFoundError, UnsupportedError
from as2d.models import memory
from as2d.models.audio_lm import AUDIO_LM_FAMILIES, build, load_audio_lm
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


class _WithAdapter(torch.nn.Module):
    """As transformers has it: who loads a model with its adapter is told only what the adapter lacks."""

    lost: ClassVar[Mapping[str, set[str]]]

    @classmethod
    def from_pretrained(
        cls, folder: Path, *, adapter_kwargs: Mapping[str, str], **_: object
    ) -> tuple["_WithAdapter", Mapping[str, set[str]]]:
        found = find_adapter_config_file(str(folder), **adapter_kwargs)
        return cls(), {"missing_keys": cls.lost["adapter" if found else "base"]}

    def load_adapter(self, folder: str, **_: object) -> Any:
        return SimpleNamespace(missing_keys=self.lost["adapter"])


@pytest.mark.parametrize("lossy", ["adapter", "base"])
def test_missing_weights_of_a_model_with_an_adapter_are_not_made_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch, lossy: str
) -> None:
    """With stand-ins for the model and thus for peft, which has no release that this transformers takes."""
    with_adapter(folder)
    monkeypatch.setattr(_WithAdapter, "lost", {"adapter": set(), "base": set()}, raising=False)
    files: Any = resolve(folder)
    assert build._load(files, _WithAdapter, torch.float32)
    monkeypatch.setitem(_WithAdapter.lost, lossy, {f"a weight of the {lossy}"})
    with pytest.raises(ModelDamagedError, match=f"lacks the weights a weight of the {lossy}"):
        build._load(files, _WithAdapter, torch.float32)


@pytest.mark.skipif(find_spec("peft") is not None, reason="peft is installed")
@pytest.mark.parametrize("file", ["adapter_config.json", "adapter_model.safetensors"])
def test_an_adapter_that_the_configuration_does_not_name_is_not_left_out(folder: Path, file: str) -> None:
    with_adapter(folder)
    edit(folder / "config.json", has_lora_adapter=False)
    with pytest.raises(UnsupportedError, match="needs peft"):
        load_audio_lm(folder)
    (folder / file).unlink()
    with pytest.raises(ModelNotFoundError, match=f"lacks {file}"):
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


def test_missing_weights_are_not_made_up(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    weights = load_file(folder / "model.safetensors")
    lost = next(name for name in weights if name.endswith("q_proj.weight"))
    weights["another"] = weights.pop(lost)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelDamagedError, match=f"lacks the weights {lost}"):
        load_audio_lm(folder)
    assert capfd.readouterr() == ("", "")


def test_a_model_of_which_little_is_there_takes_no_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """transformers would make up the rest before it says what lacks."""
    monkeypatch.setattr(build, "_load", lambda *_: pytest.fail("it was loaded"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    edit(folder / "config.json", text_config={**config["text_config"], "vocab_size": 10**9})
    with pytest.raises(ModelDamagedError, match=r"holds 196,544 of the 64,\d\d\d,\d\d\d,\d\d\d weights"):
        load_audio_lm(folder)


@pytest.mark.parametrize("lost", ["tokenizer.json", "processor_config.json", "chat_template.jinja"])
def test_a_folder_that_is_not_whole(folder: Path, lost: str) -> None:
    (folder / lost).unlink()
    with pytest.raises(ModelDamagedError, match="install the"):
        load_audio_lm(folder)


def test_a_model_that_does_not_fit_is_refused_before_it_is_loaded(
    saved: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = sum(weight.numel() for weight in saved("qwen3_asr")[1].model.parameters())
    monkeypatch.setattr(build, "_load", lambda *_: pytest.fail("it was loaded"))
    dtype: Any
    for dtype, size in (("float32", 4), ("bfloat16", 2)):
        monkeypatch.setattr(memory, "free_bytes", lambda device, free=size * weights - 1: free)
        with pytest.raises(InputError, match="name a smaller model"):
            load_audio_lm(folder, dtype=dtype)


def test_what_a_model_takes_is_what_its_weights_are_loaded_to(
    saved: Any, loaded: Callable[..., AudioModel]
) -> None:
    """Nothing is stored that is not loaded, whatever the family."""
    for family in FAMILIES:
        folder, reference = saved(family)
        weights = sum(weight.numel() for weight in reference.model.parameters())
        assert memory.needed_bytes(resolve(folder), memory.FLOAT32) == pytest.approx(4 * weights, rel=0.01)


@pytest.mark.parametrize(
    ("family", "change", "says"),
    [
        ("whisper", {"feature_size": 128}, "hears 80 mel bins and its feature extractor makes 128"),
        ("qwen2_audio", {"feature_size": 80}, "hears 128 mel bins and its feature extractor makes 80"),
        ("voxtral", {"padding_side": "up"}, "transformers cannot load"),
        ("qwen2_5_omni", {"sampling_rate": 8000}, "transformers cannot load"),
    ],
)
def test_a_feature_extractor_of_another_model(
    saved: Any, tmp_path: Path, family: str, change: dict[str, Any], says: str
) -> None:
    folder = Path(shutil.copytree(saved(family)[0], tmp_path / "model"))
    edit(folder / "preprocessor_config.json", **change)
    with pytest.raises(ModelDamagedError, match=says):
        load_audio_lm(folder)


def test_ends_that_are_no_tokens(folder: Path) -> None:
    edit(folder / "generation_config.json", eos_token_id=[7, []])
    with pytest.raises(ModelDamagedError, match="transformers cannot load"):
        load_audio_lm(folder)


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory")])
def test_memory_that_turns_out_not_to_suffice(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(build, "_load", fail)
    with pytest.raises(InputError, match="does not fit into memory; free memory"):
        load_audio_lm(folder)


def test_a_chat_template_in_the_older_file(folder: Path) -> None:
    template = folder / "chat_template.jinja"
    content = {"chat_template": template.read_text(encoding="utf-8")}
    (folder / "chat_template.json").write_text(json.dumps(content), encoding="utf-8")
    template.unlink()
    assert load_audio_lm(folder).end_ids
