"""Small models with random weights under the official names, and one core for all."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
TARGET, DRAFTER, ASKED = "Qwen/Qwen3-ASR-1.7B-hf", "Qwen/Qwen3-ASR-0.6B-hf", "Qwen/Qwen2.5-Omni-3B"
_NOISE = 0.02
"""What makes a drafter of its target: it says the same for some tokens."""


def helpers(path: str) -> ModuleType:
    """What another folder of tests has to make things with."""
    name = f"tests.{path.removesuffix('.py').replace('/', '.')}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, TESTS / path)
        assert spec
        assert spec.loader
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="module", autouse=True)
def _one_core() -> Iterator[None]:
    """Small models only get slower with more; a profile has fewer points then."""
    torch = pytest.importorskip("torch")
    before = os.sched_getaffinity(0)
    threads = torch.get_num_threads()
    os.sched_setaffinity(0, {min(before)})
    torch.set_num_threads(1)
    yield
    os.sched_setaffinity(0, before)
    torch.set_num_threads(threads)


@pytest.fixture(scope="package")
def small_models(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Folders of small models by official name. The drafter is the target, blurred."""
    build: Mapping[str, Callable[[Path, int], Any]] = helpers("models/audio_lm/conftest.py")._BUILDERS
    folders = {name: tmp_path_factory.mktemp(name.partition("/")[2]) for name in (TARGET, DRAFTER, ASKED)}
    build["qwen3_asr"](folders[TARGET], 0)
    _blur(build["qwen3_asr"](folders[DRAFTER], 0).model).save_pretrained(folders[DRAFTER])
    build["qwen2_5_omni"](folders[ASKED], 1)
    return folders


def _blur(model: Any) -> Any:
    import torch

    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.add_(_NOISE * weight.std() * torch.randn(weight.shape, generator=generator))
    return model
