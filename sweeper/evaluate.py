"""From positions to figures: the mean of each metric per slice and overall.

A figure is the correctly rounded sum of its queries' values, divided by their number. The sum is
taken in integers, so neither the order of queries nor batches, threads or compiled code can change
its last bit: it equals ``math.fsum(values) / len(values)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.golden import OVERALL
from sweeper.metrics import Feature, Metric
from sweeper.pools import FloatArray
from sweeper.runs import Judgments, Positions

__all__ = ["Evaluator", "Figures", "evaluate", "exact_sums", "join_limbs", "split_limbs"]


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Means per trial, group and metric.

    Attributes
    ----------
    groups
        Slice names in the order of the golden set, then ``overall``.
    metrics
    value : shape (n_trials, n_groups, n_metrics)
        NaN where a metric is defined on no query of the group.
    n_queries : shape (n_groups, n_metrics)
        Queries that a figure is the mean of.
    """

    groups: tuple[str, ...]
    metrics: tuple[Metric, ...]
    value: FloatArray
    n_queries: NDArray[np.intp]

    def __len__(self) -> int:
        """Return the number of trials."""
        return len(self.value)

    def get(self, address: str, trial: int = 0) -> float:
        """Return one figure by its address, ``slice.metric``, split at the last dot.

        Raises
        ------
        KeyError
            If there is no such slice or metric.
        """
        group, metric = self.place(address)
        return float(self.value[trial, group, metric])

    def place(self, address: str) -> tuple[int, int]:
        """Return the indices of a figure's group and metric."""
        name, _, metric = address.rpartition(".")
        texts = [str(item) for item in self.metrics]
        if name not in self.groups or metric not in texts:
            raise KeyError(address)
        return self.groups.index(name), texts.index(metric)


def evaluate(positions: Positions, metrics: Sequence[Metric]) -> Figures:
    """Return the figures of several trials.

    Parameters
    ----------
    positions
        Where relevant rows stand.
    metrics
        At least one.
    """
    highest = int(positions.position.max(initial=0))
    return Evaluator(positions.judgments, metrics, highest).figures(positions)


class Evaluator:
    """Prepared evaluation of one golden set under fixed metrics.

    Metrics that read a feature are computed from a histogram: every feature value of every class of
    queries is one *bin*, a trial is a row of bin counts, and a metric is one value per bin. A query
    with one expected key is decided by its first position alone, so only the others have their
    found keys counted.

    Parameters
    ----------
    judgments
        The golden set as arrays.
    metrics
        What to compute.
    highest_position
        No position is higher; the largest limit of the trials will do.

    Attributes
    ----------
    features
        What is counted; the first position comes first.
    offset : shape (n_features, n_queries)
        First bin of each query, to which the feature's value is added; -1 where it is not counted.
    n_bins
        Bins of all features together.
    n_queries : shape (n_groups, n_metrics)
        Queries that a figure is the mean of.
    """

    def __init__(
        self, judgments: Judgments, metrics: Sequence[Metric], highest_position: int
    ) -> None:
        self.judgments = judgments
        self.metrics = tuple(metrics)
        self.groups = (*judgments.slices, OVERALL)
        wanted = dict.fromkeys(m.feature for m in self.metrics if m.feature is not None)
        found = [feature for feature in wanted if feature.kind == "found"]
        self.features = (_FIRST, *found)
        self.offset = np.full((len(self.features), judgments.n_queries), -1, np.intp)
        bins: list[tuple[int, int, int, int]] = []
        for number in range(len(self.features)):
            bins += self._lay_out(number, highest_position, len(bins))
        self.n_bins = len(bins)
        columns = np.array(bins, np.intp).reshape(-1, 4).T
        self._bin_feature, self._bin_slice, self._bin_keys, self._bin_value = columns
        self.n_queries = np.stack(
            [
                self._membership(judgments.slice_of[metric.queries(judgments)]).sum(axis=0)
                for metric in self.metrics
            ],
            axis=1,
        ).astype(np.intp)

    def _lay_out(
        self, number: int, highest_position: int, start: int
    ) -> list[tuple[int, int, int, int]]:
        """Place one feature's bins; queries with the same values share them.

        Returns feature, slice, expected keys (0 stands for several) and value of each bin.
        """
        n_keys = self.judgments.n_keys
        if number == 0:
            counted = n_keys > 0
            kind = np.where(n_keys == 1, 1, 0)
        else:
            counted = n_keys > 1
            kind = n_keys
        bins: list[tuple[int, int, int, int]] = []
        first_bin: dict[tuple[int, int], int] = {}
        for query in np.flatnonzero(counted).tolist():
            place = int(self.judgments.slice_of[query]), int(kind[query])
            if place not in first_bin:
                first_bin[place] = start + len(bins)
                highest = highest_position if number == 0 else place[1]
                bins += [(number, *place, value) for value in range(highest + 1)]
            self.offset[number, query] = first_bin[place]
        return bins

    @property
    def needs_positions(self) -> bool:
        """Whether a metric needs more than feature counts."""
        return any(metric.feature is None for metric in self.metrics)

    def count(self, positions: Positions) -> NDArray[np.integer]:
        """Return the bin counts, shape (n_trials, n_bins)."""
        n_trials = len(positions)
        counts = np.zeros(n_trials * self.n_bins, np.intp)
        if self.n_bins:
            first = positions.first()
            row = (np.arange(n_trials) * self.n_bins)[:, None]
            for number, feature in enumerate(self.features):
                queries = np.flatnonzero(self.offset[number] >= 0)
                value = feature.extract(first, self.judgments, queries)
                bins = value + (row + self.offset[number, queries])
                counts += np.bincount(bins.ravel(), minlength=len(counts))
        return counts.reshape(n_trials, self.n_bins)

    def figures(
        self, positions: Positions | None, counts: NDArray[np.integer] | None = None
    ) -> Figures:
        """Return the figures from positions, from bin counts, or from both.

        ``positions`` may be ``None`` when ``counts`` is given and no metric needs positions.
        """
        if counts is None:
            assert positions is not None
            counts = self.count(positions)
        value = np.full((len(counts), len(self.groups), len(self.metrics)), np.nan)
        for place, metric in enumerate(self.metrics):
            if metric.feature is not None:
                read, values = self._bin_values(metric)
                member = self._membership(self._bin_slice[read])
                sums = exact_sums(values, member, counts[:, read].astype(np.float64))
            else:
                assert positions is not None
                defined = metric.queries(self.judgments)
                member = self._membership(self.judgments.slice_of[defined])
                sums = exact_sums(metric.values(positions), member)
            with np.errstate(invalid="ignore", divide="ignore"):
                value[:, :, place] = sums / self.n_queries[:, place]
        return Figures(self.groups, self.metrics, value, self.n_queries)

    def _bin_values(self, metric: Metric) -> tuple[NDArray[np.intp], FloatArray]:
        """Return the bins that a metric reads and its value in each."""
        feature = metric.feature
        assert feature is not None
        own = self._bin_feature == self.features.index(feature)
        if feature.kind == "first":
            read = np.flatnonzero(own)
        else:
            read = np.flatnonzero(own | ((self._bin_feature == 0) & (self._bin_keys == 1)))
        values = []
        for bin_ in read.tolist():
            value, n_keys = int(self._bin_value[bin_]), int(self._bin_keys[bin_])
            if feature.kind == "found" and not own[bin_]:
                value = int(0 < value <= feature.cutoff)
            values.append(metric.of_feature(value, n_keys))
        return read, np.array(values, np.float64)

    def _membership(self, slice_of: NDArray[np.intp]) -> FloatArray:
        """Return which group each query (or bin) belongs to, shape (n, n_groups); 0 or 1."""
        member = np.zeros((len(slice_of), len(self.groups)))
        member[np.arange(len(slice_of)), slice_of] = 1.0
        member[:, -1] = 1.0
        return member


