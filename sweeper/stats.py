"""Statistics of figures: how far a figure could be off, being the mean of few questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.pools import FloatArray
from sweeper.staircase import Curve

__all__ = ["Band", "bootstrap_curve"]

_VALUES_AT_ONCE = 1 << 22


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
    steps = _steps_of(curve, metric)
    low = np.full((n_cells, n_groups), np.nan)
    high = low.copy()
    slices = [_Resampled.draw(steps, slice_of, g, n_samples, rng) for g in range(n_groups - 1)]
    n_total = sum(part.n_queries for part in slices)
    width = max(1, _VALUES_AT_ONCE // n_samples)
    for first in range(steps.first_cell, n_cells, width):
        cells = slice(first, min(first + width, n_cells))
        together = np.zeros((n_samples, cells.stop - first))
        for group, part in enumerate(slices):
            if part.n_queries:
                sums = part.advance(first, cells.stop)
                together += sums
                low[cells, group], high[cells, group] = _percentiles(sums / part.n_queries, level)
        if n_total:
            low[cells, -1], high[cells, -1] = _percentiles(together / n_total, level)
    return Band(low, high, level)


@dataclass(frozen=True, slots=True, eq=False)
class _CellSteps:
    """Changes of single questions' values, by the cell in which they take effect."""

    first_cell: int
    query: NDArray[np.intp]
    cell: NDArray[np.intp]
    change: FloatArray


def _steps_of(curve: Curve, metric: int) -> _CellSteps:
    # The pieces begin beyond the half-lives at which scores underflow.
    above = -np.inf if curve.underflow is None else curve.underflow[1]
    first_cell = int((curve.edges <= above).sum())
    defined = ~np.isnan(curve.pieces.values[:, metric])
    values, query = curve.pieces.values[defined, metric], curve.pieces.query[defined]
    change = values.copy()
    same = query[1:] == query[:-1]
    change[1:][same] -= values[:-1][same]
    cell = np.searchsorted(curve.edges, curve.pieces.start[defined], side="left") + 1
    cell = np.where(np.isneginf(curve.pieces.start[defined]), first_cell, cell)
    order = np.argsort(cell, kind="stable")
    return _CellSteps(first_cell, query[order], cell[order], change[order])


class _Resampled:
    """The sums of one slice's questions in every sample, cell after cell."""

    def __init__(self, steps: _CellSteps, counts: NDArray[np.int64], own: NDArray[np.intp]) -> None:
        mine = np.flatnonzero(np.isin(steps.query, own))
        self.n_queries = len(own)
        self._counts = counts
        self._cell = steps.cell[mine]
        self._change = steps.change[mine]
        self._column = np.searchsorted(own, steps.query[mine])
        self._sum = np.zeros(len(counts))

    @classmethod
    def draw(
        cls,
        steps: _CellSteps,
        slice_of: NDArray[np.intp],
        group: int,
        n_samples: int,
        rng: np.random.Generator,
    ) -> _Resampled:
        """Draw how often each question of a slice stands in each sample."""
        own = np.unique(steps.query[slice_of[steps.query] == group])
        if not len(own):
            return cls(steps, np.zeros((n_samples, 0), np.int64), own)
        counts = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), size=n_samples)
        return cls(steps, counts, own)

    def advance(self, first: int, stop: int) -> FloatArray:
        """Return the sums in the cells from ``first`` to ``stop``, shape (n_samples, n)."""
        begin, end = np.searchsorted(self._cell, [first, stop])
        part = slice(int(begin), int(end))
        moved = np.zeros((len(self._counts), stop - first))
        weighted = self._counts[:, self._column[part]] * self._change[part]
        cell = self._cell[part] - first
        if len(cell):
            starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
            moved[:, cell[starts]] = np.add.reduceat(weighted, starts, axis=1)
        sums: FloatArray = self._sum[:, None] + np.cumsum(moved, axis=1)
        self._sum = sums[:, -1]
        return sums


def _percentiles(samples: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    tail = (1 - level) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    return low, high
