"""The readable definition of the ranking: one query, one settings, one function per step.

This module is the contract in code (``docs/semantics.md``); ``replay`` computes the same positions
for thousands of settings at once and is tested against it. The sort and tie rule exists here only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from types import MappingProxyType

import numpy as np

from sweeper.corpus import STORES, Store
from sweeper.golden import ItemId, Key, Query
from sweeper.pools import LEXICAL, VECTOR, Candidate, FloatArray, Pool, QueryCandidates
from sweeper.settings import Settings

__all__ = [
    "DEFAULT_CHANNELS",
    "NO_PRIOR",
    "RankedRow",
    "apply_floor",
    "boost",
    "decay",
    "decay_factor",
    "decay_factors",
    "fuse",
    "merge_stores",
    "order_and_cut",
    "rank",
    "rank_captured",
    "returned_keys",
    "scope",
    "take_depth",
]

DEFAULT_CHANNELS = (VECTOR, LEXICAL)

NO_PRIOR: Mapping[Key, float] = MappingProxyType({})
"""Without past usage every page counts alike."""


@dataclass(frozen=True, slots=True)
class RankedRow:
    """One returned row and everything that put it where it stands.

    ``ranks`` and ``values`` hold the channels that found the row and count for it. ``score`` is
    ``fused`` times ``factor`` (decay) times ``prior`` (usefulness).
    """

    position: int
    item_id: ItemId
    key: Key
    store: Store
    score: float
    fused: float
    factor: float
    age_days: float
    ranks: Mapping[str, int]
    values: Mapping[str, float]
    prior: float = 1.0


def rank(
    candidates: QueryCandidates,
    settings: Settings,
    *,
    channels: Sequence[str] = DEFAULT_CHANNELS,
    query_class: str | None = None,
    prior: Mapping[Key, float] = NO_PRIOR,
) -> list[RankedRow]:
    """Rank one query's candidates under some settings.

    Parameters
    ----------
    candidates
        Rows per channel and store, best first, at least as deep as the settings ask for.
    settings
        All knobs.
    channels
        Channel names in the order in which fusion adds them.
    query_class
        The class whose weights and budget hold.
    prior
        Multipliers of keys, learned from usage; 1 for every other key.

    Returns
    -------
    list of RankedRow
        At most ``settings.limit`` rows, best first; no more than the budget of the class.

    References
    ----------
    Cormack, Clarke, Buettcher, SIGIR 2009 (reciprocal rank fusion).
    """
    settings = settings.for_class(query_class)
    merged: dict[str, list[Candidate]] = {}
    for channel in channels:
        if settings.weight(channel) == 0:
            continue
        per_store = [
            take_depth(candidates.rows.get((channel, store), ()), settings.effective_depth)
            for store in scope(settings.stores)
        ]
        if channel == VECTOR:
            per_store = [apply_floor(rows, settings.min_similarity) for rows in per_store]
        merged[channel] = merge_stores(per_store)
    rows = [
        boost(decay(row, settings.recency_half_life_days), prior.get(row.key, 1.0))
        for row in fuse(merged, settings.rrf_k, {name: settings.weight(name) for name in merged})
    ]
    return order_and_cut(rows, settings.limit)


def rank_captured(pool: Pool, query: Query, settings: Settings) -> list[RankedRow]:
    """Rank what was captured for one question, by its class and with the pool's prior."""
    return rank(
        pool.candidates(pool.query_ids.index(query.query_id)),
        settings,
        channels=pool.channels,
        query_class=query.query_class,
        prior=pool.prior_factors(settings),
    )


def returned_keys(pool: Pool, settings: Settings, query: Query) -> list[Key]:
    """Return the key at every position of one question's answer, best first."""
    return [row.key for row in rank_captured(pool, query, settings)]


def scope(stores: str) -> tuple[Store, ...]:
    """Step 0: the stores that are searched; rows of another are no candidates."""
    return tuple(store for store in STORES if stores in ("all", store))


