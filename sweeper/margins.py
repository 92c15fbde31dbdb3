"""How firmly a setting stands: its plateau, its safe interval, and the nearest harmful flip."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.evaluate import evaluate
from sweeper.knobs import Value
from sweeper.pools import FloatArray
from sweeper.replay import Replay
from sweeper.staircase import Curve

__all__ = ["Flip", "Interval", "Margins", "margins_of"]


_ON_EDGE = 1e-12
"""Relative. A value so close to an edge that rounding, or a tie, decides."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of a knob's axis, and whether the value that stands apart joins it.

    ``low`` and ``high`` are ``None`` for the value that stands apart alone. The ends are open, but
    for the upper end of a floor.
    """

    low: float | None
    high: float | None
    with_point: bool

    @property
    def is_point(self) -> bool:
        return self.low is None


@dataclass(frozen=True, slots=True)
class Flip:
    """A question's first loss when the knob leaves a setting in one direction.

    ``item`` is the relevant row that loses its place and ``other`` the row that overtakes it;
    ``other`` is ``None`` where a floor takes the row away or several rows move at once.
    """

    at: float
    upwards: bool
    query_id: str
    item_id: str | None
    other_id: str | None


@dataclass(frozen=True, slots=True)
class Margins:
    """What surrounds one value of one knob.

    Attributes
    ----------
    value
        The knob's value in question.
    plateau
        Where no figure of any slice changes.
    safe
        Where no question gets worse in any metric.
    flips
        The first harmful flip downwards and upwards, where there is one.
    """

    value: Value
    plateau: Interval
    safe: Interval
    flips: tuple[Flip, ...]

    @property
    def nearest(self) -> Flip | None:
        """The harmful flip that is nearer, by ratio on an axis of positive values."""
        if self.value is None or not self.flips:
            return self.flips[0] if self.flips else None
        value = float(self.value)

        def far(flip: Flip) -> float:
            if value > 0 and flip.at > 0:
                return abs(math.log(flip.at / value))
            return abs(flip.at - value)

        return min(self.flips, key=far)


def margins_of(curve: Curve, replay: Replay, value: Value) -> Margins:
    """Return the plateau, the safe interval and the harmful flips around a value of a curve's knob.

    Parameters
    ----------
    curve
        From ``exact_curve`` on the same replay.
    replay
        Names the rows.
    value
        Any value of the knob, also one that stands apart (off, none).

    Raises
    ------
    ValueError
        If the curve does not reach the value.
    """
    apart = curve.point(value) is not None
    number = value if isinstance(value, int | float) else math.nan
    if not apart and not (curve.low <= number <= curve.high):
        raise ValueError(
            f"{curve.knob.name} is computed from {curve.low:g} to {curve.high:g}, "
            f"not at {curve.knob.format(value)}"
        )
    if not apart and curve.underflow is not None:
        low, high = curve.underflow
        if low <= number <= high:  # nothing is known of its neighbours
            alone = Interval(float(number), float(number), False)
            return Margins(value, alone, alone, ())
    positions = replay.positions([curve.settings.with_values({curve.knob.name: value})])
    judgments = positions.judgments
    reference = np.full((judgments.n_queries, len(curve.metrics)), np.nan)
    for place, metric in enumerate(curve.metrics):
        reference[metric.queries(judgments), place] = metric.values(positions)[0]
    figures = evaluate(positions, curve.metrics).value[0]
    where = _place(curve, value)
    plateau = _plateau(curve, figures, where, apart)
    worse = _worse_pieces(curve, reference)
    stop = _stops(curve, worse, where)
    safe = _safe(curve, replay, reference, stop, where, apart)
    flips = tuple(_flips(curve, replay, worse, stop))
    return Margins(value, plateau, safe, flips)


def _place(curve: Curve, value: Value) -> float:
    """Return where on the axis a value stands; one apart stands at the end that it belongs to."""
    if curve.point(value) is None:
        assert value is not None
        return float(value)
    return curve.high if curve.knob.name == "recency_half_life_days" else curve.low


def _plateau(curve: Curve, figures: FloatArray, where: float, apart: bool) -> Interval:
    same = _equal(curve.value, figures)
    joins = any(bool(_equal(point, figures)) for _, point in curve.points)
    cell = _end_cell(curve, where) if apart else curve.cell(where)
    below, above = cell, cell
    low = high = where
    if not apart:
        edge = _edge_at(curve, where)
        if edge is not None:  # rows are tied here, so the value belongs to neither side
            below, above = edge, edge + 1
    first = 0 if curve.underflow is None else curve.cell(curve.underflow[1])
    while below >= first and same[below]:
        low = curve.bounds(below)[0]
        below -= 1
    while above < len(same) and same[above]:
        high = curve.bounds(above)[1]
        above += 1
    if apart and low == high:
        return Interval(None, None, True)
    touching = above == len(same) if _at_top(curve) else below < 0
    return Interval(low, high, joins and touching)


def _edge_at(curve: Curve, where: float) -> int | None:
    """Return the number of the edge on which a value stands, but for rounding."""
    if curve.right_closed:
        return None
    near = np.flatnonzero(np.isclose(curve.edges, where, rtol=_ON_EDGE, atol=0))
    return int(near[0]) if len(near) else None


def _end_cell(curve: Curve, where: float) -> int:
    return len(curve.edges) if where == curve.high else 0


def _at_top(curve: Curve) -> bool:
    """Return whether the value that stands apart continues the axis at its upper end."""
    return curve.knob.name == "recency_half_life_days"


def _equal(values: FloatArray, figures: FloatArray) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = ((values == figures) | (np.isnan(values) & np.isnan(figures))).all(
        axis=(-2, -1)
    )
    return same


def _worse_pieces(curve: Curve, reference: FloatArray) -> NDArray[np.bool_]:
    """Return which pieces are worse than the reference in some metric."""
    counted = [place for place, m in enumerate(curve.metrics) if m.larger_is_better]
    values = curve.pieces.values[:, counted]
    before = reference[curve.pieces.query][:, counted]
    worse: NDArray[np.bool_] = np.any(values < before, axis=1)
    return worse


def _stops(curve: Curve, worse: NDArray[np.bool_], where: float) -> tuple[float, float]:
    """Return the nearest values below and above at which some question gets worse."""
    start = np.maximum(curve.pieces.start, curve.low)
    stop = np.append(start[1:], curve.high)
    last = np.append(curve.pieces.query[1:] != curve.pieces.query[:-1], True)
    stop[last] = curve.high
    below: NDArray[np.bool_] = np.less(stop, where)
    above: NDArray[np.bool_] = np.greater(start, where)
    if curve.right_closed:
        above |= start == where
    else:
        below |= np.isclose(stop, where, rtol=_ON_EDGE, atol=0)
        above |= np.isclose(start, where, rtol=_ON_EDGE, atol=0)
    floor = curve.underflow[1] if curve.underflow is not None else curve.low
    return (
        float(stop[worse & below].max(initial=floor)),
        float(start[worse & above].min(initial=curve.high)),
    )


def _safe(
    curve: Curve,
    replay: Replay,
    reference: FloatArray,
    stop: tuple[float, float],
    where: float,
    apart: bool,
) -> Interval:
    """Return the interval between the stops, with the value apart if that is no worse either."""
    counted = [place for place, m in enumerate(curve.metrics) if m.larger_is_better]
    joins = apart
    touching = stop[1] == curve.high if _at_top(curve) else stop[0] == curve.low
    if not apart and curve.points and touching:
        point = curve.settings.with_values({curve.knob.name: curve.points[0][0]})
        positions = replay.positions([point])
        judgments = positions.judgments
        joins = True
        for place in counted:
            metric = curve.metrics[place]
            before = reference[metric.queries(judgments), place]
            joins &= not bool((metric.values(positions)[0] < before).any())
    if apart:
        end = curve.pieces.at(
            np.nextafter(where, -math.inf) if where == curve.high else where,
            right_closed=False,
        )
        if bool(_worse_pieces(curve, reference)[end].any()):
            return Interval(None, None, True)
    return Interval(stop[0], stop[1], joins)


def _flips(
    curve: Curve, replay: Replay, worse: NDArray[np.bool_], stop: tuple[float, float]
) -> Iterator[Flip]:
    pieces, steps = curve.pieces, curve.steps
    replay = replay.of(curve.settings)
    layout = replay.layout(curve.settings.effective_depth)
    items = replay.pool.item_ids
    for upwards, at in ((False, stop[0]), (True, stop[1])):
        if at in (curve.low, curve.high) or (curve.underflow and at == curve.underflow[1]):
            continue
        here = np.flatnonzero(pieces.start == at)
        lost = here[worse[here]] if upwards else here[worse[here - 1]]
        query = int(pieces.query[lost[0]])
        moved = (steps.at == at) & (layout.target_query[steps.target] == query)
        moved &= (steps.step > 0) if upwards else (steps.step < 0)
        chosen = np.flatnonzero(moved)
        item = other = None
        if len(chosen):
            target = int(steps.target[chosen[0]])
            item = items[layout.item[layout.target_slot[target], query]]
            slots = {int(slot) for slot in steps.other[chosen]}
            if len(slots) == 1 and min(slots) >= 0:
                other = items[layout.item[slots.pop(), query]]
        yield Flip(at, upwards, replay.judgments.query_ids[query], item, other)
