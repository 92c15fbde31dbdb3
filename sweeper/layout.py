"""A pool at one depth as arrays, merged and united as fusion sees it.

``counting`` finds positions in it; ``kernels`` does the same compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.golden import Key
from sweeper.pools import VECTOR, FloatArray, KeyFactors, Pool
from sweeper.ranking import decay_factors
from sweeper.runs import Judgments
from sweeper.settings import Prior, Settings

__all__ = ["ItemUsage", "Layout"]


_PRIORS_KEPT = 64


class ItemUsage:
    """What past usage says of a pool's items, under any prior.

    Parameters
    ----------
    usefulness
        By key.
    item_keys
        The key of each item.
    """

    def __init__(self, usefulness: KeyFactors, item_keys: tuple[Key, ...]) -> None:
        self._usefulness, self._item_keys = usefulness, item_keys
        self._known: dict[Prior, FloatArray] = {}

    def __getstate__(self) -> dict[str, object]:
        """Leave out what a worker can compute."""
        return {**self.__dict__, "_known": {}}

    def factors(self, prior: Prior) -> FloatArray:
        """Return each item's multiplier, shape (n_items + 1,); the last is 1."""
        if prior not in self._known:
            if len(self._known) >= _PRIORS_KEPT:
                self._known.clear()
            of_key = self._usefulness.factors(prior)
            self._known[prior] = np.array([*(of_key.get(k, 1.0) for k in self._item_keys), 1.0])
        return self._known[prior]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """One pool at one depth as arrays. A *target* is a candidate row that a query expects.

    Attributes
    ----------
    channels
        Names, in fusion order.
    ranks : shape (n_channels, n_candidates, n_queries)
        1-based rank after the stores were merged; 0 where the channel lacks the row, and in the
        padding of queries with fewer candidates.
    item : shape (n_candidates, n_queries)
        Index of each row into the pool's items; -1 in the padding.
    age_number : shape (n_candidates, n_queries)
        Index into ``ages``.
    ages : shape (n_ages,)
        Distinct ages in days; 0 for whatever does not decay.
    cosines : shape (n_queries, longest)
        Values of the vector channel in rank order, negative infinity as padding.
    target_query, target_slot, target_key : shape (n_targets,)
        Query, candidate slot and flat expected key of each target, ordered by key.
    query_classes
        The class by which each query is routed, or ``None``.
    usage
        What past usage says of the pool's items, if there is any.
    """

    channels: tuple[str, ...]
    ranks: NDArray[np.int32]
    item: NDArray[np.int32]
    age_number: NDArray[np.int32]
    ages: FloatArray
    cosines: FloatArray
    target_query: NDArray[np.intp]
    target_slot: NDArray[np.intp]
    target_key: NDArray[np.intp]
    query_classes: tuple[str | None, ...]
    usage: ItemUsage | None = None

    @classmethod
    def build(
        cls, pool: Pool, judgments: Judgments, pool_query: NDArray[np.intp], depth: int
    ) -> Layout:
        """Merge the stores of each channel, unite the channels, and find the targets."""
        n_queries = len(pool_query)
        number = np.full(len(pool), -1, np.intp)
        number[pool_query] = np.arange(n_queries)
        channel, query, item, value = _merged_rows(pool, depth)
        query = number[query]
        kept = query >= 0
        channel, query, item, value = channel[kept], query[kept], item[kept], value[kept]
        rank = _places((query * len(pool.channels) + channel).astype(np.int64)) + 1

        # A candidate slot is a distinct (query, item); slots count from 0 within each query.
        pair = query.astype(np.int64) * max(1, len(pool.item_ids)) + item
        unique, slot_of_row = np.unique(pair, return_inverse=True)
        slot_query = unique // max(1, len(pool.item_ids))
        slot_item = (unique % max(1, len(pool.item_ids))).astype(np.intp)
        slot = _places(slot_query)
        n_slots = int(slot.max(initial=-1)) + 1

        ranks = np.zeros((len(pool.channels), n_slots, n_queries), np.int32)
        ranks[channel, slot[slot_of_row], query] = rank
        decays = (pool.item_store == 1) & (pool.item_age_days > 0)
        ages, age_of_item = np.unique(
            np.append(0.0, np.where(decays, pool.item_age_days, 0.0)), return_inverse=True
        )
        item_of = np.full((n_slots, n_queries), -1, np.int32)
        item_of[slot, slot_query] = slot_item
        age_number = np.zeros((n_slots, n_queries), np.int32)
        age_number[slot, slot_query] = age_of_item[1:][slot_item]

        vector = channel == (pool.channels.index(VECTOR) if VECTOR in pool.channels else -1)
        longest = int(rank[vector].max(initial=0))
        cosines = np.full((n_queries, longest), -np.inf)
        cosines[query[vector], rank[vector] - 1] = value[vector]

        found = [
            (judgments.key_number.get((int(q), pool.item_keys[i])), s)
            for s, (q, i) in enumerate(zip(slot_query, slot_item, strict=True))
        ]
        targets = sorted((key, s) for key, s in found if key is not None)
        chosen = np.array([s for _, s in targets], np.intp)
        return cls(
            channels=pool.channels,
            ranks=ranks,
            item=item_of,
            age_number=age_number,
            ages=ages,
            cosines=cosines,
            target_query=slot_query[chosen].astype(np.intp),
            target_slot=slot[chosen].astype(np.intp),
            target_key=np.array([key for key, _ in targets], np.intp),
            query_classes=judgments.query_classes,
            usage=None if pool.usefulness is None else ItemUsage(pool.usefulness, pool.item_keys),
        )

    @property
    def n_targets(self) -> int:
        return len(self.target_key)

    @property
    def n_slots(self) -> int:
        return int(self.ranks.shape[1])

    @property
    def dtype(self) -> type[np.int16] | type[np.int32]:
        """The smallest type that holds every position."""
        return np.int16 if self.n_slots < 2**15 - 1 else np.int32

    @property
    def longest_rank(self) -> int:
        return int(self.ranks.max(initial=0))

    @property
    def classes(self) -> tuple[tuple[str | None, ...], NDArray[np.intp]]:
        """The classes, and of which of them each query is, shape (n_queries,)."""
        number = {name: place for place, name in enumerate(dict.fromkeys(self.query_classes))}
        return tuple(number), np.array([number[name] for name in self.query_classes], np.intp)

    def limits(self, settings: Sequence[Settings]) -> NDArray[np.int64]:
        """Return how many rows each query returns at most, shape (n_settings, n_queries).

        There is one column where no class has a budget of its own.
        """
        if not any(name.endswith(".budget") for item in settings for name in item.routing):
            return np.array([[item.limit] for item in settings], np.int64)
        names, of_query = self.classes
        each = np.array([[item.limit_of(name) for name in names] for item in settings], np.int64)
        limits: NDArray[np.int64] = each[:, of_query]
        return limits

    def weights(self, settings: Settings) -> FloatArray:
        """Return the weight of each channel, shape (n_channels, n_queries).

        There is one column where no class has weights of its own.
        """
        alike = [[settings.weight(channel)] for channel in self.channels]
        if not any(".weights." in name for name in settings.routing):
            return np.array(alike, np.float64).reshape(len(self.channels), 1)
        names, of_query = self.classes
        each = [settings.weights_of(name, self.channels) for name in names]
        weights: FloatArray = np.array(each, np.float64)[of_query].T
        return weights.reshape(len(self.channels), len(self.query_classes))

    def prior(self, settings: Settings) -> FloatArray | None:
        """Return what past usage multiplies scores by, shape (n_candidates, n_queries).

        ``None`` where it changes nothing.
        """
        if settings.prior is None or self.usage is None:
            return None
        of_item = self.usage.factors(settings.prior)
        found: FloatArray = of_item[self.item]  # padding is item -1: the last, 1
        return found

    def factors(self, half_lives: Sequence[float]) -> FloatArray:
        """Return what each age leaves of a score, shape (n_half_lives, n_ages)."""
        rows = [decay_factors(self.ages, half_life) for half_life in half_lives]
        return np.stack(rows) if rows else np.empty((0, len(self.ages)))

    def survivors(self, floor: float | None) -> NDArray[np.int32]:
        """Return how many vector rows of each query are not below a floor, shape (n_queries,)."""
        if floor is None:
            return np.full(len(self.cosines), self.cosines.shape[1], np.int32)
        left: NDArray[np.int32] = (self.cosines >= floor).sum(axis=1, dtype=np.int32)
        return left


def _merged_rows(
    pool: Pool, depth: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], FloatArray]:
    """Return channel, query, item and value of each row within depth, in merged order."""
    store = pool.item_store[pool.row_item]
    list_number = (pool.row_query.astype(np.int64) * len(pool.channels) + pool.row_channel) * 2
    list_number += store
    rows = np.flatnonzero(_places(list_number) < depth)
    # Rows already stand by query, channel, store and place: a stable sort by value within query and
    # channel puts documents first among equals.
    by = np.lexsort((-pool.row_value[rows], list_number[rows] // 2))
    rows = rows[by]
    return (
        pool.row_channel[rows].astype(np.intp),
        pool.row_query[rows].astype(np.intp),
        pool.row_item[rows].astype(np.intp),
        pool.row_value[rows],
    )


def _places(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each element's 0-based place in its run of equal, adjacent numbers."""
    index = np.arange(len(groups))
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]]) if len(groups) else index
    lengths = np.diff(np.append(starts, len(groups)))
    return index - np.repeat(starts, lengths)
