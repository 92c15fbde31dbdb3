"""The exact curve of one knob: a staircase per slice, with the interval that resampling gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sweeper.golden import OVERALL
from sweeper.knobs import Knob, Value
from sweeper.plots.lines import OVERALL_LOOK, LineEnd, look_of, name_ends
from sweeper.plots.style import (
    CURRENT,
    INK,
    SMALL,
    figure_label,
    figure_scale,
    is_off,
    knob_label,
    light_grid,
    new_axes,
    not_mathematics,
    say_empty,
)

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
    ax.set_ylabel(figure_label(metric), parse_math=False)
    light_grid(ax)
    drawn = cells[cells["figure"].notna()]
    axis = drawn[drawn["low"].notna() & drawn["exact"]]
    apart = drawn[drawn["low"].isna()]
    if axis.empty:
        say_empty(ax)
        return ax
    low, high = view or _changing(axis, knob, current)
    scale = _Scale(low, high, _is_log(knob) and low > 0)
    names = [name for name in dict.fromkeys(cells["slice"]) if name != OVERALL]
    ends, figures = [], []
    off_at = scale.off(at_right=knob.zero is not None)
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
    scale.dress(ax, knob, current, off_at if len(apart) else None)
    name_ends(ax, ends)
    return ax


def _changing(axis: pd.DataFrame, knob: Knob, current: Value) -> tuple[float, float]:
    """Return the part of the axis in which something changes, and the current value, with room."""
    first, last = float(axis["low"].min()), float(axis["high"].max())
    by_cell = axis.pivot_table(index="low", columns="slice", values="figure").sort_index()
    moves = (by_cell.diff().abs() > 0).any(axis=1)
    inner = [float(value) for value in by_cell.index[moves]]
    below = 1.5
    if inner and _is_weight(knob):
        inner.append(min(inner) / _BELOW_FIRST * below)
    if current is not None and not is_off(knob, current) and not (_is_log(knob) and current == 0):
        inner.append(float(current))
    ends = [value for value in (first, last) if math.isfinite(value) and value > 0]
    low, high = min(inner or ends or [0.0]), max(inner or ends or [1.0])
    if _is_log(knob) and low > 0:
        return max(first, low / below), min(last, high * 1.5)
    room = (high - low) * 0.05 or 0.5
    return max(first, low - room), min(last, high + room)


_BELOW_FIRST = 100.0


def _is_weight(knob: Knob) -> bool:
    return knob.name.rpartition(".")[0].endswith("weights")


def _is_log(knob: Knob) -> bool:
    """Return whether ratios count: also along a weight, whose axis leaves 0 out."""
    return knob.log_scale or _is_weight(knob)


class _Scale:
    """The x axis: values to places, linear or logarithmic, with a place apart for off."""

    def __init__(self, low: float, high: float, log: bool) -> None:
        self._log = log
        self.low, self.high = self.place(low), self.place(high)

    def place(self, value: float) -> float:
        return math.log10(value) if self._log else value

    def off(self, *, at_right: bool) -> float:
        gap = 0.08 * (self.high - self.low)
        return self.high + gap if at_right else self.low - gap

    def dress(self, ax: Axes, knob: Knob, current: Value, off_at: float | None) -> None:
        """Set limits and ticks, and mark the current value."""
        places = [self.low, self.high] + ([] if off_at is None else [off_at])
        margin = 0.03 * (self.high - self.low)
        ax.set_xlim(min(places) - margin, max(places) + margin)
        ticks = self._ticks()
        labels = [_short(value) for value in ticks]
        at = [self.place(value) for value in ticks]
        if off_at is not None:
            at.append(off_at)
            labels.append(knob.apart)
        ax.set_xticks(at, labels)
        apart = current is None or is_off(knob, current) or (self._log and float(current) <= 0)
        here = off_at if apart or current is None else self.place(float(current))
        if here is None:
            return
        ax.axvline(here, color=CURRENT, linewidth=1.2, linestyle=(0, (1, 1.2)), zorder=1.5)
        ax.annotate(
            f"current: {knob.format(current)}",
            (here, 1.0),
            xycoords=ax.get_xaxis_transform(),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=SMALL,
            color=INK,
            parse_math=False,
        )

    def _ticks(self) -> Sequence[float]:
        if not self._log:
            from matplotlib.ticker import MaxNLocator

            places = MaxNLocator(nbins=7).tick_values(self.low, self.high)
            return [float(v) for v in places if self.low <= v <= self.high]
        span = self.high - self.low
        decades = range(math.floor(self.low), math.ceil(self.high) + 1)
        if span >= _MOST_TICKS:  # every second decade, or third, ..., those of 1 among them
            every = math.ceil((span + 1) / _MOST_TICKS)
            decades = range(-(-decades[0] // every) * every, decades[-1] + 1, every)
        steps = (1, 3) if span < 5 else (1,)
        found = [step * 10.0**decade for decade in decades for step in steps]
        return [v for v in found if self.low <= math.log10(v) <= self.high]


_MOST_TICKS = 8
"""Labels that fit side by side under a plot of the usual width."""


def _short(value: float) -> str:
    """Return a tick's label; very small and very large ones as powers of ten."""
    if value == 0 or 1e-4 < abs(value) < 1e5:
        return f"{value:g}"
    digits, _, power = f"{value:e}".partition("e")
    times = "" if float(digits) == 1 else rf"{float(digits):g}\times "
    return f"${times}10^{{{int(power)}}}$"
