"""Statistics of figures: how far a figure could be off, given how few questions it is the mean of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.exact import Curve
from sweeper.pools import FloatArray

__all__ = ["Band", "bootstrap_curve"]

_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """A pointwise interval around a curve of one metric.

    Attributes
    ----------
    low, high : shape (n_cells, n_groups)
        NaN where the metric is undefined.
    level
        Nominal coverage at each point of the axis, not of the curve as a whole.
    """

    low: FloatArray
    high: FloatArray
    level: float


def bootstrap_curve(
    curve: Curve, slice_of: NDArray[np.intp], metric: int, *, n_samples: int = 1000, seed: int
) -> Band:
    """Resample questions and return percentile intervals of a whole step function.

    Each sample draws the questions of every slice with replacement (``overall`` is resampled within
    slices) and adds the step functions of the questions drawn, so one sample gives a figure in
    every cell at once. It does not account for having looked at many values of the knob.

    Parameters
    ----------
    curve
        From ``exact_curve``.
    slice_of : shape (n_queries,)
        Slice of each question.
    metric
        Index into ``curve.metrics``.
    n_samples
        Count of samples, at least 1.
    seed
        Seeds a generator local to this call.

    References
    ----------
    Efron, Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13 (percentile intervals).
    """
    level = 0.95
    rng = np.random.default_rng(seed)
    n_cells, n_groups = curve.value.shape[:2]
    skipped = (
        n_cells
        - 1
        - int(
            (curve.edges > (curve.underflow[1] if curve.underflow is not None else -np.inf)).sum()
        )
    )
    values = curve.pieces.values[:, metric]
    defined = ~np.isnan(values)
    query, start = curve.pieces.query[defined], curve.pieces.start[defined]
    change = values[defined].copy()
    same = query[1:] == query[:-1]
    change[1:][same] -= values[defined][:-1][same]
    cell = np.searchsorted(curve.edges[skipped:], start, side="left") + 1
    cell[np.isneginf(start)] = 0
    n_kept = n_cells - skipped
    low, high = np.full((n_cells, n_groups), np.nan), np.full((n_cells, n_groups), np.nan)
    members = [np.unique(query[slice_of[query] == group]) for group in range(n_groups - 1)]
    step = max(1, _CELLS_AT_ONCE // max(1, n_kept))
    sums = [np.empty((n_samples, n_kept)) for _ in members]
    for group, own in enumerate(members):
        if not len(own):
            continue
        place = {int(q): number for number, q in enumerate(own)}
        rows = np.flatnonzero(slice_of[query] == group)
        column = np.array([place[int(q)] for q in query[rows]])
        for first in range(0, n_samples, step):
            size = min(step, n_samples - first)
            drawn = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), size=size)
            steps = np.zeros((size, n_kept))
            weighted = drawn[:, column] * change[rows]
            for sample in range(size):
                steps[sample] = np.bincount(cell[rows], weights=weighted[sample], minlength=n_kept)
            sums[group][first : first + size] = np.cumsum(steps, axis=1)
        low[skipped:, group], high[skipped:, group] = _percentiles(sums[group] / len(own), level)
    total = sum(len(own) for own in members)
    if total:
        together = sum(part for part, own in zip(sums, members, strict=True) if len(own))
        low[skipped:, -1], high[skipped:, -1] = _percentiles(together / total, level)
    return Band(low, high, level)


def _percentiles(samples: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    tail = (1 - level) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    return low, high
