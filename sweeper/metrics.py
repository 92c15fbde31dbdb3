"""Metrics: one class each, a registry, and the parsing of names such as ``ndcg@10``.

A metric reads positions, never scores (``docs/semantics.md``). Most metrics depend on one small
integer per query, a *feature* (the first relevant position, or how many expected keys stand within
a cutoff): they are counted in histograms, which makes them cheap and exact. The others give one
value per query and trial.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sweeper.errors import did_you_mean
from sweeper.pools import FloatArray
from sweeper.runs import Judgments, Positions, lowest

__all__ = [
    "METRICS",
    "NDCG",
    "Abstention",
    "AveragePrecision",
    "CitationPrecision",
    "ClassAccuracy",
    "Feature",
    "Hit",
    "Metric",
    "Precision",
    "Recall",
    "ReciprocalRank",
    "Returned",
    "parse_metric",
    "parse_metrics",
]


@dataclass(frozen=True, slots=True)
class Feature:
    """A small integer per answerable query that decides a metric's value.

    ``first`` is the first position of any expected key (0 is absent); ``found`` counts expected
    keys within the first ``cutoff`` positions.
    """

    kind: Literal["first", "found"]
    cutoff: int = 0

    def extract(
        self, first: NDArray[np.integer], judgments: Judgments, queries: NDArray[np.intp]
    ) -> NDArray[np.integer]:
        """Return the feature of some answerable queries, shape (n_trials, len(queries)).

        Parameters
        ----------
        first : shape (n_trials, n_keys_total)
            First position of each expected key.
        judgments
            The golden set as arrays.
        queries : shape (n,)
            Ascending indices of answerable queries.
        """
        n_keys = judgments.n_keys[queries]
        columns = judgments.key_columns(queries)
        if len(columns) < first.shape[1]:
            first = first[:, columns]
        start = np.cumsum(n_keys) - n_keys
        if self.kind == "first":
            return lowest(first, start)
        within = ((first > 0) & (first <= self.cutoff)).view(np.uint8)
        if len(start) == within.shape[1]:
            return within
        return np.add.reduceat(within, start, axis=1, dtype=np.uint16)


class Metric:
    """Base of all metrics.

    Its text, such as ``recall@10``, is its identity: ``parse_metric(str(metric)) == metric``.
    """

    name: ClassVar[str]
    takes_cutoff: ClassVar[bool] = True
    defined_on: ClassVar[Literal["answerable", "unanswerable", "labelled", "all"]] = "answerable"
    larger_is_better: ClassVar[bool] = True
    source: ClassVar[str] = ""

    def __init__(self, cutoff: int | None = None) -> None:
        if (cutoff is not None) != self.takes_cutoff:
            need = "needs" if self.takes_cutoff else "takes no"
            raise ValueError(f"{self.name} {need} cutoff")
        if cutoff is not None and cutoff < 1:
            raise ValueError(f"{self.name}: a cutoff is at least 1, got {cutoff}")
        self.cutoff = cutoff

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    def __repr__(self) -> str:
        return f"parse_metric({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def k(self) -> int:
        """The cutoff of a metric that has one."""
        assert self.cutoff is not None
        return self.cutoff

    def queries(self, judgments: Judgments) -> NDArray[np.intp]:
        """Return the indices of the queries on which the metric is defined."""
        if self.defined_on == "all":
            return np.arange(judgments.n_queries)
        if self.defined_on == "answerable":
            return judgments.answerable
        return judgments.labelled if self.defined_on == "labelled" else judgments.unanswerable

    @property
    def feature(self) -> Feature | None:
        """The integer that decides the value, if one does."""
        return None

    def of_feature(self, feature: int, n_keys: int) -> float:
        """Return the value for one value of the feature; only where ``feature`` is set."""
        raise NotImplementedError

    def values(self, positions: Positions) -> FloatArray:
        """Return one value per trial and defined query, shape (n_trials, n_defined)."""
        feature = self.feature
        assert feature is not None, f"{self.name} must override values() or feature"
        judgments = positions.judgments
        n_keys = judgments.n_keys[judgments.answerable]
        found = feature.extract(positions.first(), judgments, judgments.answerable)
        highest = int(found.max(initial=0))
        table = np.array(
            [
                [self.of_feature(v, int(n)) for v in range(highest + 1)]
                for n in range(1, int(n_keys.max(initial=0)) + 1)
            ]
        ).reshape(-1, highest + 1)
        chosen: FloatArray = table[n_keys - 1, found]
        return chosen


class Recall(Metric):
    """Distinct expected keys within the first k positions / distinct expected keys."""

    name = "recall"

    @property
    def feature(self) -> Feature:
        return Feature("found", self.k)

    def of_feature(self, feature: int, n_keys: int) -> float:
        return feature / n_keys


class Hit(Metric):
    """1 if any expected key is within the first k positions."""

    name = "hit"

    @property
    def feature(self) -> Feature:
        return Feature("first")

    def of_feature(self, feature: int, n_keys: int) -> float:
        return 1.0 if 0 < feature <= self.k else 0.0


class ReciprocalRank(Metric):
    """1 / position of the first expected key, 0 when absent."""

    name = "mrr"
    takes_cutoff = False
    source = "Voorhees, TREC-8 Question Answering Track, 1999"

    @property
    def feature(self) -> Feature:
        return Feature("first")

    def of_feature(self, feature: int, n_keys: int) -> float:
        return 1.0 / feature if feature else 0.0


class Precision(Metric):
    """Relevant positions within the first k / k. Each chunk of a relevant document counts."""

    name = "precision"

    def values(self, positions: Positions) -> FloatArray:
        share: FloatArray = _relevant_rows(positions, self.k) / float(self.k)
        return share


class CitationPrecision(Metric):
    """Relevant positions / returned positions over the whole list; 0 when nothing returned."""

    name = "citation_precision"
    takes_cutoff = False

    def values(self, positions: Positions) -> FloatArray:
        returned = positions.returned[:, positions.judgments.answerable]
        relevant = _relevant_rows(positions, None)
        share: FloatArray = relevant / np.maximum(returned, 1)
        return share


class NDCG(Metric):
    """Discounted gain of each expected key at its first position, over the ideal order's.

    Gain is the grade, the discount is ``log2(position + 1)``.
    """

    name = "ndcg"
    source = "Järvelin, Kekäläinen, TOIS 20(4), 2002"

    def values(self, positions: Positions) -> FloatArray:
        judgments = positions.judgments
        first = positions.first()
        discount = np.zeros(self.k + 1)
        discount[1:] = [1.0 / math.log2(place + 1) for place in range(1, self.k + 1)]
        gained = discount[np.where(first <= self.k, first, 0)] * judgments.gain
        return _sum_over_keys(gained, judgments) / self._ideal(judgments, discount)

    def _ideal(self, judgments: Judgments, discount: FloatArray) -> FloatArray:
        ideal = []
        for start, query in zip(judgments.key_start, judgments.answerable, strict=True):
            gains = sorted(judgments.gain[start : start + judgments.n_keys[query]], reverse=True)
            total = 0.0
            for place, gain in enumerate(gains[: self.k], start=1):
                total += float(gain) * float(discount[place])
            ideal.append(total)
        return np.array(ideal)


class AveragePrecision(Metric):
    """Mean over expected keys of (keys found up to its first position / that position)."""

    name = "ap"
    takes_cutoff = False
    source = "Buckley, Voorhees, SIGIR 2000"

    def values(self, positions: Positions) -> FloatArray:
        judgments = positions.judgments
        first = positions.first()
        precision = np.zeros(first.shape)
        for start, query in zip(judgments.key_start, judgments.answerable, strict=True):
            stop = start + judgments.n_keys[query]
            own = np.ascontiguousarray(first[:, start:stop])
            # How many keys stand at or before each key; absent ones (0) come first when sorted.
            order = np.argsort(own, axis=1, kind="stable")
            absent = (own == 0).sum(axis=1, keepdims=True)
            found = np.maximum(np.arange(1, stop - start + 1) - absent, 0)
            placed = np.take_along_axis(own, order, axis=1)
            part = np.zeros(own.shape)
            np.divide(found, placed, out=part, where=placed > 0)
            precision[:, start:stop] = part
        n_keys = judgments.n_keys[judgments.answerable]
        return _sum_over_keys(precision, judgments) / n_keys


class Abstention(Metric):
    """1 if nothing was returned for a query that has no answer."""

    name = "abstention"
    takes_cutoff = False
    defined_on = "unanswerable"

    def values(self, positions: Positions) -> FloatArray:
        returned = positions.returned[:, positions.judgments.unanswerable]
        abstained: FloatArray = (returned == 0).astype(np.float64)
        return abstained


class Returned(Metric):
    """Number of positions returned."""

    name = "returned"
    takes_cutoff = False
    larger_is_better = False
    defined_on = "all"

    def values(self, positions: Positions) -> FloatArray:
        return positions.returned.astype(np.float64)


class ClassAccuracy(Metric):
    """1 if a question is routed by the class that its row says, else 0; the same in every trial."""

    name = "class_accuracy"
    takes_cutoff = False
    larger_is_better = True
    defined_on = "labelled"

    def values(self, positions: Positions) -> FloatArray:
        judgments = positions.judgments
        right = judgments.class_right[judgments.labelled]
        return np.broadcast_to(right, (len(positions), len(right))).copy()


METRICS: dict[str, type[Metric]] = {
    metric.name: metric
    for metric in (
        Recall,
        Hit,
        ReciprocalRank,
        Precision,
        CitationPrecision,
        NDCG,
        AveragePrecision,
        Abstention,
        Returned,
        ClassAccuracy,
    )
}
"""Every metric by its name, without cutoffs."""

_METRIC_TEXT = re.compile(r"([a-z_]+)(?:@([0-9]+))?")


def parse_metric(text: str) -> Metric:
    """Read a metric's name.

    Raises
    ------
    ValueError
        With a sentence that says what is allowed.

    Examples
    --------
    >>> str(parse_metric("ndcg@10")), parse_metric("recall@5").cutoff
    ('ndcg@10', 5)
    """
    match = _METRIC_TEXT.fullmatch(text.strip().lower())
    name = match[1] if match else text
    if match is None or name not in METRICS:
        raise ValueError(f'unknown metric "{text}". {_nearest(name, match and match[2])}')
    kind = METRICS[name]
    if kind.takes_cutoff and match[2] is None:
        raise ValueError(f'metric "{text}" needs a cutoff, for example {name}@10.')
    if not kind.takes_cutoff and match[2] is not None:
        raise ValueError(f'metric "{text}": {name} takes no cutoff. Write {name}.')
    if match[2] is not None and not (len(match[2]) < 100 and 1 <= int(match[2]) <= 1_000_000):
        raise ValueError(f'metric "{text}": the cutoff must be from 1 to 1000000.')
    return kind(int(match[2])) if match[2] else kind()


def _nearest(name: str, cutoff: str | None) -> str:
    """Return a hint that can be written as it stands: with a cutoff where one is needed."""
    close = difflib.get_close_matches(name, METRICS, n=1)
    if not close:
        return did_you_mean(name, METRICS)
    at = f"@{cutoff or 10}" if METRICS[close[0]].takes_cutoff else ""
    return f'Did you mean "{close[0]}{at}"?'


def _relevant_rows(positions: Positions, cutoff: int | None) -> NDArray[np.integer]:
    """Count relevant rows per answerable query, shape (n_trials, n_answerable)."""
    judgments = positions.judgments
    within = positions.position > 0
    if cutoff is not None:
        within &= positions.position <= cutoff
    row_query = judgments.key_query[positions.row_key]
    counts = np.zeros((len(positions), judgments.n_queries), np.int32)
    present, start = np.unique(row_query, return_index=True)
    if len(present):
        counts[:, present] = np.add.reduceat(within, start, axis=1, dtype=np.int32)
    return counts[:, judgments.answerable]


def _sum_over_keys(values: FloatArray, judgments: Judgments) -> FloatArray:
    """Add up each answerable query's keys one after the other, the largest first.

    An order that the values alone decide keeps a figure the same, to its last bit, however a golden
    row lists its keys and whatever the batch (``np.add.reduceat`` adds in pairs from eight on).
    """
    n_keys = judgments.n_keys[judgments.answerable]
    if int(n_keys.max(initial=0)) > 1:
        query = np.broadcast_to(judgments.key_query, values.shape)
        values = np.take_along_axis(values, np.lexsort((-values, query), axis=1), axis=1)
    total = values[:, judgments.key_start].copy()
    for place in range(1, int(n_keys.max(initial=0))):
        longer = np.flatnonzero(n_keys > place)
        total[:, longer] += values[:, judgments.key_start[longer] + place]
    return total


def parse_metrics(texts: Sequence[str]) -> tuple[Metric, ...]:
    """Read several metric names, without repeats, in the order given."""
    return tuple(dict.fromkeys(parse_metric(text) for text in texts))
