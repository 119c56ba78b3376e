"""Which files of a hub repository as2d needs. Pure."""

import re
from collections.abc import Iterable

from as2d.models.safetensors import ADAPTER, INDEX, SINGLE

_CTRANSLATE2 = "model.bin"
_SHARD = re.compile(r"model-\d+-of-\d+\.safetensors")
_SMALL = (".json", ".txt", ".jinja", ".model")
_LEGAL = ("LICENSE", "LICENCE", "NOTICE")


def needed(names: Iterable[str]) -> frozenset[str]:
    """The files to fetch of all that a repository has; empty where it has no weights that as2d can read.

    One copy of the weights, and every small file at the top that a tokenizer or a configuration may be in.
    """
    top = frozenset(name for name in names if "/" not in name)
    weights = _weights(top)
    return weights | {name for name in top if _is_small(name)} if weights else frozenset()


def _weights(top: frozenset[str]) -> frozenset[str]:
    """Repositories may hold the same weights for several libraries and in several precisions."""
    adapter = top & {ADAPTER}
    if SINGLE in top:
        return adapter | {SINGLE}
    if INDEX in top:
        return adapter | {INDEX} | {name for name in top if _SHARD.fullmatch(name)}
    return top & {_CTRANSLATE2}


def _is_small(name: str) -> bool:
    return (name.endswith(_SMALL) and ".index." not in name) or name.upper().startswith(_LEGAL)
