"""The pictures of a bench, as PNG and SVG. Needs the extra `bench`."""

from as2d.evaluation.plots.draw import Drawn, draw

__all__ = ["Drawn", "draw"]
