"""Moved to `as2d.extras`."""

from as2d.extras import import_optional

__all__ = ["import_optional"]
