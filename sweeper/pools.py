"""Pools: what an engine retrieved, frozen, so that any settings can be replayed.

A pool holds, per query, channel and store, the best ``depth`` rows in the order in which the engine
gave them, with the channel's own value, and the age of every memory at one fixed instant. It is
columns, not objects: 10,000 queries with 400 rows each are 4 million rows. Parquet files are read
and written in ``poolfile``; how a pool is ranked is in ``ranking`` and ``replay``.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sweeper.corpus import STORES, Store
from sweeper.golden import ItemId, Key, Query, QueryId
from sweeper.settings import Prior, Settings

__all__ = [
    "LEXICAL",
    "VECTOR",
    "Candidate",
    "FloatArray",
    "IntArray",
    "KeyFactors",
    "Pool",
    "QueryCandidates",
    "asked_mark",
]

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int32]

VECTOR = "vector"
"""The channel whose values are cosines; the floor acts on it alone."""
LEXICAL = "lexical"


class Candidate(NamedTuple):
    """One row that an engine retrieved in one channel.

    ``value`` is the channel's own (a cosine, a text match score), higher is better. ``age_days`` is
    NaN for documents and for memories of unknown age.
    """

    item_id: ItemId
    key: Key
    store: Store
    value: float
    age_days: float = math.nan


@dataclass(frozen=True, slots=True)
class QueryCandidates:
    """What every channel retrieved for one query, per store, in the engine's order (best first)."""

    query_id: QueryId
    rows: Mapping[tuple[str, Store], Sequence[Candidate]]


def asked_mark(query: Query) -> str:
    """Return 12 hex digits that change with what an engine is asked: text, filter or user."""
    asked = [query.text, sorted(query.filter.items()), query.user]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]


