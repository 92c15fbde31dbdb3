"""From positions to figures: the mean of each metric per slice and overall.

A figure is the correctly rounded sum of its queries' values, divided by their number. The sum is
taken in integers, so neither the order of queries nor batches, threads or compiled code can change
its last bit: it equals ``math.fsum(values) / len(values)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.golden import OVERALL
from sweeper.metrics import Feature, Metric
from sweeper.pools import FloatArray
from sweeper.runs import Judgments, Positions

__all__ = ["Evaluator", "Figures", "evaluate", "exact_sums"]


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

    Every feature value of every class of queries is one *bin*; a trial is a row of bin counts, and
    each metric is one value per bin. ``counts_by_feature`` may come from compiled code.

    Parameters
    ----------
    judgments
        The golden set as arrays.
    metrics
        What to compute.
    highest_position
        No position is higher; the largest limit of the trials will do.
    """

    def __init__(
        self, judgments: Judgments, metrics: Sequence[Metric], highest_position: int
    ) -> None:
        self.judgments = judgments
        self.metrics = tuple(metrics)
        self.groups = (*judgments.slices, OVERALL)
        found = dict.fromkeys(m.feature for m in self.metrics if m.feature is not None)
        self.features: tuple[Feature, ...] = tuple(found)
        self._bins = {f: _Bins(f, judgments, highest_position) for f in self.features}

    def offsets(self, feature: Feature) -> NDArray[np.intp]:
        """Return the first bin of each answerable query, shape (n_answerable,)."""
        return self._bins[feature].offset

    def n_bins(self, feature: Feature) -> int:
        return len(self._bins[feature].group)

    @property
    def needs_positions(self) -> bool:
        """Whether a metric needs more than feature counts."""
        return any(metric.feature is None for metric in self.metrics)

    def count(self, positions: Positions) -> dict[Feature, NDArray[np.integer]]:
        """Return the bin counts of each feature, shape (n_trials, n_bins)."""
        if not self.features or not len(self.judgments.answerable):
            return {f: np.zeros((len(positions), self.n_bins(f)), np.intp) for f in self.features}
        first = positions.first()
        counts: dict[Feature, NDArray[np.integer]] = {}
        for feature in self.features:
            width = self.n_bins(feature)
            bins = feature.extract(first, self.judgments) + self.offsets(feature)
            bins += (np.arange(len(positions)) * width)[:, None]
            flat = np.bincount(bins.ravel(), minlength=width * len(positions))
            counts[feature] = flat.reshape(len(positions), width)
        return counts

    def figures(
        self,
        positions: Positions | None,
        counts: Mapping[Feature, NDArray[np.integer]] | None = None,
    ) -> Figures:
        """Return the figures from positions, from feature counts, or from both.

        ``positions`` may be ``None`` when ``counts`` is given and no metric needs positions.
        """
        if counts is None:
            assert positions is not None
            counts = self.count(positions)
        n_trials = len(positions) if positions is not None else len(next(iter(counts.values())))
        shape = (n_trials, len(self.groups), len(self.metrics))
        value = np.full(shape, np.nan)
        n_queries = np.zeros(shape[1:], np.intp)
        for place, metric in enumerate(self.metrics):
            defined = metric.queries(self.judgments)
            member = self._membership(self.judgments.slice_of[defined])
            n_queries[:, place] = member.sum(axis=0)
            if metric.feature is not None:
                bins = self._bins[metric.feature]
                weights = counts[metric.feature].astype(np.float64)
                sums = exact_sums(bins.values(metric), self._membership(bins.group), weights)
            else:
                assert positions is not None
                sums = exact_sums(metric.values(positions), member)
            with np.errstate(invalid="ignore", divide="ignore"):
                value[:, :, place] = sums / n_queries[:, place]
        return Figures(self.groups, self.metrics, value, n_queries)

    def _membership(self, slice_of: NDArray[np.intp]) -> FloatArray:
        """Return which group each query (or bin) belongs to, shape (n, n_groups); 0 or 1."""
        member = np.zeros((len(slice_of), len(self.groups)))
        member[np.arange(len(slice_of)), slice_of] = 1.0
        member[:, -1] = 1.0
        return member


class _Bins:
    """Layout of one feature's histogram: queries with the same value table share bins."""

    def __init__(self, feature: Feature, judgments: Judgments, highest_position: int) -> None:
        queries = judgments.answerable
        slice_of = judgments.slice_of[queries]
        n_keys = judgments.n_keys[queries]
        if feature.kind == "first":
            n_keys = np.zeros_like(n_keys)  # the number of keys does not matter
        classes, member = np.unique(np.stack([slice_of, n_keys]), axis=1, return_inverse=True)
        widths = classes[1] + 1 if feature.kind == "found" else classes[1] + highest_position + 1
        start = np.cumsum(widths) - widths
        self.offset: NDArray[np.intp] = start[member.ravel()]
        self.group: NDArray[np.intp] = np.repeat(classes[0], widths)
        self._n_keys = np.repeat(classes[1], widths)
        self._feature = np.arange(int(widths.sum())) - np.repeat(start, widths)

    def values(self, metric: Metric) -> FloatArray:
        """Return a metric's value in each bin, shape (n_bins,)."""
        pairs = zip(self._feature.tolist(), self._n_keys.tolist(), strict=True)
        return np.array([metric.of_feature(f, n) for f, n in pairs], np.float64)


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

    whole = np.floor(values)
    if bool((whole == values).all()):
        return total(values)
    limbs = []
    rest = values
    for _ in range(3):
        rest = rest * _LIMB
        limb = np.floor(rest)
        rest = rest - limb
        limbs.append(total(limb).astype(np.int64))
    high, middle, low = limbs
    middle += low >> _LIMB_BITS
    high += middle >> _LIMB_BITS
    mask = (1 << _LIMB_BITS) - 1
    tail = ((middle & mask) << _LIMB_BITS) | (low & mask)
    return high.astype(np.float64) * 2.0**-25 + tail.astype(np.float64) * 2.0**-75
