"""The exact curve of one knob: a staircase per slice, with the interval that resampling gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sweeper.golden import OVERALL
from sweeper.knobs import Knob, Value
from sweeper.plots.knob_axis import KnobAxis, changing
from sweeper.plots.lines import OVERALL_LOOK, LineEnd, look_of, name_ends
from sweeper.plots.style import (
    figure_scale,
    knob_label,
    light_grid,
    mark_current,
    new_axes,
    not_mathematics,
    one_line,
    say_empty,
)
from sweeper.tables import figure_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["plot_staircase"]


def plot_staircase(
    cells: pd.DataFrame,
    *,
    knob: Knob,
    metric: str,
    current: Value,
    sampled: pd.DataFrame | None = None,
    view: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one metric along one knob, exactly: every step of every slice.

    A knob that is off has a place of its own behind a gap, at the end where it belongs.

    Parameters
    ----------
    cells : one row per cell and slice
        Columns ``low``, ``high`` (ends of the cell; both NaN for the value that stands apart),
        ``slice``, ``figure``, ``exact`` (whether the figure holds in the whole cell), and
        optionally ``interval_low`` and ``interval_high``, drawn as a band.
    knob
        Gives the scale, the words and the unit.
    metric
        Such as ``mrr``.
    current
        The value that runs today.
    sampled : columns ``value``, ``slice``, ``figure``, optional
        Points of a grid, drawn over the staircase to show what sampling sees.
    view
        Ends of the axis that are shown; by default those between which anything changes. A weight's
        axis begins two decades below its first edge: what is lighter does as the lightest does.
    ax
        Where to draw; a fresh figure by default.
    """
    ax = new_axes(ax)
    ax.set_xlabel(knob_label(knob), parse_math=False)
    ax.set_ylabel(one_line(figure_label(metric)), parse_math=False)
    light_grid(ax)
    drawn = cells[cells["figure"].notna()]
    axis = drawn[drawn["low"].notna() & drawn["exact"]]
    apart = drawn[drawn["low"].isna()]
    if axis.empty:
        say_empty(ax)
        return ax
    low, high = view or changing(axis, knob, [current])
    scale = KnobAxis(knob, low, high)
    names = [name for name in dict.fromkeys(cells["slice"]) if name != OVERALL]
    ends, figures = [], []
    off_at = scale.apart
    for name in dict.fromkeys(axis["slice"]):
        look = OVERALL_LOOK if name == OVERALL else look_of(names.index(name))
        own = axis[(axis["slice"] == name) & (axis["high"] > low) & (axis["low"] < high)]
        own = own.sort_values("low")
        edges = [scale.place(max(low, float(v))) for v in own["low"]]
        edges.append(scale.place(min(high, float(own["high"].iloc[-1]))))
        values = [float(v) for v in own["figure"]]
        figures += values
        ax.stairs(
            values,
            edges,
            baseline=None,
            color=look.colour,
            linestyle=look.dashes,
            linewidth=look.width,
            label=not_mathematics(str(name)),
            zorder=look.layer,
        )
        if "interval_low" in own:
            ax.fill_between(
                edges,
                [*own["interval_low"], own["interval_low"].iloc[-1]],
                [*own["interval_high"], own["interval_high"].iloc[-1]],
                step="post",
                color=look.colour,
                alpha=0.12,
                linewidth=0,
                zorder=1,
            )
        if sampled is not None:
            seen = sampled[(sampled["slice"] == name) & sampled["value"].between(low, high)]
            ax.plot(
                [scale.place(float(v)) for v in seen["value"]],
                seen["figure"].tolist(),
                linestyle=":",
                linewidth=1.0,
                marker="o",
                markersize=4.5,
                markerfacecolor="white",
                color=look.colour,
                label="_",
                zorder=5,
            )
        point = apart[apart["slice"] == name]
        if len(point):
            figure = float(point["figure"].iloc[0])
            figures.append(figure)
            ax.plot(
                [off_at],
                [figure],
                marker=look.marker,
                markersize=look.size,
                markeredgecolor="white",
                color=look.colour,
                linestyle="",
                label="_",
                zorder=5,
            )
        right = len(point) > 0 and off_at > edges[-1]
        ends.append(
            LineEnd(
                str(name),
                look,
                off_at if right else edges[-1],
                figures[-1] if right else values[-1],
            )
        )
    figure_scale(ax, "y", figures)
    _dress(ax, scale, knob, current, off_at if len(apart) else None)
    name_ends(ax, ends)
    return ax


def _dress(ax: Axes, scale: KnobAxis, knob: Knob, current: Value, off_at: float | None) -> None:
    """Set limits and ticks, and mark the current value."""
    places = [scale.low, scale.high] + ([] if off_at is None else [off_at])
    margin = 0.03 * (scale.high - scale.low)
    ax.set_xlim(min(places) - margin, max(places) + margin)
    ticks = scale.ticks()
    labels = [_short(value) for value in ticks]
    at = [scale.place(value) for value in ticks]
    if off_at is not None:
        at.append(off_at)
        labels.append(knob.apart)
    ax.set_xticks(at, labels)
    here = scale.mark(current, has_apart=off_at is not None)
    if here is None:
        return
    mark_current(ax, here, knob.format(current))


def _short(value: float) -> str:
    """Return a tick's label; very small and very large ones as powers of ten."""
    if value == 0 or 1e-4 < abs(value) < 1e5:
        return f"{value:g}"
    digits, _, power = f"{value:e}".partition("e")
    times = "" if float(digits) == 1 else rf"{float(digits):g}\times "
    return f"${times}10^{{{int(power)}}}$"
