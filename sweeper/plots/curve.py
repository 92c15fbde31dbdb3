"""The curve of one knob: a metric over the knob's values, one line per slice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from sweeper.golden import OVERALL
from sweeper.knobs import Knob, Value
from sweeper.plots.lines import OVERALL_LOOK, LineEnd, Look, look_of, name_ends
from sweeper.plots.style import (
    INK,
    as_value,
    figure_scale,
    is_off,
    knob_label,
    left_out,
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

__all__ = ["plot_knob_curve"]

_MANY = 25  # points of a line beyond which only some carry a marker

_Points: TypeAlias = list[tuple[float, float]]


def plot_knob_curve(
    curve: pd.DataFrame,
    *,
    knob: Knob,
    metric: str,
    current: Value,
    ax: Axes | None = None,
) -> Axes:
    """Draw one metric over one knob, a line per slice; ``overall`` is black and dashed.

    A value that switches the knob off has no place on its scale, so it stands apart, behind a
    break in the axis, at the end where it belongs: a half-life that is "off" is infinitely long
    and stands at the right; a floor of "none" lets everything through and stands at the left.
    The way across the break is dotted, because "off" is not the limit of long half-lives: ties
    can fall differently. The current value is a vertical line. Points without a figure are left
    out and counted below the x axis.

    Parameters
    ----------
    curve : one row per value and slice
        Columns ``value`` (``None`` or NaN where the knob is not set), ``slice`` and ``figure``.
    knob
        Gives the scale, the words and the unit.
    metric
        Such as ``recall@10``.
    current
        The value that runs today; it need not be among the values.
    ax
        Where to draw; a fresh figure by default.
    """
    ax = new_axes(ax)
    rows = [
        (str(row["slice"]), as_value(row["value"]), float(row["figure"]))
        for row in curve.to_dict("records")
    ]
    known = [row for row in rows if not math.isnan(row[2])]
    axis = _KnobAxis(knob, [value for _, value, _ in known] + [current])
    missing = len(rows) - len(known)
    ax.set_xlabel(knob_label(knob) + left_out(missing, "point"), parse_math=False)
    ax.set_ylabel(one_line(figure_label(metric)), parse_math=False)
    light_grid(ax)
    if not known:
        say_empty(ax)
        return ax
    names = list(dict.fromkeys(name for name, _, _ in known))
    # A slice keeps its colour when another slice has no figures.
    slices = [name for name in dict.fromkeys(name for name, _, _ in rows) if name != OVERALL]
    ends = []
    for name in names:
        line = sorted((axis.place(value), figure) for own, value, figure in known if own == name)
        look = OVERALL_LOOK if name == OVERALL else look_of(slices.index(name))
        _draw_line(ax, name, look, line, axis.break_at)
        ends.append(LineEnd(name, look, *line[-1]))
    figure_scale(ax, "y", [figure for _, _, figure in known])
    axis.dress(ax, current)
    name_ends(ax, ends)
    return ax


class _KnobAxis:
    """Places of a knob's values on the x axis, with the switched-off value behind a break.

    Words have no distances: they stand side by side.
    """

    def __init__(self, knob: Knob, values: Sequence[Value]) -> None:
        self._knob = knob
        self._words: list[Value] = []
        if any(isinstance(value, str) for value in values):
            self._words = sorted(dict.fromkeys(values), key=knob.sort_key)
            values = list(range(1, len(self._words) + 1))
        self._off = [value for value in dict.fromkeys(values) if is_off(knob, value)][:1]
        on = {float(v) for v in values if v is not None and not is_off(knob, v)}
        self._on = sorted(on)
        self._log = knob.log_scale and all(value > 0 for value in on)
        # Long half-lives lead towards "off"; low floors lead towards "none".
        self._off_at_right = knob.zero is not None
        low, high = (self._on[0], self._on[-1]) if self._on else (1.0, 1.0)
        self._low, self._high = self._scaled(low), self._scaled(high)
        self._span = self._high - self._low or (1.0 if self._log else max(abs(high), 1.0) / 4)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self._log else value

    def place(self, value: Value) -> float:
        """Return a value's place in axis units: log10 of it on a log scale."""
        if self._words:
            return float(self._words.index(value) + 1)
        if value is None or is_off(self._knob, value):
            gap = 0.16 * self._span
            return self._high + gap if self._off_at_right else self._low - gap
        return self._scaled(float(value))

    @property
    def break_at(self) -> float | None:
        """The middle of the break, if both of its sides are in use."""
        if not self._off or not self._on:
            return None
        half_gap = 0.08 * self._span
        return self._high + half_gap if self._off_at_right else self._low - half_gap

    def dress(self, ax: Axes, current: Value) -> None:
        """Set limits and ticks, and mark the break and the current value."""
        values = self._words or [*self._on, *self._off]
        places = {self.place(value): self._knob.format(value) for value in values}
        lowest, highest = min(places), max(places)
        margin = 0.05 * max(highest - lowest, self._span)
        ax.set_xlim(lowest - margin, highest + margin)
        kept = _with_room(places, self.place(current), highest - lowest + 2 * margin)
        ax.set_xticks(kept, [places[at] for at in kept])
        if len(places) <= 40:
            ax.set_xticks([at for at in places if at not in kept], minor=True)
        self._mark_break(ax)
        at = self.place(current)
        mark_current(ax, at, self._knob.format(current))

    def _mark_break(self, ax: Axes) -> None:
        if self.break_at is None:
            return
        ax.text(
            self.break_at,
            0.0,
            "//",
            transform=ax.get_xaxis_transform(),
            ha="center",
            va="center",
            fontsize=9,
            color=INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
            zorder=10,
            clip_on=False,
        )


def _with_room(places: Mapping[float, str], first: float, width: float) -> list[float]:
    """Return the places to label: the current value, the ends, then all that leave room."""
    kept: list[float] = []
    order = [first, max(places), min(places), *sorted(places)]
    for at in dict.fromkeys(order):
        # A digit takes about a hundredth of the axis, so half a label a half of that per digit.
        room = all(
            abs(at - other) > width * 0.009 * (len(places[at]) + len(places[other]) + 1.5)
            for other in kept
        )
        if room:
            kept.append(at)
    return sorted(kept)


def _draw_line(ax: Axes, name: str, look: Look, line: _Points, break_at: float | None) -> None:
    """Draw one slice: its points as one artist that carries the name, then the lines between."""
    markers: dict[str, Any] = {"marker": look.marker, "markersize": look.size}
    ax.plot(
        [x for x, _ in line],
        [y for _, y in line],
        color=look.colour,
        linestyle="",
        markevery=1 if len(line) <= _MANY else 0.08,
        markeredgecolor="white",
        markeredgewidth=0.5,
        label=not_mathematics(name),
        zorder=look.layer + 0.1,
        **markers,
    )
    left = [point for point in line if break_at is None or point[0] < break_at]
    right = line[len(left) :]
    for part, dashes, width in (
        (left, look.dashes, look.width),
        (right, look.dashes, look.width),
        (left[-1:] + right[:1], ":", 1.2),  # across the break
    ):
        if len(part) > 1:
            ax.plot(
                [x for x, _ in part],
                [y for _, y in part],
                color=look.colour,
                linestyle=dashes,
                linewidth=width,
                label="_",
                zorder=look.layer,
            )
