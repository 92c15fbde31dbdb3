"""Each question's value of every metric under every trial: what picks and tallies are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.constraints import Objective, split_address
from sweeper.evaluate import exact_sums
from sweeper.golden import OVERALL
from sweeper.metrics import Metric, parse_metric
from sweeper.pools import FloatArray
from sweeper.replay import Replay
from sweeper.settings import Settings

__all__ = ["Scores", "scores_of"]

_TRIALS_AT_ONCE = 512
"""Trials whose values are added up together: their limbs then stay small beside the scores."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Per-question values of every trial.

    Attributes
    ----------
    values
        Metric name to values of shape (n_trials, n_queries); NaN where undefined, and throughout
        for a trial that failed.
    slices, slice_of
        Slice names, and each question's slice.
    """

    values: dict[str, FloatArray]
    slices: tuple[str, ...]
    slice_of: NDArray[np.intp]

    @property
    def n_trials(self) -> int:
        return len(next(iter(self.values.values())))

    def queries(self, address: str) -> NDArray[np.intp]:
        """Return the questions that a figure is the mean of."""
        group, metric = split_address(address)
        table = self.values[str(metric)]
        undefined = np.isnan(table[0])
        undefined[undefined] = np.isnan(table[:, undefined]).all(axis=0)
        if group == OVERALL:
            return np.flatnonzero(~undefined)
        return np.flatnonzero((self.slice_of == self.slices.index(group)) & ~undefined)

    def rows(self, address: str) -> tuple[FloatArray, NDArray[np.intp]]:
        """Return a figure's values, shape (n_trials, n), and the questions that they belong to."""
        queries = self.queries(address)
        return self._table(address)[:, queries], queries

    def figure(self, address: str) -> FloatArray:
        """Return a figure of every trial, shape (n_trials,); NaN if it has no questions."""
        return self.figures(address, np.ones((len(self.slice_of), 1), bool))[:, 0]

    def figures(self, address: str, member: NDArray[np.bool_]) -> FloatArray:
        """Return a figure of every trial as it is over several sets of questions.

        Parameters
        ----------
        address
            The figure.
        member : shape (n_queries, n_sets)
            Which questions each set consists of.

        Returns
        -------
        shape (n_trials, n_sets)
            NaN where a set has no question of the figure, and for a trial that failed.
        """
        table, queries = self._table(address), self.queries(address)
        own = member[queries].astype(np.float64)
        sums = np.empty((len(table), member.shape[1]))
        for start in range(0, len(table), _TRIALS_AT_ONCE):
            block = slice(start, start + _TRIALS_AT_ONCE)
            rows = table[block, queries]
            failed = np.isnan(rows).any(axis=1, keepdims=True)
            sums[block] = np.where(failed, np.nan, exact_sums(np.where(failed, 0.0, rows), own))
        with np.errstate(invalid="ignore"):
            means: FloatArray = sums / own.sum(axis=0)
        return means

    def gain(self, objective: Objective, current: int) -> FloatArray:
        """Return how much better than today each question fares, shape (n_trials, n).

        Of a trial that failed nothing is known, so none fares better or worse.
        """
        rows, _ = self.rows(objective.address)
        sign = 1.0 if objective.direction == "maximize" else -1.0
        gain: FloatArray = sign * (rows - rows[current])
        gain[np.isnan(gain)] = 0.0
        return gain

    def moved(self, current: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which questions some metric says are better, and worse, than today.

        Returns
        -------
        two of shape (n_trials, n_queries)
            Metrics of which less is better are not asked.
        """
        tables = [v for name, v in self.values.items() if parse_metric(name).larger_is_better]
        shape = (self.n_trials, len(self.slice_of))
        rises, falls = np.zeros(shape, bool), np.zeros(shape, bool)
        for table in tables:
            rises |= table > table[current]
            falls |= table < table[current]
        return rises, falls

    def without(self, trials: NDArray[np.bool_]) -> Scores:
        """Return the scores with those of some trials blanked, shape (n_trials,)."""
        return Scores(
            {name: np.where(trials[:, None], np.nan, table) for name, table in self.values.items()},
            self.slices,
            self.slice_of,
        )

    def _table(self, address: str) -> FloatArray:
        return self.values[str(split_address(address)[1])]


def scores_of(replay: Replay, settings: Sequence[Settings], metrics: Sequence[Metric]) -> Scores:
    """Replay settings and keep each question's value of every metric."""
    judgments = replay.judgments
    shape = (len(settings), judgments.n_queries)
    values = {str(metric): np.full(shape, np.nan) for metric in metrics}
    for origin in dict.fromkeys(item.origin for item in settings):
        members = [n for n, item in enumerate(settings) if item.origin == origin]
        positions = replay.positions([settings[n] for n in members])
        for metric in metrics:
            place = np.ix_(np.array(members), metric.queries(judgments))
            values[str(metric)][place] = metric.values(positions)
    return Scores(values, judgments.slices, judgments.slice_of)
