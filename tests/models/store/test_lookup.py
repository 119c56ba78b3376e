"""Names: what is a folder goes before what was pulled, and nothing but `pull` touches the network."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from as2d.errors import ModelNotFoundError
from as2d.models.store import OFFICIAL, HubFiles, pulled, resolve
from as2d.models.store.hub_cache import Repository, hub_cache_folder, is_offline

NAME = "openai/whisper-tiny"
COMMIT = "ab" * 20


@pytest.fixture(autouse=True)
def _no_network(own_hub_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def make_model(folder: Path, safetensors: Callable[..., bytes]) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "whisper"}))
    (folder / "model.safetensors").write_bytes(safetensors({"w": np.ones(2, np.float32)}))


@pytest.fixture
def snapshot(safetensors: Callable[..., bytes]) -> Path:
    """A model that another tool has put into the hub's cache."""
    repository = Repository.of(NAME)
    make_model(repository.snapshot(COMMIT), safetensors)
    repository.make_current(COMMIT)
    return repository.snapshot(COMMIT)


def test_a_model_in_the_hubs_cache(snapshot: Path) -> None:
    files = resolve(NAME)
    assert isinstance(files, HubFiles)
    assert (files.name, files.folder, files.licence) == (NAME, snapshot, "Apache-2.0")
    assert pulled() == (NAME,)


def test_a_model_that_is_not_whole_there(snapshot: Path) -> None:
    (snapshot / "model.safetensors").unlink()
    (snapshot / "model.safetensors").symlink_to(snapshot / "nowhere")
    with pytest.raises(ModelNotFoundError, match=f"not whole .*run `as2d models pull {NAME}`"):
        resolve(NAME)
    assert pulled() == ()


def test_a_reference_to_nothing(snapshot: Path) -> None:
    for commit in ("", "cd" * 20, "\xff"):
        (Repository.of(NAME).folder / "refs" / "main").write_text(commit, encoding="latin-1")
        with pytest.raises(ModelNotFoundError, match="not on this machine"):
            resolve(NAME)


@pytest.mark.parametrize(
    ("name", "message"),
    [(NAME, "is not on this machine"), ("some/model", "is no folder, and no model that was")],
)
def test_what_is_not_here_can_be_pulled(name: str, message: str) -> None:
    with pytest.raises(ModelNotFoundError, match=f"{message}.*run `as2d models pull {name}`"):
        resolve(name)


def test_a_folder_goes_before_the_hub(
    snapshot: Path, tmp_path: Path, safetensors: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_model(tmp_path / NAME, safetensors)
    monkeypatch.chdir(tmp_path)
    assert resolve(NAME).name == "whisper-tiny"


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, "~/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/x", "HF_HOME": "/h"}, "/h/hub"),
        ({"HF_HOME": "/h", "HUGGINGFACE_HUB_CACHE": "/old"}, "/old"),
        ({"HF_HOME": "/h", "HF_HUB_CACHE": "~/c"}, "~/c"),
    ],
)
def test_where_the_hubs_cache_is(
    environment: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "HF_HOME", "HUGGINGFACE_HUB_CACHE", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert hub_cache_folder() == Path(folder).expanduser()


@pytest.mark.parametrize(("value", "offline"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_whether_the_environment_forbids_the_network(
    value: str, offline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    assert is_offline() == offline


def test_official_models() -> None:
    assert len(OFFICIAL) == 30
    assert all(name == model.name and model.size > 70e6 and model.licence for name, model in OFFICIAL.items())


@pytest.mark.usefixtures("own_hub_cache")
def test_a_model_laid_out_for_its_own_package_is_sought_in_the_layout_that_is_read() -> None:
    with pytest.raises(ModelNotFoundError, match=r"as2d models pull Qwen/Qwen3-ASR-1\.7B-hf"):
        resolve("Qwen/Qwen3-ASR-1.7B")