def take_depth(rows: Sequence[Candidate], depth: int) -> list[Candidate]:
    """Step 1: the best ``depth`` rows of one channel in one store."""
    return list(rows[:depth])


def apply_floor(rows: Sequence[Candidate], min_similarity: float | None) -> list[Candidate]:
    """Step 2: drop vector rows whose cosine is below the floor; ``None`` drops nothing."""
    if min_similarity is None:
        return list(rows)
    return [row for row in rows if not row.value < min_similarity]


def merge_stores(per_store: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """Step 3: merge the stores of one channel on its own value; documents first among equals."""
    together = [row for rows in per_store for row in rows]
    return sorted(together, key=lambda row: -row.value)


def fuse(
    merged: Mapping[str, Sequence[Candidate]], rrf_k: int, weights: Mapping[str, float]
) -> list[RankedRow]:
    """Step 4: sum ``weight / (rrf_k + rank)`` over the channels that hold a row.

    Rows come back in insertion order, which breaks ties later: the first channel's list, then rows
    of the next channel not yet seen, and so on.
    """
    found: dict[ItemId, Candidate] = {}
    fused: dict[ItemId, float] = {}
    ranks: dict[ItemId, dict[str, int]] = {}
    values: dict[ItemId, dict[str, float]] = {}
    for channel, rows in merged.items():
        for number, row in enumerate(rows, start=1):
            found.setdefault(row.item_id, row)
            share = weights[channel] / (rrf_k + number)
            fused[row.item_id] = fused.get(row.item_id, 0.0) + share
            ranks.setdefault(row.item_id, {})[channel] = number
            values.setdefault(row.item_id, {})[channel] = row.value
    return [
        RankedRow(
            position=0,
            item_id=item_id,
            key=row.key,
            store=row.store,
            score=fused[item_id],
            fused=fused[item_id],
            factor=1.0,
            age_days=row.age_days,
            ranks=ranks[item_id],
            values=values[item_id],
        )
        for item_id, row in found.items()
    ]


def decay(row: RankedRow, half_life_days: float) -> RankedRow:
    """Step 5: multiply a memory's score by its decay factor; documents never decay."""
    factor = decay_factor(row.age_days, half_life_days) if row.store == "memory" else 1.0
    return replace(row, score=row.fused * factor, factor=factor)


def decay_factor(age_days: float, half_life_days: float) -> float:
    """Return ``2 ** -(age / half_life)``; 1 when decay is off, or the age unknown or not positive.

    Every other module takes its factors from here: another formula for the same number (``exp2``, a
    reciprocal half-life) differs in the last bit and so breaks ties otherwise.

    Examples
    --------
    >>> decay_factor(30.0, 30.0), decay_factor(30.0, 0.0), decay_factor(-1.0, 30.0)
    (0.5, 1.0, 1.0)
    """
    if half_life_days > 0 and age_days > 0:
        factor: float = 2.0 ** -(age_days / half_life_days)
        return factor
    return 1.0


def decay_factors(ages_days: FloatArray, half_life_days: float) -> FloatArray:
    """Return ``decay_factor`` of many ages, bit for bit, without a call of Python for each."""
    if not half_life_days > 0:
        return np.ones_like(ages_days)
    with np.errstate(over="ignore"):
        exponents = np.where(ages_days > 0, -(ages_days / half_life_days), 0.0)
    return np.fromiter(map(math.pow, repeat(2.0), exponents.tolist()), np.float64)


def boost(row: RankedRow, prior: float) -> RankedRow:
    """Step 5, after the decay: multiply a score by what past usage says of its page."""
    return row if prior == 1 else replace(row, score=row.score * prior, prior=prior)


def order_and_cut(rows: Sequence[RankedRow], limit: int) -> list[RankedRow]:
    """Step 6: sort by score, descending and stable, and return the first ``limit`` rows."""
    ordered = sorted(rows, key=lambda row: -row.score)[:limit]
    return [replace(row, position=place) for place, row in enumerate(ordered, start=1)]