_FIRST = Feature("first")
_LIMB_BITS = 25
_LIMB = 2.0**_LIMB_BITS


def exact_sums(
    values: FloatArray, member: FloatArray, counts: FloatArray | None = None
) -> FloatArray:
    """Add values up per group so that the result is the correctly rounded exact sum.

    Each value is split into integers ("limbs") of 25 bits; integers below 2**53 add exactly in any
    order, also inside a matrix product; only the last addition rounds.

    Parameters
    ----------
    values : shape (n_trials, n) or, with ``counts``, shape (n,)
        Either all integers, or numbers from 0 to 8 (bits below 2**-75 are dropped).
    member : shape (n, n_groups)
        1 where a value belongs to a group, else 0.
    counts : shape (n_trials, n), optional
        How often each value occurs in each trial; below 2**28.

    Returns
    -------
    shape (n_trials, n_groups)

    References
    ----------
    Demmel, Nguyen, ARITH 2013 (reproducible summation by binned integers).
    """

    def total(limb: FloatArray) -> FloatArray:
        result: FloatArray = limb @ member if counts is None else counts @ (limb[:, None] * member)
        return result

    if bool((np.floor(values) == values).all()):
        return total(values)
    return join_limbs(*(total(limb).astype(np.int64) for limb in split_limbs(values)))


def split_limbs(values: FloatArray) -> Iterator[FloatArray]:
    """Yield the three limbs of each value: integers in units of 2**-25, 2**-50 and 2**-75."""
    rest = values
    for _ in range(3):
        rest = rest * _LIMB
        limb = np.floor(rest)
        rest = rest - limb
        yield limb


def join_limbs(
    high: NDArray[np.int64], middle: NDArray[np.int64], low: NDArray[np.int64]
) -> FloatArray:
    """Return the correctly rounded numbers that sums of limbs stand for."""
    middle = middle + (low >> _LIMB_BITS)
    high = high + (middle >> _LIMB_BITS)
    mask = (1 << _LIMB_BITS) - 1
    tail = ((middle & mask) << _LIMB_BITS) | (low & mask)
    return high.astype(np.float64) * 2.0**-25 + tail.astype(np.float64) * 2.0**-75
