"""Runs: where the relevant rows of each query stand, by raw position.

``Judgments`` is a golden set as arrays. ``Positions`` is what every metric reads: the 1-based
position of each relevant row in each of several trials (0 is absent) and how many rows came back. A
``Run`` is the plain form, one ranked list of keys per query, for results that were not replayed.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sweeper.golden import GoldenSet, Key, QueryId
from sweeper.pools import FloatArray

__all__ = ["FIRST_POSITION", "Judgments", "Positions", "Run", "lowest"]

FIRST_POSITION = 1
"""Positions count from here, as a person counts; 0 means absent."""


class Judgments:
    """A golden set as arrays; expected keys of all queries stand in one flat list.

    Attributes
    ----------
    query_ids
        In the order of the golden set.
    query_classes
        The class by which each question is routed, or ``None``.
    slice_of : shape (n_queries,)
        Index into ``slices``.
    n_keys : shape (n_queries,)
        Expected keys per query, also those that no engine can return; 0 is unanswerable.
    key_query : shape (n_keys_total,)
        Query of each expected key; ascending.
    gain : shape (n_keys_total,)
        Grade of each expected key.
    class_right : shape (n_queries,)
        1 where a question is routed by the class that its row says, 0 by another; NaN where either
        is missing.
    """

    def __init__(self, golden: GoldenSet) -> None:
        self.query_ids: tuple[QueryId, ...] = golden.query_ids
        self.query_classes = tuple(query.query_class for query in golden.queries)
        self.slices: tuple[str, ...] = golden.slices
        number = {name: place for place, name in enumerate(self.slices)}
        self.slice_of = np.array([number[q.slice] for q in golden.queries], np.intp)
        self.n_keys = np.array([len(q.expected) for q in golden.queries], np.intp)
        self.class_right: FloatArray = np.array(
            [
                math.nan if q.label is None or q.route is None else float(q.label == q.query_class)
                for q in golden.queries
            ],
            np.float64,
        )
        self.keys: tuple[Key, ...] = tuple(k for q in golden.queries for k in q.expected)
        self.key_query = np.repeat(np.arange(len(golden)), self.n_keys)
        self.gain: FloatArray = np.array(
            [q.grade(k) for q in golden.queries for k in q.expected], np.float64
        )

    @property
    def n_queries(self) -> int:
        return len(self.slice_of)

    def take(self, queries: NDArray[np.intp]) -> Judgments:
        """Return judgments in which each place holds one of these queries; they may repeat.

        Only the arrays that metrics read are filled in; ``query_ids`` and ``query_classes`` are
        empty and ``keys`` holds placeholders.
        """
        taken = copy.copy(self)
        for name in ("answerable", "unanswerable", "labelled", "key_start", "key_number"):
            taken.__dict__.pop(name, None)
        start = np.cumsum(self.n_keys) - self.n_keys
        taken.query_ids = ()
        taken.query_classes = ()
        taken.slice_of = self.slice_of[queries]
        taken.class_right = self.class_right[queries]
        taken.n_keys = self.n_keys[queries]
        taken.key_query = np.repeat(np.arange(len(queries)), taken.n_keys)
        within = np.arange(len(taken.key_query)) - np.repeat(
            np.cumsum(taken.n_keys) - taken.n_keys, taken.n_keys
        )
        taken.gain = self.gain[np.repeat(start[queries], taken.n_keys) + within]
        taken.keys = ("",) * len(taken.key_query)
        return taken

    @cached_property
    def key_number(self) -> dict[tuple[int, Key], int]:
        """Flat number of each (query index, expected key)."""
        pairs = zip(self.key_query.tolist(), self.keys, strict=True)
        return {pair: number for number, pair in enumerate(pairs)}

    def __getstate__(self) -> dict[str, object]:
        """Leave the lookup out: workers that evaluate positions do not need it."""
        return {name: value for name, value in self.__dict__.items() if name != "key_number"}

    @cached_property
    def answerable(self) -> NDArray[np.intp]:
        """Indices of queries with an expected key."""
        return np.flatnonzero(self.n_keys > 0)

    @cached_property
    def unanswerable(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.n_keys == 0)

    @cached_property
    def labelled(self) -> NDArray[np.intp]:
        """Indices of queries with a label, of which the class is known."""
        return np.flatnonzero(~np.isnan(self.class_right))

    @cached_property
    def key_start(self) -> NDArray[np.intp]:
        """First flat key of each *answerable* query, for ``reduceat``."""
        start = np.cumsum(self.n_keys) - self.n_keys
        return start[self.answerable]

    def key_columns(self, queries: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the flat keys of some queries (ascending), in order."""
        return np.flatnonzero(np.isin(self.key_query, queries))


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """Where relevant rows stand, for several trials at once.

    Attributes
    ----------
    judgments
    row_key : shape (n_rows,)
        Flat expected key (index into ``judgments.keys``) that each relevant row belongs to;
        ascending. A document has as many rows as chunks that any trial may return.
    position : shape (n_trials, n_rows)
        1-based raw position; 0 where the row was not returned.
    returned : shape (n_trials, n_queries)
        Number of rows returned.
    """

    judgments: Judgments
    row_key: NDArray[np.intp]
    position: NDArray[np.integer]
    returned: NDArray[np.integer]

    def __len__(self) -> int:
        """Return the number of trials."""
        return len(self.position)

    def first(self) -> NDArray[np.integer]:
        """Return the first position of each expected key, shape (n_trials, n_keys_total)."""
        n_keys = len(self.judgments.keys)
        if len(self.row_key) == n_keys and bool((self.row_key == np.arange(n_keys)).all()):
            return self.position
        first = np.zeros((len(self), n_keys), self.position.dtype)
        present, start = np.unique(self.row_key, return_index=True)
        if len(present):
            first[:, present] = lowest(self.position, start)
        return first


def lowest(position: NDArray[np.integer], start: NDArray[np.intp]) -> NDArray[np.integer]:
    """Return the lowest non-zero entry of each run of columns that begins at ``start``.

    An absent position, 0, wraps to the largest unsigned number when 1 is taken away, so one
    unsigned minimum does it.
    """
    if len(start) == position.shape[1]:
        return position
    unsigned = np.dtype(f"u{position.dtype.itemsize}")
    wrapped = (position - position.dtype.type(1)).view(unsigned)
    shortest = np.minimum.reduceat(wrapped, start, axis=1)
    return np.asarray(shortest.view(position.dtype) + position.dtype.type(1))


@dataclass(frozen=True, slots=True)
class Run:
    """Ranked results: for each query the key at every raw position, best first.

    A query that is missing returned nothing; it scores 0, it is not dropped.
    """

    results: Mapping[QueryId, Sequence[Key]]

    def positions(self, judgments: Judgments) -> Positions:
        """Return the positions of relevant rows, as one trial."""
        found: list[tuple[int, int]] = []
        for query, query_id in enumerate(judgments.query_ids):
            for place, key in enumerate(self.results.get(query_id, ()), FIRST_POSITION):
                number = judgments.key_number.get((query, key))
                if number is not None:
                    found.append((number, place))
        found.sort()
        returned = [len(self.results.get(q, ())) for q in judgments.query_ids]
        return Positions(
            judgments,
            np.array([number for number, _ in found], np.intp),
            np.array([[place for _, place in found]], np.int32),
            np.array([returned], np.int32),
        )