class KeyFactors(Protocol):
    """What past usage says of pages; see ``prior``."""

    def factors(self, prior: Prior) -> Mapping[Key, float]:
        """Return the multiplier of each key that has one; every other key has 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Captured candidates of many queries.

    Rows are sorted by query, channel, store and place. Build one with ``from_candidates``.

    Parameters
    ----------
    channels
        Names in the order in which fusion adds them.
    query_ids
        Also those for which nothing was retrieved.
    depth
        Rows asked for, per query, channel and store; a setting may rank fewer, never more.
    item_ids, item_keys : length n_items
    item_store : shape (n_items,)
        Index into ``corpus.STORES``.
    item_age_days : shape (n_items,), days
        NaN for documents and where unknown.
    row_query, row_channel, row_item : shape (n_rows,)
        Indices into the above.
    row_value : shape (n_rows,)
        The channel's own value; never NaN, never ascending within a query, channel and store.
    provenance
        What a report says of where the rows came from: engine, fingerprint, embedder, ``as_of``,
        counts of ages that were missing, unparseable or in the future. Not part of the digest.
    usefulness
        From past usage, if there is any. It is no part of what was captured, nor of the digest.
    """

    channels: tuple[str, ...]
    query_ids: tuple[QueryId, ...]
    depth: int
    item_ids: tuple[ItemId, ...]
    item_keys: tuple[Key, ...]
    item_store: NDArray[np.int8]
    item_age_days: FloatArray
    row_query: IntArray
    row_channel: NDArray[np.int8]
    row_item: IntArray
    row_value: FloatArray
    provenance: Mapping[str, Any] = field(default_factory=dict)
    usefulness: KeyFactors | None = None

    @classmethod
    def from_candidates(
        cls,
        candidates: Iterable[QueryCandidates],
        *,
        channels: Sequence[str],
        depth: int,
        provenance: Mapping[str, Any] | None = None,
    ) -> Pool:
        """Freeze what an engine returned.

        Raises
        ------
        ValueError
            If a channel is unknown, a value is NaN or ascends, a list is deeper than ``depth`` or
            holds an item twice, or an item's key, store or age differs between two rows.
        """
        items: dict[ItemId, int] = {}
        first_seen: list[Candidate] = []
        query_ids: list[QueryId] = []
        columns: tuple[list[int], list[int], list[int], list[float]] = ([], [], [], [])
        for place, query in enumerate(candidates):
            query_ids.append(query.query_id)
            for name, _ in query.rows:
                if name not in channels:
                    raise ValueError(f"unknown channel {name!r}; this pool has {list(channels)}")
            for number, name in enumerate(channels):
                for store in STORES:
                    rows = query.rows.get((name, store), ())
                    _check_list(query.query_id, name, store, rows, depth)
                    for row in rows:
                        index = items.setdefault(row.item_id, len(items))
                        if index == len(first_seen):
                            first_seen.append(row)
                        elif not _same_item(first_seen[index], row):
                            raise ValueError(
                                f"item {row.item_id!r} has two keys, stores or ages in one pool"
                            )
                        for column, entry in zip(columns[:3], (place, number, index), strict=True):
                            column.append(entry)
                        columns[3].append(row.value)
        if len(set(query_ids)) != len(query_ids):
            raise ValueError("query ids must be distinct")
        return cls(
            channels=tuple(channels),
            query_ids=tuple(query_ids),
            depth=depth,
            item_ids=tuple(items),
            item_keys=tuple(row.key for row in first_seen),
            item_store=np.array([STORES.index(row.store) for row in first_seen], np.int8),
            item_age_days=np.array([row.age_days for row in first_seen], np.float64),
            row_query=np.array(columns[0], np.int32),
            row_channel=np.array(columns[1], np.int8),
            row_item=np.array(columns[2], np.int32),
            row_value=np.array(columns[3], np.float64),
            provenance=dict(provenance or {}),
        )

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.query_ids)

    @property
    def n_rows(self) -> int:
        return len(self.row_item)

    @property
    def digest(self) -> str:
        """SHA-256 over channels, queries, items, ages, rows and values, in order."""
        seen = hashlib.sha256()
        names = (self.channels, self.query_ids, self.item_ids, self.item_keys)
        for texts in names:
            for text in texts:
                encoded = text.encode()
                seen.update(len(encoded).to_bytes(8, "little") + encoded)
            seen.update(b"\xff")
        seen.update(self.depth.to_bytes(8, "little"))
        ages = np.where(np.isnan(self.item_age_days), np.nan, self.item_age_days)
        for array in (self.item_store, ages, self.row_query, self.row_channel, self.row_item):
            seen.update(np.ascontiguousarray(array).tobytes())
        seen.update(np.ascontiguousarray(self.row_value).tobytes())
        return seen.hexdigest()

    def candidates(self, query: int) -> QueryCandidates:
        """Return one query's rows as objects, for the readable ranking and for explanations.

        Parameters
        ----------
        query
            Index into ``query_ids``.
        """
        start, stop = np.searchsorted(self.row_query, [query, query + 1])
        rows: dict[tuple[str, Store], list[Candidate]] = {}
        for row in range(int(start), int(stop)):
            item = int(self.row_item[row])
            store = STORES[self.item_store[item]]
            channel = self.channels[self.row_channel[row]]
            rows.setdefault((channel, store), []).append(
                Candidate(
                    self.item_ids[item],
                    self.item_keys[item],
                    store,
                    float(self.row_value[row]),
                    float(self.item_age_days[item]),
                )
            )
        return QueryCandidates(self.query_ids[query], rows)

    def asked_otherwise(self, queries: Iterable[Query]) -> list[QueryId]:
        """Return which of its questions were captured with another text, filter or user.

        A pool that was captured without marks knows of none.
        """
        marks = dict(zip(self.query_ids, self.provenance.get("asked", ()), strict=False))
        return [q.query_id for q in queries if marks.get(q.query_id, "") not in ("", asked_mark(q))]

    def prior_factors(self, settings: Settings) -> Mapping[Key, float]:
        """Return the multiplier of each key under some settings; every other key has 1."""
        if self.usefulness is None or settings.prior is None:
            return {}
        return self.usefulness.factors(settings.prior)

    def within(self, store: Store) -> Pool:
        """Return this pool as a search of one store alone would have filled it."""
        kept = self.item_store[self.row_item] == STORES.index(store)
        return replace(
            self,
            row_query=self.row_query[kept],
            row_channel=self.row_channel[kept],
            row_item=self.row_item[kept],
            row_value=self.row_value[kept],
        )

    def at(self, days_later: float) -> Pool:
        """Return this pool as it will be ``days_later`` with unchanged content: memories age."""
        return replace(self, item_age_days=self.item_age_days + days_later)


def _check_list(
    query_id: QueryId, channel: str, store: Store, rows: Sequence[Candidate], depth: int
) -> None:
    where = f"query {query_id!r}, {channel} channel, {store} store"
    if len(rows) > depth:
        raise ValueError(f"{where}: {len(rows)} rows are more than the depth of {depth}")
    if len({row.item_id for row in rows}) != len(rows):
        raise ValueError(f"{where}: an item appears twice")
    values = [row.value for row in rows]
    if any(math.isnan(value) for value in values):
        raise ValueError(f"{where}: a value is NaN")
    if any(a < b for a, b in itertools.pairwise(values)):
        raise ValueError(f"{where}: values ascend; give the best row first")
    if any(row.store != store for row in rows):
        raise ValueError(f"{where}: a row belongs to the other store")


def _same_item(a: Candidate, b: Candidate) -> bool:
    same_age = a.age_days == b.age_days or (math.isnan(a.age_days) and math.isnan(b.age_days))
    return a.key == b.key and a.store == b.store and same_age
