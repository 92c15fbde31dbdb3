"""Reference against challenger, per slice and metric and question by question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sweeper.golden import OVERALL
from sweeper.intervals import Interval95, mean_interval
from sweeper.metrics import Metric
from sweeper.paired import PairedTest, questions_to_resolve, sign_flip_test
from sweeper.pools import FloatArray
from sweeper.runs import Positions

__all__ = [
    "MIXED",
    "RESOLVED",
    "Difference",
    "Tally",
    "compare_values",
    "holm",
    "outcomes",
    "tally",
    "tally_values",
]

Finding = Literal["better", "worse", "same", "unclear", "unresolvable", "untested"]

_LEVEL = 0.05
RESOLVED = 0.02
"""Difference for which the number of questions needed is given."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One slice and metric of a comparison.

    Attributes
    ----------
    baseline, challenger
        Means over the questions that both have.
    interval
        95%, of the mean difference.
    p_value
        Two-sided sign-flip test, corrected over the comparison by Holm's rule; ``None`` where there
        are figures alone.
    finding
        ``better`` and ``worse`` need p <= 0.05. ``same``: no question differs. ``unresolvable``: so
        few differ that no outcome could be significant. ``unclear``: the rest. ``untested``: there
        are figures alone.
    n_queries, n_differ
    needed
        About how many questions would resolve a difference of 0.02; ``None`` if nothing is known
        of the spread.
    """

    slice: str
    metric: str
    baseline: float
    challenger: float
    interval: Interval95 | None
    p_value: float | None
    finding: Finding
    n_queries: int
    n_differ: int
    needed: int | None

    @property
    def difference(self) -> float:
        return self.challenger - self.baseline


def compare_values(
    baseline: Mapping[str, FloatArray],
    challenger: Mapping[str, FloatArray],
    slices: Sequence[str],
    slice_of: NDArray[np.intp],
    *,
    seed: int,
) -> tuple[Difference, ...]:
    """Compare two sides over the same questions, per slice and overall.

    Parameters
    ----------
    baseline, challenger
        Metric name to values of shape (n_queries,); NaN where undefined.
    slices
        Names.
    slice_of : shape (n_queries,)
        Index into ``slices``.
    seed
        Of tests and intervals.

    References
    ----------
    Smucker, Allan, Carterette, CIKM 2007 (paired tests for retrieval). Holm, Scandinavian Journal
    of Statistics 6(2), 1979.
    """
    found: list[Difference] = []
    raw: list[float] = []
    for group in (*slices, OVERALL):
        member = np.ones(len(slice_of), bool)
        if group != OVERALL:
            member = slice_of == list(slices).index(group)
        for metric, before in baseline.items():
            after = challenger[metric]
            chosen = np.flatnonzero(member & ~np.isnan(before) & ~np.isnan(after))
            if len(chosen):
                own = slice_of[chosen]
                strata = [
                    after[chosen[own == s]] - before[chosen[own == s]] for s in np.unique(own)
                ]
                test = sign_flip_test(after[chosen] - before[chosen], seed=seed)
                raw.append(test.p_value)
                found.append(
                    _difference(group, metric, before[chosen], after[chosen], strata, test, seed)
                )
    corrected = holm(raw)
    return tuple(_concluded(item, p) for item, p in zip(found, corrected, strict=True))


def _difference(
    group: str,
    metric: str,
    before: FloatArray,
    after: FloatArray,
    strata: Sequence[FloatArray],
    test: PairedTest,
    seed: int,
) -> Difference:
    finding: Finding = "same"
    if test.n_differ:
        finding = "unclear" if test.resolvable else "unresolvable"
    return Difference(
        slice=group,
        metric=metric,
        baseline=math.fsum(before) / len(before),
        challenger=math.fsum(after) / len(after),
        interval=mean_interval(strata, seed=seed, bounds=(-1.0, 1.0)),
        p_value=test.p_value,
        finding=finding,
        n_queries=test.n_queries,
        n_differ=test.n_differ,
        needed=questions_to_resolve(after - before, RESOLVED),
    )


def _concluded(item: Difference, p_value: float) -> Difference:
    finding = item.finding
    if finding == "unclear" and p_value <= _LEVEL:
        finding = "better" if item.difference > 0 else "worse"
    return replace(item, p_value=p_value, finding=finding)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number, step-down.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda n: p_values[n])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for place, number in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[number]))
        adjusted[number] = highest
    return adjusted


@dataclass(frozen=True, slots=True)
class Tally:
    """How many questions a challenger answers better, worse, equally, or both ways.

    A question is *better* when at least one metric rises and none falls, *worse* the other way
    round, *mixed* when some rise and some fall.
    """

    better: int
    worse: int
    equal: int
    mixed: int


def tally(positions: Positions, metrics: Sequence[Metric], reference: int) -> list[Tally]:
    """Compare every trial with one of them, from positions; see ``tally_values``."""
    values = {}
    for metric in metrics:
        table = np.full((len(positions), positions.judgments.n_queries), np.nan)
        table[:, metric.queries(positions.judgments)] = metric.values(positions)
        values[str(metric)] = table
    return tally_values(values, metrics, reference)


def tally_values(
    values: Mapping[str, FloatArray], metrics: Sequence[Metric], reference: int
) -> list[Tally]:
    """Compare every trial with one of them.

    Parameters
    ----------
    values : each of shape (n_trials, n_queries)
        By metric; NaN where it is undefined.
    metrics
        What counts as better; those of which more is not better are left out.
    reference
        Index of the trial to compare with.
    """
    rises, falls = _moves(values, metrics, reference)
    return [
        Tally(
            better=int((up & ~down).sum()),
            worse=int((down & ~up).sum()),
            equal=int((~up & ~down).sum()),
            mixed=int((up & down).sum()),
        )
        for up, down in zip(rises, falls, strict=True)
    ]


MIXED = 2


def outcomes(
    values: Mapping[str, FloatArray], metrics: Sequence[Metric], reference: int
) -> NDArray[np.int8]:
    """Return how each question fares against one trial: 1 better, -1 worse, 0 equal, ``MIXED``.

    Parameters are those of ``tally_values``, which counts them; shape (n_trials, n_queries).
    """
    rises, falls = _moves(values, metrics, reference)
    return np.where(rises & falls, MIXED, rises.astype(np.int8) - falls).astype(np.int8)


def _moves(
    values: Mapping[str, FloatArray], metrics: Sequence[Metric], reference: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return where some metric rises and where some falls, each of shape (n_trials, n_queries)."""
    shape = next(iter(values.values())).shape
    rises, falls = np.zeros(shape, bool), np.zeros(shape, bool)
    for metric in metrics:
        if metric.larger_is_better:
            table = values[str(metric)]
            rises |= table > table[reference]
            falls |= table < table[reference]
    return rises, falls
