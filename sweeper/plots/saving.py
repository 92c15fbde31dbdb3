"""Writing a plot to files whose bytes repeat."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeper.errors import InputError, Problem
from sweeper.files import write_atomically
from sweeper.plots.style import ignore_missing_glyphs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["save"]

_PNG_DPI = 160
_PNG_EFFORT = 1  # zlib: a third of the default's time for an eighth more bytes


def save(plot: Axes | Figure, path_stem: str | Path) -> list[Path]:
    """Write a plot as PNG and SVG and return both paths. The bytes repeat from run to run.

    Parameters
    ----------
    plot
        A figure, or Axes whose figure is meant.
    path_stem
        Path without suffix; ``.png`` and ``.svg`` are added to it, dots in it stay.

    Raises
    ------
    InputError, StorageError
        If a file cannot be written. A file is replaced whole or not at all.
    """
    import warnings

    import matplotlib
    from matplotlib.figure import Figure

    figure = plot if isinstance(plot, Figure) else plot.get_figure(root=True)
    assert isinstance(figure, Figure)
    stem = Path(path_stem)
    if not stem.name:
        raise InputError(Problem("is a folder. Give a file name without ending.", str(stem)))
    # Without a salt the ids inside an SVG are random.
    with matplotlib.rc_context({"svg.hashsalt": "sweeper"}), warnings.catch_warnings():
        ignore_missing_glyphs()
        images = _images(figure)
    written = []
    for kind, data in images.items():
        path = stem.with_name(f"{stem.name}.{kind}")
        write_atomically(path, data)
        written.append(path)
    return written


def _images(figure: Figure) -> dict[str, bytes]:
    """Draw a figure once per format.

    ``Figure.savefig`` lays a figure out and draws it twice per format, a third of the time of a
    small sweep. Here the layout of the PNG serves for both.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    canvas, dpi, layout = figure.canvas, figure.dpi, figure.get_layout_engine()
    png, svg = io.BytesIO(), io.BytesIO()
    try:
        figure.set_dpi(_PNG_DPI)
        agg: Any = FigureCanvasAgg(figure)  # its printing is not typed
        agg.print_png(png, pil_kwargs={"compress_level": _PNG_EFFORT})
        figure.set_layout_engine("none")
        vectors: Any = FigureCanvasSVG(figure)
        vectors.print_svg(svg, metadata={"Date": None})
    finally:
        figure.set_layout_engine(layout)
        figure.set_dpi(dpi)
        figure.set_canvas(canvas)
    return {"png": png.getvalue(), "svg": svg.getvalue()}
