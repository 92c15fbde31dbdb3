"""The heat map: one figure over two knobs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sweeper.knobs import Knob, Value
from sweeper.plots.style import (
    CURRENT,
    QUIET_INK,
    SMALL,
    as_value,
    figure_of,
    knob_label,
    left_out,
    new_axes,
    one_line,
    say_empty,
)
from sweeper.tables import figure_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

__all__ = ["plot_heatmap"]

_WRITTEN = 12  # rows or columns beyond which cells carry no numbers
_Grid = list[list[float]]


def plot_heatmap(
    frame: pd.DataFrame,
    *,
    rows: Knob,
    columns: Knob,
    metric: str,
    current: tuple[Value, Value] | None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one figure over two knobs as coloured cells.

    Up to 12 x 12 cells carry their value; the current cell is outlined. Cells without a figure
    stay white and are counted below the x axis.

    Parameters
    ----------
    frame : one row per value of ``rows``, one column per value of ``columns``
        Figures, NaN where there is none. An index that holds ``None`` needs the type object.
    rows, columns
        Knobs of the y and of the x axis.
    metric
        Address of the figure, such as ``entity.recall@10``.
    current
        The two knobs' values that run today, that of ``rows`` first.
    ax
        Where to draw; a fresh figure by default.
    """
    ax = new_axes(ax)
    cells = _cells(frame)
    down = _ordered(rows, [at[0] for at in cells])
    across = _ordered(columns, [at[1] for at in cells])
    grid = [[cells[r, c] for c in across] for r in down]
    known = [value for line in grid for value in line if not math.isnan(value)]
    missing = len(cells) - len(known)
    ax.set_xlabel(knob_label(columns) + left_out(missing, "cell"), parse_math=False)
    ax.set_ylabel(knob_label(rows), parse_math=False)
    if not known:
        say_empty(ax)
        return ax
    mesh = _draw_cells(ax, grid, known)
    _name_cells(ax, [columns.format(v) for v in across], [rows.format(v) for v in down])
    bar = figure_of(ax).colorbar(mesh, ax=ax, pad=0.02)
    bar.set_label(one_line(figure_label(metric)), parse_math=False)
    bar.ax.ticklabel_format(useOffset=False)
    if len(across) <= _WRITTEN and len(down) <= _WRITTEN:
        _write_cells(ax, grid, mesh, known)
    if current in cells:
        _outline(ax, down.index(current[0]), across.index(current[1]))
    return ax


def _cells(frame: pd.DataFrame) -> dict[tuple[Value, Value], float]:
    across = [as_value(label) for label in frame.columns]
    return {
        (as_value(label), column): float(figure)
        for label, line in zip(frame.index, frame.to_numpy(), strict=True)
        for column, figure in zip(across, line, strict=True)
    }


def _ordered(knob: Knob, values: Sequence[Value]) -> list[Value]:
    """Order values as the curve's axis does: unset first, a half-life that is off last."""
    return sorted(dict.fromkeys(values), key=knob.sort_key)


def _draw_cells(ax: Axes, grid: _Grid, known: Sequence[float]) -> QuadMesh:
    low, high = min(known), max(known)
    if high - low < 1e-9:  # one colour for one value, not an arbitrary end of the scale
        low, high = low - 0.005, high + 0.005
    crowded = max(len(grid), len(grid[0])) > _WRITTEN
    mesh = ax.pcolormesh(
        grid,
        cmap="viridis",
        vmin=low,
        vmax=high,
        edgecolors="face" if crowded else "white",
        linewidth=0.2 if crowded else 1.0,  # SVG viewers show seams between cells without a line
    )
    for spine in ax.spines.values():
        spine.set_visible(False)
    return mesh


def _name_cells(ax: Axes, across: Sequence[str], down: Sequence[str]) -> None:
    """Label cells with the knobs' values, every n-th where they would touch."""
    room = 80 // (max(map(len, across)) + 2)  # about 80 digits fit side by side
    step = math.ceil(len(across) / max(1, room))
    ax.set_xticks([n + 0.5 for n in range(0, len(across), step)], across[::step])
    step = math.ceil(len(down) / 24)
    ax.set_yticks([n + 0.5 for n in range(0, len(down), step)], down[::step])
    ax.tick_params(length=0)


def _write_cells(ax: Axes, grid: _Grid, mesh: QuadMesh, known: Sequence[float]) -> None:
    low, high = mesh.get_clim()
    digits = 2 if len({f"{v:.2f}" for v in known}) == len({f"{v:.3f}" for v in known}) else 3
    size = 7 if max(len(grid), len(grid[0])) > 8 else 9
    for r, line in enumerate(grid):
        for c, value in enumerate(line):
            if math.isnan(value):
                continue
            colour = mesh.cmap((value - low) / (high - low))
            ax.text(
                c + 0.5,
                r + 0.5,
                f"{value:.{digits}f}",
                ha="center",
                va="center",
                fontsize=size,
                color="black" if _is_light(colour) else "white",
            )


def _is_light(rgba: tuple[float, float, float, float]) -> bool:
    """Return whether black reads better than white on a colour (WCAG 2.2, relative luminance)."""
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in rgba[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return (luminance + 0.05) ** 2 > 1.05 * 0.05


def _outline(ax: Axes, row: int, column: int) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(
        Rectangle(
            (column, row), 1, 1, fill=False, edgecolor=CURRENT, linewidth=3, zorder=5, clip_on=False
        )
    )
    ax.set_title("outlined: current settings", loc="left", fontsize=SMALL, color=QUIET_INK)
