"""A model by name on the engine that computes it, and what cannot be."""

from pathlib import Path
from typing import Any

import pytest

from as2d.errors import InputError, UnsupportedError
from as2d.models.load import load_target, told_precision
from as2d.models.whisper.model import WhisperModel


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "int2"}, "no precision 'int2'; use one of auto, int8, fp32"),
        ({"engine": "jax"}, "no engine 'jax'"),
        ({"device": "npu"}, "no device 'npu'"),
        ({"engine": "onnxruntime", "device": "cuda"}, "use the engine torch"),
        ({"engine": "torch"}, "openai/whisper-base"),
        ({"engine": "torch", "precision": "int8"}, "leave it out"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_target("whisper-base", **options)


def test_other_families_do_not_run_on_onnxruntime(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "qwen2_audio"}')
    (tmp_path / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UnsupportedError, match="only Whisper does; use the engine torch"):
        load_target(tmp_path, engine="onnxruntime")


def test_what_results_say_of_the_precision(base: WhisperModel, toy: Any) -> None:
    assert told_precision(base, "auto") == "int8"
    assert told_precision(base, "fp32") == "fp32"
    assert told_precision(toy("hi"), "auto") == "auto"
