"""What a model needs of memory and what there is; a model that does not fit is refused before it is loaded."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from as2d.errors import ModelDamagedError, NoMemoryError
from as2d.models import memory
from as2d.models.load import load_drafter, load_target, weight_bytes
from as2d.models.memory import FLOAT32, HALF, ON_ONNXRUNTIME, free_bytes, needed_bytes, require_memory
from as2d.models.store import HubFiles, ModelFiles, resolve


def system(folder: Path, meminfo: str, **group: str) -> tuple[Path, Path]:
    (folder / "meminfo").write_text(meminfo)
    for name, value in group.items():
        (folder / f"memory.{name.replace('_', '.')}").write_text(value)
    return folder / "meminfo", folder


@pytest.mark.parametrize(
    ("meminfo", "group", "free"),
    [
        ("MemFree: 1 kB\nMemAvailable:  2 kB\n", {}, 2048),
        ("MemAvailable: 2 kB\nSwapFree:  3 kB\n", {}, 5 * 1024),
        ("MemAvailable: 2 kB\n", {"max": "max\n", "current": "5\n"}, 2048),
        ("MemAvailable: 2 kB\n", {"max": "1000\n", "current": "400\n"}, 600),
        ("MemAvailable: 2 kB\n", {"max": "1000\n", "current": "1400\n"}, 0),
        (
            "MemAvailable: 2 kB\n",
            {"max": "1000\n", "current": "900\n", "stat": "anon 1\nactive_file 20\ninactive_file 300\n"},
            420,
        ),
        (
            "MemAvailable: 2 kB\nSwapFree: 2 kB\n",
            {"max": "1000\n", "current": "0\n", "swap_max": "70\n", "swap_current": "20\n"},
            1050,
        ),
        ("MemAvailable: 2 kB\nSwapFree: 1 kB\n", {"swap_max": "0\n", "swap_current": "0\n"}, 2048),
        ("something else\n", {"max": "1000\n", "current": "0\n"}, None),
    ],
)
def test_what_is_free(tmp_path: Path, meminfo: str, group: dict[str, str], free: int | None) -> None:
    assert free_bytes("cpu", *system(tmp_path, meminfo, **group)) == free


def test_what_goes_to_a_cuda_device_must_fit_here_and_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = system(tmp_path, "MemAvailable: 2 kB\n")
    for there, free in ((1000, 1000), (5000, 2048), (None, 2048)):
        monkeypatch.setattr(memory, "_free_on", lambda _, there=there: there)
        assert free_bytes("cuda", *here) == free


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., HubFiles]:
    """Gives the files of a model that is nothing but tensors."""

    def made(tensors: Mapping[str, Any], family: Any = "qwen3_asr", file: str = "model") -> HubFiles:
        save_file(dict(tensors), tmp_path / f"{file}.safetensors")
        return HubFiles("small", tmp_path, family, "digest")

    return made


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_weights_take_what_they_are_computed_with_whatever_they_are_stored_as(
    save: Callable[..., HubFiles], kind: Any
) -> None:
    files = save({"a": np.zeros((3, 5), kind), "b": np.zeros(7, kind), "c": np.zeros((), kind)})
    assert needed_bytes(files, weight_bytes(files, "auto", "cpu")) == 23 * 4
    assert needed_bytes(files, weight_bytes(files, "auto", "cuda")) == 23 * 2


def test_the_parts_that_speak_are_not_loaded(save: Callable[..., HubFiles]) -> None:
    parts = {"thinker.a": np.zeros(5), "talker.b": np.zeros(100), "token2wav.c": np.zeros(1000)}
    assert needed_bytes(save(parts, "qwen2_5_omni"), FLOAT32) == 5 * 4


def test_all_files_and_an_adapter_count(save: Callable[..., HubFiles], tmp_path: Path) -> None:
    save({"a": np.zeros(5)}, file="model-1-of-2")
    save({"b": np.zeros(7)}, file="model-2-of-2")
    index = {"weight_map": {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    files = save({"lora": np.zeros(11)}, file="adapter_model")
    assert needed_bytes(files, FLOAT32) == 23 * 4


def test_ctranslate2_weights_are_stored_in_two_bytes(tmp_path: Path) -> None:
    parts = (tmp_path / "one", tmp_path / "two")
    for part in parts:
        part.write_bytes(bytes(100))
    files = ModelFiles("base", parts, tmp_path, tmp_path, "digest")
    assert [needed_bytes(files, weight) for weight in (FLOAT32, ON_ONNXRUNTIME)] == [400, 300]


def test_files_that_are_not_whole_are_not_estimated(save: Callable[..., HubFiles], tmp_path: Path) -> None:
    files = save({"a": np.zeros(5)})
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.truncate(50)
    with pytest.raises(ModelDamagedError, match="cut short"):
        needed_bytes(files, FLOAT32)


def test_what_does_not_fit_is_refused(save: Callable[..., HubFiles], monkeypatch: pytest.MonkeyPatch) -> None:
    files = save({"a": np.zeros(1_000_000, np.float16)})
    for free in (4_000_000, None):
        monkeypatch.setattr(memory, "free_bytes", lambda device, free=free: free)
        require_memory(files, FLOAT32)
    monkeypatch.setattr(memory, "free_bytes", lambda device: 3_000_000)
    require_memory(files, HALF)
    with pytest.raises(
        NoMemoryError, match="small needs about 4 MB of memory and 3 MB are free; free memory, or"
    ):
        require_memory(files, FLOAT32)


def test_whisper_is_refused_before_a_graph_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    resolve("whisper-tiny.en")  # its digest is remembered in the cache that others use
    monkeypatch.setenv("AS2D_CACHE", str(tmp_path))
    monkeypatch.setattr(memory, "free_bytes", lambda device: 100_000_000)
    loads: dict[Callable[[str], Any], int] = {
        load_target: 113,
        lambda name: load_target(name, precision="fp32"): 151,
        lambda name: load_drafter(name, None): 113,  # type: ignore[arg-type]
    }
    for load, needed in loads.items():
        with pytest.raises(
            NoMemoryError, match=f"whisper-tiny.en needs about {needed} MB of memory and 100 MB are free"
        ):
            load("whisper-tiny.en")
    assert not list(tmp_path.glob("whisper*"))
