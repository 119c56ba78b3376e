"""Whisper weights from the safetensors files of the Hugging Face hub, under CTranslate2's names.

CTranslate2 joins the projections of queries, keys and values, and gives keys a bias of zeros.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError
from as2d.models.safetensors import Safetensors, damaged, open_safetensors
from as2d.models.store import read_json
from as2d.models.whisper.checkpoint import Tensors

Float32 = NDArray[np.float32]

_HEAD_DIM = 64
_EMBEDDING = "decoder/embeddings/weight"
_PROJECTION = "proj_out.weight"

_OUTSIDE = {
    "conv1": "conv1",
    "conv2": "conv2",
    "position_encodings": "embed_positions",
    "embeddings": "embed_tokens",
    "layer_norm": "layer_norm",
}
_IN_LAYER = {
    "self_attention/layer_norm": ("self_attn_layer_norm",),
    "self_attention/linear_0": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention/linear_1": ("self_attn.out_proj",),
    "attention/layer_norm": ("encoder_attn_layer_norm",),
    "attention/linear_0": ("encoder_attn.q_proj",),
    "attention/linear_1": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "attention/linear_2": ("encoder_attn.out_proj",),
    "ffn/layer_norm": ("final_layer_norm",),
    "ffn/linear_0": ("fc1",),
    "ffn/linear_1": ("fc2",),
}
_KIND = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias", "encodings": "weight"}
_LAYER = re.compile(r"model\.(encoder|decoder)\.layers\.(\d+)\.")


class _Part(NamedTuple):
    """A tensor of the hub; a key's bias is not there."""

    module: str
    kind: str

    @property
    def name(self) -> str:
        """What the hub calls it."""
        return f"{self.module}.{self.kind}"

    @property
    def is_zero(self) -> bool:
        """Whether it is left out, being zero."""
        return self.kind == "bias" and self.module.endswith("k_proj")


@dataclass(frozen=True, slots=True)
class HubCheckpoint:
    """Implements `Tensors` for a folder of hub layout. Tensors are read as they are asked for, and not kept."""

    folder: Path
    stored: Safetensors

    def float32(self, name: str) -> Float32:
        """The tensor of CTranslate2's `name` in float32; ModelDamagedError when it is missing or not finite."""
        parts = [self._read(part) for part in _parts(name)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of the tensor of CTranslate2's `name`; ModelDamagedError when it is missing."""
        first, *rest = (self._shape(part) for part in _parts(name))
        if any(shape[1:] != first[1:] for shape in rest):
            raise self.damaged(f"the parts of {name} do not fit together")
        return (first[0] + sum(shape[0] for shape in rest), *first[1:]) if rest else first

    def layer_count(self, side: str) -> int:
        """How many layers the "encoder" or "decoder" has."""
        matches = map(_LAYER.match, self.stored.entries)
        return len({match[2] for match in matches if match and match[1] == side})

    def require_whisper(self) -> None:
        """ModelDamagedError where config.json asks for another computation than Whisper's."""
        config = read_json(self.folder / "config.json")
        heads = math.prod(self.shape(_EMBEDDING)[-1:]) // _HEAD_DIM
        wanted = {
            "model_type": "whisper",
            "activation_function": "gelu",
            "scale_embedding": False,
            "tie_word_embeddings": True,
            "encoder_attention_heads": heads,
            "decoder_attention_heads": heads,
        }
        for setting, value in wanted.items():
            if config.get(setting, value) != value:
                raise self.damaged(f"its {setting} is {config[setting]!r:.40}, not {value!r}")
        if _PROJECTION in self.stored.entries and not np.array_equal(
            self.stored.float32(_PROJECTION), self.float32(_EMBEDDING)
        ):
            raise self.damaged("its output projection is not the token embedding")

    def damaged(self, what: str) -> ModelDamagedError:
        """The error that says what is wrong with the folder."""
        return damaged(self.folder, what)

    def _read(self, part: _Part) -> Float32:
        if part.is_zero:
            return np.zeros(self._shape(part), np.float32)
        return self.stored.float32(part.name)

    def _shape(self, part: _Part) -> tuple[int, ...]:
        if part.is_zero:
            return self.stored.shape(f"{part.module}.weight")[:1]
        return self.stored.shape(part.name)


def read_hub_checkpoint(folder: Path) -> Tensors:
    """The Whisper checkpoint in a folder of hub layout; only the files' headers are read.

    Raises ModelNotFoundError when a file is missing, ModelDamagedError when one is not whole.
    """
    return HubCheckpoint(folder, open_safetensors(folder))


def _parts(name: str) -> list[_Part]:
    """What CTranslate2's tensor is joined from."""
    side, *inside, kind = name.split("/")
    prefix, modules = f"model.{side}", _IN_LAYER.get("/".join(inside[1:]))
    if modules is None:
        modules = (_OUTSIDE[inside[0]],)
    else:
        prefix += f".layers.{inside[0].removeprefix('layer_')}"
    return [_Part(f"{prefix}.{module}", _KIND[kind]) for module in modules]
