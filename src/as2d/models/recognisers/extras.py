"""Packages that are installed only on request."""

from importlib import import_module
from typing import Any

from as2d.errors import MissingExtraError


def import_extra(module: str, extra: str) -> Any:
    """The module of an optional package; MissingExtraError says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f'the recogniser {extra} needs a package that is not installed ({error}); run pip install "as2d[{extra}]"'
        ) from error
