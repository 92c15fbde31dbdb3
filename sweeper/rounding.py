"""Where the rounding of scores may decide, and not the order of real numbers.

A score is some sums and products of doubles, so it is off by a few units of its last place. Two
rows whose scores lie further apart than both can be off stand as exact arithmetic says; along a
knob's axis the rest is a few narrow stretches around the values at which two rows tie.

References
----------
Higham, Accuracy and Stability of Numerical Algorithms (2002), chapter 3: bounds on the rounding of
sums and products.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sweeper.counting import MARGIN, Crossings, Group, Scene
from sweeper.pools import FloatArray

__all__ = ["LIGHTEST", "NO_DOUBT", "doubt_along_weight", "doubt_along_x", "stretches"]

LIGHTEST = 1e-9
"""Lighter weights (and heavier ones than its inverse) drown in the rounding of the other shares."""

_EPSILON = float(np.finfo(np.float64).eps)

_ROUNDING = 32 * _EPSILON
"""Relative, of a score whose shares are known: some products, a power, a difference."""

_PER_CHANNEL = 4 * _EPSILON
"""Relative, of a score, for each share that is added."""

_PER_HALF_LIFE = 4 * _EPSILON
"""In log2(score), for each half-life of age: ``age / half_life`` and ``1 / half_life`` round."""

_ONE_ROUNDING = 4 * _EPSILON
"""Relative, of the ends of a stretch: a few roundings."""

_NEAR_ZERO = 1e-280
"""Below, scores may underflow, and their rounding is not relative."""

_STEEPEST = 1e290
"""``1 / half_life`` beyond which nothing is told apart."""

NO_DOUBT = np.zeros((0, 2))


def doubt_along_x(scene: Scene, cross: Crossings) -> Iterator[FloatArray]:
    """Yield the stretches of ``x = 1 / half_life`` in which rounding may decide, shape (n, 2).

    Two lines ``log2(level) - age * x`` are a distance of ``apart - days * x`` from each other, and
    known up to a rounding that grows with the older row's ``age * x``. Pairs that neither cross nor
    are close begin further apart than all rounding, and part.
    """
    ages = scene.layout.ages[scene.age_number]

    def older(slot: NDArray[np.intp], column: NDArray[np.intp]) -> FloatArray:
        found: FloatArray = np.maximum(ages[slot, column], ages[scene.slot[column], column])
        return found

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        blur = _PER_HALF_LIFE * older(cross.slot, cross.column)
        apart = cross.x * cross.days
        slack = _ROUNDING + _PER_CHANNEL * apart
        low, high = (apart - slack) / (cross.days + blur), (apart + slack) / (cross.days - blur)
        extreme = ~(cross.x < _STEEPEST)
        low = np.where(extreme, _STEEPEST, low)
        high = np.where(extreme | (cross.days <= blur), np.inf, high)
        yield np.stack([low, high], axis=1)
        # Rows that are close were ordered by their ages, which decide from some x on.
        slot, column = cross.close
        own = ages[scene.slot[column], column]
        days = np.abs(ages[slot, column] - own)
        blur = _PER_HALF_LIFE * older(slot, column)
        high = np.where(days > blur, 2 * MARGIN / (days - blur), np.inf)
        decays = (days > 0) | (own > 0)
        yield np.stack([np.zeros(len(high)), high], axis=1)[decays]


def doubt_along_weight(
    scene: Scene,
    group: Group,
    target: NDArray[np.intp],
    fixed: FloatArray,
    slope: FloatArray,
    decay: FloatArray,
    live: NDArray[np.bool_],
) -> FloatArray:
    """Return the weights at which rounding may decide, shape (n, 2).

    A row's score is ``fixed + weight * slope`` up to ``rounding`` of itself, so two are beyond
    doubt where they differ by more than that part of the larger one. Where neither bound is
    touched, the difference keeps its sign along the whole axis.

    Parameters
    ----------
    scene, group
        The rows, with every channel that has a weight.
    target : shape (n_columns,)
        The relevant row that the others are held against, by column.
    fixed, slope : shape (n_slots, n_columns)
        A row's decayed score at weight 0, and by how much it grows with the weight.
    decay : shape (n_ages,)
        What age leaves of a score.
    live : shape (n_slots, n_columns)
        Which rows are there, and so is the relevant one.
    """
    place = (scene.slot, scene.column)
    more, steeper = fixed - fixed[place], slope - slope[place]
    most, steepest = np.maximum(fixed, fixed[place]), np.maximum(slope, slope[place])
    rounding = _ROUNDING + _PER_CHANNEL * len(group.active)
    tiny = fixed + LIGHTEST * slope < _NEAR_ZERO
    touched = ((more > 0) & (steeper < 0)) | ((more < 0) & (steeper > 0))
    touched |= np.abs(more) <= rounding * most
    touched |= (np.abs(steeper) <= rounding * steepest) & (steepest > 0)
    touched |= tiny & tiny[place]
    if scene.prior is None:  # products with one factor are those of the replay
        touched &= steepest > 0
    touched &= live
    touched[place] = False
    row, column = np.nonzero(touched)
    own = scene.slot[column]
    # Equal shares of one or two channels add up to the same score in any order.
    query = scene.layout.target_query[target[column]]
    ranks = scene.layout.ranks[[number for number, _ in group.active]]
    few = ((ranks[:, row, query] > 0).sum(0) <= 2) & ((ranks[:, own, query] > 0).sum(0) <= 2)
    age = scene.age_number
    alike = few & (more[row, column] == 0) & (steeper[row, column] == 0)
    alike &= age[row, column] == age[own, column]
    if scene.prior is not None:
        alike &= scene.prior[row, column] == scene.prior[own, column]
    alike |= (decay[age[row, column]] == 0) & (decay[age[own, column]] == 0)
    row, column, own = row[~alike], column[~alike], own[~alike]
    more, steeper = more[row, column], steeper[row, column]
    most, steepest = rounding * most[row, column], rounding * steepest[row, column]
    low, high = _below_zero(more - most, steeper - steepest)
    other_low, other_high = _below_zero(-more - most, -steeper - steepest)
    low, high = np.maximum(low, other_low), np.minimum(high, other_high)
    both_tiny = tiny[row, column] & tiny[own, column]
    low, high = np.where(both_tiny, 0.0, low), np.where(both_tiny, np.inf, high)
    found: FloatArray = np.stack([low, high], axis=1)
    return found[(low <= high) & (high >= LIGHTEST) & (low <= 1 / LIGHTEST)]


def _below_zero(at_zero: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return from where to where on the axis a line is not above 0; nowhere is inf to -inf."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = -at_zero / slope
    never = (slope == 0) & (at_zero > 0)
    low = np.where(slope < 0, root, np.where(never, np.inf, 0.0))
    return low, np.where(slope > 0, root, np.where(never, -np.inf, np.inf))


def stretches(spans: FloatArray) -> FloatArray:
    """Return what some spans cover, as stretches that are apart and ascending, shape (m, 2).

    Their ends were computed, so each lies a few roundings further out.

    Parameters
    ----------
    spans : shape (n, 2)
        Lower and upper ends, in any order.
    """
    return _joined(spans * (1 - _ONE_ROUNDING, 1 + _ONE_ROUNDING))


def _joined(spans: FloatArray) -> FloatArray:
    """Join what overlaps or touches.

    Examples
    --------
    >>> _joined(np.array([[4.0, 5.0], [1.0, 3.0], [2.0, 2.5], [3.0, 3.5]])).tolist()
    [[1.0, 3.5], [4.0, 5.0]]
    """
    if not len(spans):
        return spans
    low, high = spans[np.argsort(spans[:, 0], kind="stable")].T
    reached = np.maximum.accumulate(high)
    first = np.flatnonzero(np.r_[True, low[1:] > reached[:-1]])
    return np.stack([low[first], reached[np.append(first[1:], len(low)) - 1]], axis=1)
