"""The axis of a knob: which part is worth showing, where values stand, which of them are named.

Plots and the report draw on the same axis. A value that switches its knob off has a place of its
own behind a gap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sweeper.knobs import Knob, Value
from sweeper.plots.style import is_off

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KnobAxis", "changing"]

_MOST_TICKS = 8
"""Labels that fit side by side under a plot of the usual width."""

_GAP = 0.08
"""Between the axis and the place apart, as a share of the axis."""

_BELOW_FIRST = 100.0
"""A weight that is lighter than its first edge by so much does as the lightest does."""


class KnobAxis:
    """Places of a knob's values, linear or by ratio.

    Parameters
    ----------
    knob
        Gives the scale.
    low, high
        Ends of what is shown.

    Attributes
    ----------
    low, high
        Places of the ends.
    by_ratio
        Whether a place is a logarithm to base 10.
    """

    def __init__(self, knob: Knob, low: float, high: float) -> None:
        self._knob = knob
        self.by_ratio = _is_by_ratio(knob) and low > 0
        self.low, self.high = self.place(low), self.place(high)

    def place(self, value: float) -> float:
        """Return where a value stands: its logarithm to base 10 where ratios count."""
        return math.log10(value) if self.by_ratio else value

    @property
    def apart(self) -> float:
        """The place apart: on the right for a half-life, on the left for a floor or a weight."""
        gap = _GAP * (self.high - self.low)
        return self.low - gap if self._knob.zero is None else self.high + gap

    def mark(self, value: Value, *, has_apart: bool) -> float | None:
        """Return where a setting's value is marked; ``None`` where it has no place.

        Parameters
        ----------
        value
            Of the knob.
        has_apart
            Whether the place apart is drawn.
        """
        if value is None or is_off(self._knob, value) or (self.by_ratio and float(value) <= 0):
            return self.apart if has_apart else None
        return self.place(float(value))

    def ticks(self) -> list[float]:
        """Return the values that are named."""
        if not self.by_ratio:
            return _round_values(self.low, self.high)
        span = self.high - self.low
        decades: Sequence[int] = range(math.floor(self.low), math.ceil(self.high) + 1)
        if span >= _MOST_TICKS:  # every second decade, or third, ..., those of 1 among them
            every = math.ceil((span + 1) / _MOST_TICKS)
            decades = range(-(-decades[0] // every) * every, decades[-1] + 1, every)
        steps = (1, 3) if span < 5 else (1,)
        found = [step * 10.0**decade for decade in decades for step in steps]
        return [v for v in found if self.low <= math.log10(v) <= self.high]


def changing(axis: pd.DataFrame, knob: Knob, marked: Sequence[Value]) -> tuple[float, float]:
    """Return the part of an axis in which something changes, and marked values, with some room.

    Parameters
    ----------
    axis : one row per cell and slice
        Columns ``low``, ``high``, ``slice``, ``figure``.
    knob
        Gives the scale.
    marked
        Settings' values that have to be in view.
    """
    first, last = float(axis["low"].min()), float(axis["high"].max())
    by_cell = axis.pivot_table(index="low", columns="slice", values="figure").sort_index()
    moves = (by_cell.diff().abs() > 0).any(axis=1)
    inner = [float(value) for value in by_cell.index[moves]]
    below = 1.5
    if inner and _is_weight(knob):
        inner.append(min(inner) / _BELOW_FIRST * below)
    by_ratio = _is_by_ratio(knob)
    for value in marked:
        if value is not None and not is_off(knob, value) and not (by_ratio and value == 0):
            inner.append(float(value))
    ends = [value for value in (first, last) if math.isfinite(value) and value > 0]
    low, high = min(inner or ends or [0.0]), max(inner or ends or [1.0])
    if by_ratio and low > 0:
        return max(first, low / below), min(last, high * 1.5)
    room = (high - low) * 0.05 or 0.5
    return max(first, low - room), min(last, high + room)


def _is_by_ratio(knob: Knob) -> bool:
    """Return whether ratios count: also along a weight, whose axis leaves 0 out."""
    return knob.log_scale or _is_weight(knob)


def _is_weight(knob: Knob) -> bool:
    return knob.name.rpartition(".")[0].endswith("weights")


def _round_values(low: float, high: float) -> list[float]:
    """Return round numbers at even distances."""
    if not low < high:
        return [low]
    rough = (high - low) / (_MOST_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= rough * (1 - 1e-9))
    return [
        round(number * step, 12) + 0.0
        for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]
