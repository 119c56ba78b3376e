"""Packages that are installed only on request."""

from importlib import import_module
from typing import Any, Literal

from as2d.errors import MissingExtraError

Extra = Literal["bench", "hub", "onnx-asr", "peers", "pocketsphinx", "sherpa-onnx", "torch"]
"""Those that users install, as in `pip install "as2d[bench]"`."""


def import_optional(module: str, extra: Extra) -> Any:
    """The module of an optional package; MissingExtraError says which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f'{module} is needed and cannot be imported ({error}); run pip install "as2d[{extra}]"'
        ) from error
