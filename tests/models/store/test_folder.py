"""Model folders of both formats, and folders that are none."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from as2d.errors import ModelDamagedError, ModelNotFoundError, UnsupportedError
from as2d.models.safetensors import INDEX
from as2d.models.store import FAMILIES, HubFiles, ModelFiles, family_of, resolve, verify

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def ctranslate2(tmp_path: Path) -> Path:
    folder = tmp_path / "my-whisper"
    folder.mkdir()
    (folder / "model.bin").write_bytes(b"weights")
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    return folder


@pytest.fixture
def hub_folder(tmp_path: Path, safetensors: Callable[..., bytes]) -> Path:
    """In two files."""
    folder = tmp_path / "qwen"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "qwen3_asr"}')
    for name in ("a", "b"):
        (folder / f"{name}.safetensors").write_bytes(safetensors({name: np.ones(3, np.float32)}))
    weight_map = {"a": "a.safetensors", "b": "b.safetensors"}
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return folder


def test_a_ctranslate2_folder(ctranslate2: Path) -> None:
    files = resolve(ctranslate2)
    assert files == resolve(str(ctranslate2))
    assert isinstance(files, ModelFiles)
    assert files.name == "my-whisper"
    assert files.model_bin == (ctranslate2 / "model.bin",)
    assert files.digest == hashlib.sha256(b"weights").hexdigest()
    verify(files)


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json"])
def test_a_ctranslate2_folder_that_lacks_a_file(ctranslate2: Path, missing: str) -> None:
    (ctranslate2 / missing).unlink()
    with pytest.raises(ModelNotFoundError, match=f"lacks {missing}"):
        resolve(ctranslate2)


def test_a_ctranslate2_folder_without_weights(ctranslate2: Path) -> None:
    (ctranslate2 / "model.bin").unlink()
    with pytest.raises(ModelNotFoundError, match=r"with its model\.bin"):
        resolve(ctranslate2)


def test_a_part_that_vanishes(ctranslate2: Path) -> None:
    files = resolve(ctranslate2)
    assert isinstance(files, ModelFiles)
    with pytest.raises(ModelNotFoundError, match="gone"):
        verify(replace(files, model_bin=(ctranslate2 / "gone",)))


def test_a_hub_folder(hub_folder: Path) -> None:
    files = resolve(hub_folder)
    assert isinstance(files, HubFiles)
    assert (files.name, files.folder, files.family, files.licence) == ("qwen", hub_folder, "qwen3_asr", None)
    names = ("config.json", "a.safetensors", "b.safetensors")
    joined = b"".join((hub_folder / name).read_bytes() for name in names)
    assert files.digest == hashlib.sha256(joined).hexdigest()
    verify(files)


def test_a_hub_folder_that_changes_is_noticed(hub_folder: Path) -> None:
    files = resolve(hub_folder)
    (hub_folder / "config.json").write_text('{"model_type": "qwen3_asr", "layers": 2}')
    assert resolve(hub_folder).digest != files.digest
    with pytest.raises(ModelDamagedError, match="damaged"):
        verify(files)


def test_one_file_is_preferred_to_several(hub_folder: Path, safetensors: Callable[..., bytes]) -> None:
    (hub_folder / "model.safetensors").write_bytes(safetensors({}))
    assert [path.name for path in resolve(hub_folder).hashed] == ["config.json", "model.safetensors"]


def test_a_hub_folder_that_lacks_a_file(hub_folder: Path) -> None:
    (hub_folder / "b.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match=r"lacks b\.safetensors"):
        resolve(hub_folder)


@pytest.mark.parametrize(
    "index",
    ["", "[]", "{}", '{"weight_map": {}}', '{"weight_map": {"a": "../a"}}', '{"weight_map": {"a": 1}}'],
)
def test_a_malformed_index(hub_folder: Path, index: str) -> None:
    (hub_folder / INDEX).write_text(index)
    with pytest.raises(ModelDamagedError, match="models pull"):
        resolve(hub_folder)


def test_a_folder_without_weights(hub_folder: Path) -> None:
    (hub_folder / INDEX).unlink()
    with pytest.raises(ModelNotFoundError, match="save_pretrained"):
        resolve(hub_folder)


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"lacks config\.json"):
        resolve(tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_known_by_its_type(tmp_path: Path, family: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": family}))
    assert family_of(tmp_path) == family


def test_the_thinker_alone_is_of_its_family(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "qwen2_5_omni_thinker"}')
    assert family_of(tmp_path) == "qwen2_5_omni"


@pytest.mark.parametrize("kind", ["qwen2", "llama", "wav2vec2"])
def test_a_model_that_is_no_known_audio_model(hub_folder: Path, kind: str) -> None:
    (hub_folder / "config.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(UnsupportedError, match=f"'{kind}'.*whisper, qwen3_asr"):
        resolve(hub_folder)


@pytest.mark.parametrize(
    ("config", "error"),
    [({}, ModelNotFoundError), ({"model_type": 3}, ModelNotFoundError), ([], ModelDamagedError)],
)
def test_a_config_that_says_nothing(tmp_path: Path, config: Any, error: type[Exception]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(error):
        family_of(tmp_path)
