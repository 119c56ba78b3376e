"""What is fetched of a repository."""

import pytest

from as2d.models.store.choose import needed

SMALL = {
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "merges.txt",
    "chat_template.jinja",
    "LICENSE",
}
NEVER = {
    "README.md",
    ".gitattributes",
    "pytorch_model.bin",
    "flax_model.msgpack",
    "spk_dict.pt",
    "onnx/config.json",
}


@pytest.mark.parametrize(
    ("weights", "others"),
    [
        ({"model.safetensors"}, set()),
        ({"model.safetensors"}, {"model.bin"}),
        (
            {"model.safetensors"},
            {
                "model.safetensors.index.json",
                "model-00001-of-00002.safetensors",
                "model.fp32-00001-of-00002.safetensors",
                "model.safetensors.index.fp32.json",
            },
        ),
        (
            {
                "model.safetensors.index.json",
                "model-00001-of-00002.safetensors",
                "model-00002-of-00002.safetensors",
            },
            {"consolidated.safetensors", "pytorch_model.bin.index.json"},
        ),
        ({"model.safetensors", "adapter_model.safetensors"}, set()),
        ({"model.bin"}, set()),
    ],
)
def test_one_copy_of_the_weights_and_the_small_files(weights: set[str], others: set[str]) -> None:
    assert needed(SMALL | NEVER | weights | others) == SMALL | weights


def test_nothing_without_weights() -> None:
    assert needed(SMALL | NEVER) == frozenset()
