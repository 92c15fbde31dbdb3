"""Writing a plot to files whose bytes repeat."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeper.files import write_atomically
from sweeper.plots.style import ignore_missing_glyphs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["save"]

_FORMATS: dict[str, dict[str, Any]] = {"png": {"dpi": 160}, "svg": {"metadata": {"Date": None}}}


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
    written = []
    # Without a salt the ids inside an SVG are random.
    with matplotlib.rc_context({"svg.hashsalt": "sweeper"}), warnings.catch_warnings():
        ignore_missing_glyphs()
        for kind, options in _FORMATS.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, **options)
            path = stem.with_name(f"{stem.name}.{kind}")
            write_atomically(path, buffer.getvalue())
            written.append(path)
    return written
