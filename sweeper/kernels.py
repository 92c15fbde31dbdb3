"""The replay's inner loop compiled with numba (extra ``fast``), for large sweeps.

Equal to ``replay`` bit for bit: the same shares summed in the same order, the same tie key, and
the same decay factors. They come as a table, since a compiler may turn ``2 ** x`` into ``exp2(x)``,
which differs in the last bit.

Trials stand side by side, one *lane* each, and every step is taken for all lanes at once. They are
ordered by floor: in each query, lanes whose floors leave the same vector rows are neighbours, and
share which rows are candidates and in which order ties stand. In a grid all floors have the same
lanes, so floors that leave the same rows are computed once. Feature values are counted as they
arise; positions are never stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sweeper.evaluate import Evaluator
from sweeper.knobs import TRIPLES
from sweeper.layout import Layout
from sweeper.pools import VECTOR, FloatArray
from sweeper.settings import Settings

__all__ = ["count_features"]

_Arrays: TypeAlias = tuple[NDArray[Any], ...]

_LANES = 128
"""Lanes at once: few enough that the scores of a query's rows stay in the nearest cache."""

_GRID_FROM = 16
"""Lanes with the same floors from which they are counted apart from the rest."""

_NO_FLOOR = float(np.finfo(np.float64).min)
"""Below every cosine, but above the padding of ``Layout.cosines``."""


def count_features(
    layout: Layout, evaluator: Evaluator, settings: Sequence[Settings]
) -> NDArray[np.integer]:
    """Return the bin counts of some trials, shape (n_trials, n_bins).

    Parameters
    ----------
    layout
        The pool at the settings' depth.
    evaluator
        Decides features and bins.
    settings
        Trials of one depth, in any order.
    """
    counts = np.zeros((len(settings), evaluator.n_bins), np.int32)
    queries = _queries(layout)
    routed = any(item.routing for item in settings)
    for query_class, offset in _classes(layout, evaluator, routed=routed):
        for group in _groups(layout, settings, query_class):
            own = _counted(layout, evaluator, queries, group, offset)
            counts[group.trials] += own.T[group.cell]
    return counts


def _classes(
    layout: Layout, evaluator: Evaluator, *, routed: bool
) -> Iterator[tuple[str | None, NDArray[np.intp]]]:
    """Yield each class and where its questions' bins begin; all questions at once if not routed.

    Bins of questions of other classes are negative, which the kernel skips.
    """
    if not routed:
        yield None, evaluator.offset
        return
    names, of_query = layout.classes
    for number, name in enumerate(names):
        yield name, np.where(of_query == number, evaluator.offset, -1)


def _queries(layout: Layout) -> _Arrays:
    """Return age numbers, used slots and where targets start, by query; targets' slots and keys."""
    n_queries = layout.item.shape[1]
    return (
        np.ascontiguousarray(layout.age_number.T),
        (layout.item >= 0).sum(axis=0),
        np.searchsorted(layout.target_query, np.arange(n_queries + 1)),
        layout.target_slot,
        layout.target_key,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Trials in which the same channels count and past usage says the same.

    Trials that differ in nothing are counted once, as one *cell*: a lane under a floor.

    Attributes
    ----------
    trials, cell : shape (n_trials,)
        Number of each trial, and its cell. Cells go by floor, then by lane.
    floors : ascending; shape (n_floors,) where all have the same lanes, else (n_lanes,)
    shared
        Whether all floors have the same lanes.
    limit, rrf_k, half_life : shape (n_lanes,)
    weights : shape (n_channels, n_lanes)
        Of the channels that count.
    channels
        Numbers of those.
    prior : shape (n_candidates, n_queries)
        What past usage multiplies scores by; ``None`` where it changes nothing.
    """

    trials: NDArray[np.intp]
    cell: NDArray[np.intp]
    floors: FloatArray
    shared: bool
    limit: NDArray[np.int64]
    rrf_k: NDArray[np.int64]
    half_life: FloatArray
    weights: FloatArray
    channels: tuple[int, ...]
    prior: FloatArray | None


def _groups(
    layout: Layout, settings: Sequence[Settings], query_class: str | None
) -> Iterator[_Group]:
    """Split trials by what lanes cannot differ in, as questions of a class are ranked."""
    number: dict[object, int] = {}
    kind = np.array(
        [number.setdefault(_kind(s, query_class, layout), len(number)) for s in settings]
    )
    examples = [settings[trial] for trial in np.unique(kind, return_index=True)[1]]
    weights = np.array([item.weights_of(query_class, layout.channels) for item in examples])
    weights = weights.reshape(len(examples), len(layout.channels))
    limit = np.array([item.limit_of(query_class) for item in examples], np.int64)
    rrf_k = np.array([item.rrf_k for item in settings], np.int64)
    half_life = np.array([item.recency_half_life_days for item in settings], np.float64)
    floor = np.array(
        [_NO_FLOOR if s.min_similarity is None else s.min_similarity for s in settings], np.float64
    )
    alike: dict[object, list[int]] = {}
    for place, item in enumerate(examples):
        alike.setdefault(((weights[place] > 0).tobytes(), item.prior), []).append(place)
    for kinds in alike.values():
        channels = tuple(np.flatnonzero(weights[kinds[0]] > 0).tolist())
        trials = np.flatnonzero(np.isin(kind, kinds))
        floors = floor[trials]
        if VECTOR not in [layout.channels[place] for place in channels]:
            floors = np.zeros_like(floors)  # it cuts nothing
        columns = np.stack([floors, half_life[trials], rrf_k[trials], kind[trials]])
        order = np.lexsort(columns)
        new = np.r_[True, (columns[:, order[1:]] != columns[:, order[:-1]]).any(axis=0)]
        number_of = np.empty(len(trials), np.intp)
        number_of[order] = np.cumsum(new) - 1
        chosen = order[new]  # one trial of each cell
        for cells, shared in _blocks(columns[:, chosen]):
            numbers = np.full(len(chosen), -1, np.intp)
            numbers[cells.ravel()] = np.arange(cells.size)
            cell = numbers[number_of]
            lane = trials[chosen[cells[0]]]
            yield _Group(
                trials=trials[cell >= 0],
                cell=cell[cell >= 0],
                floors=floors[chosen[cells[:, 0] if shared else cells[0]]],
                shared=shared,
                limit=limit[kind[lane]],
                rrf_k=rrf_k[lane],
                half_life=half_life[lane],
                weights=weights[kind[lane]][:, channels].T,
                channels=channels,
                prior=layout.prior(examples[kinds[0]]),
            )


def _blocks(cells: FloatArray) -> Iterator[tuple[NDArray[np.intp], bool]]:
    """Split cells into grids, in which all floors have the same lanes, and the rest.

    ``cells`` holds the floor of each and then what makes its lane, by lane and floor. Yields their
    numbers and whether they are a grid: shape (n_floors, n_lanes), or (1, n_lanes) for the rest.
    """
    starts = np.flatnonzero(np.r_[True, (cells[1:, 1:] != cells[1:, :-1]).any(axis=0)])
    lanes_of: dict[bytes, list[int]] = {}
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), cells.shape[1]], strict=True):
        lanes_of.setdefault(cells[0, start:end].tobytes(), []).append(start)
    rest = []
    for floors, lanes in lanes_of.items():
        block = np.array(lanes) + np.arange(len(floors) // cells.itemsize)[:, None]
        if len(lanes) >= _GRID_FROM:
            yield block, True
        else:
            rest.append(block.ravel())
    if rest:
        left = np.concatenate(rest)
        yield left[np.argsort(cells[0, left], kind="stable")][None], False


def _kind(item: Settings, query_class: str | None, layout: Layout) -> object:
    """Return what decides a trial's weights, limit and prior for questions of a class."""
    if item.routing:
        weights = item.weights_of(query_class, layout.channels)
        return item.limit_of(query_class), weights, item.prior
    # A safe weight hangs on rrf_k.
    safe = TRIPLES in layout.channels and TRIPLES not in item.weights
    return item.limit, *item.weights.items(), item.rrf_k if safe else 0, item.prior


def _counted(
    layout: Layout, evaluator: Evaluator, queries: _Arrays, group: _Group, offset: NDArray[np.intp]
) -> NDArray[np.int32]:
    """Return the bin counts of a group's cells, shape (n_bins, n_cells)."""
    n_bins, n_lanes = evaluator.n_bins, len(group.rrf_k)
    cutoffs = np.array([feature.cutoff for feature in evaluator.features], np.int64)
    counts = np.zeros((n_bins, len(group.floors) if group.shared else 1, n_lanes), np.int32)
    names = [layout.channels[number] for number in group.channels]
    vector = names.index(VECTOR) if VECTOR in names else -1
    ranks = np.ascontiguousarray(layout.ranks[list(group.channels)].transpose(2, 0, 1))
    prior = np.empty((0, 0)) if group.prior is None else np.ascontiguousarray(group.prior.T)
    places = np.arange(layout.longest_rank + 1)[:, None]
    for start in range(0, n_lanes, _LANES):
        lanes = slice(start, start + _LANES)
        half_lives, row = np.unique(group.half_life[lanes], return_inverse=True)
        part = np.zeros_like(counts[:, :, lanes])
        _count(  # type: ignore[call-arg]
            *queries,
            ranks,
            vector,
            layout.cosines,
            prior,
            group.floors if group.shared else group.floors[lanes],
            group.shared,
            group.weights[:, None, lanes] / (group.rrf_k[lanes] + places),
            np.ascontiguousarray(layout.factors(half_lives.tolist())[row].T),
            group.limit[lanes],
            cutoffs,
            offset,
            part,
        )
        counts[:, :, lanes] = part
    return counts.reshape(n_bins, -1)


@njit(cache=True, nogil=True, error_model="numpy")
def _count(  # pragma: no cover
    age_number: Any,
    used: Any,
    target_start: Any,
    target_slot: Any,
    target_key: Any,
    ranks: Any,
    vector: Any,
    cosines: Any,
    prior: Any,
    floors: Any,
    shared: Any,
    share: Any,
    factors: Any,
    limits: Any,
    cutoffs: Any,
    offsets: Any,
    counts: Any,
) -> None:
    """Count the feature values of every query under every lane and floor.

    ``share[c, r]`` is what rank r of channel c adds in each lane, and ``factors[a]`` what age a
    leaves of it. The last axis of ``counts`` is lanes; before it stand floors, if they are shared.
    """
    n_queries, n_slots = age_number.shape
    n_features, n_lanes, n_floors = cutoffs.shape[0], limits.shape[0], floors.shape[0]
    nowhere = 1 << 62
    order = np.zeros(n_slots, np.int64)
    score = np.empty((n_slots, n_lanes))
    # Rows ahead of a target, of the first row of its key, of the first row of all keys.
    ahead = np.empty(n_lanes, np.int64)
    best = np.empty(n_lanes, np.int64)
    nearest = np.empty(n_lanes, np.int64)
    bins = np.empty((n_features, n_lanes), np.int64)
    for q in range(n_queries):
        if offsets[0, q] < 0:
            continue  # unanswerable
        n_counted = n_features if n_features > 1 and offsets[1, q] >= 0 else 1
        first, last = target_start[q], target_start[q + 1]
        left = cosines.shape[1] if vector >= 0 else 0
        floor = 0
        while floor < n_floors:
            # The floors from here to ``end`` leave the same vector rows.
            before = left
            while left > 0 and not cosines[q, left - 1] >= floors[floor]:
                left -= 1
            end = floor + 1
            while end < n_floors and (left == 0 or cosines[q, left - 1] >= floors[end]):
                end += 1
            # Unsigned indices are not tested for being negative, which loops over lanes would feel.
            low = np.uintp(0 if shared else floor)
            width = np.uintp(n_lanes if shared else end - floor)
            for i in range(width):
                best[i] = nowhere
                nearest[i] = nowhere
            for feature in range(n_counted):
                for i in range(width):
                    bins[feature, i] = offsets[feature, q]
            for s in range(used[q]):
                order[s] = _order(ranks, q, s, vector, left, share.shape[1])
            found = False
            for target in range(first, last):
                found |= order[target_slot[target]] > 0
            for s in range(used[q] if found else 0):
                # Shared lanes have this row's scores already, unless a higher floor cut its rank.
                known = shared and floor > 0 and not left < ranks[q, vector, s] <= before
                if order[s] > 0 and not known:
                    age = age_number[q, s]
                    _score(score, ranks, q, s, vector, left, share, factors, age, low, width)
                    if prior.shape[0] > 0:
                        for i in range(width):
                            score[s, i] *= prior[q, s]
            for target in range(first, last):
                own = target_slot[target]
                if order[own] > 0:
                    _count_ahead(ahead, score, order, used[q], own, width)
                    for i in range(width):
                        best[i] = min(best[i], ahead[i])
                if target + 1 == last or target_key[target + 1] != target_key[target]:
                    for feature in range(1, n_counted):
                        for i in range(width):
                            bins[feature, i] += best[i] < min(cutoffs[feature], limits[low + i])
                    for i in range(width):
                        nearest[i] = min(nearest[i], best[i])
                        best[i] = nowhere
            for i in range(width):
                bins[0, i] += nearest[i] + 1 if nearest[i] < limits[low + i] else 0
            for each in range(floor if shared else 0, end if shared else 1):
                for feature in range(n_counted):
                    for i in range(width):
                        counts[np.uintp(bins[feature, i]), each, low + i] += 1
            floor = end


@njit(cache=True, nogil=True, inline="always")
def _order(  # pragma: no cover
    ranks: Any, q: Any, s: Any, vector: Any, left: Any, longest: Any
) -> Any:
    """Return a row's place in insertion order, from 1; 0 if no channel holds it."""
    for c in range(ranks.shape[1]):
        r = ranks[q, c, s]
        if r > 0 and (c != vector or r <= left):
            return c * longest + r
    return 0


@njit(cache=True, nogil=True)
def _score(  # pragma: no cover
    score: Any,
    ranks: Any,
    q: Any,
    s: Any,
    vector: Any,
    left: Any,
    share: Any,
    factors: Any,
    age: Any,
    low: Any,
    width: Any,
) -> None:
    """Write a row's score in each lane: the shares of its channels, added up and decayed."""
    begun = False
    for c in range(ranks.shape[1]):
        r = ranks[q, c, s]
        if r > 0 and (c != vector or r <= left):
            for i in range(width):
                if begun:
                    score[s, i] += share[c, r, low + i]
                else:
                    score[s, i] = share[c, r, low + i]
            begun = True
    if age > 0:  # the first age is 0, which leaves all
        for i in range(width):
            score[s, i] *= factors[age, low + i]


@njit(cache=True, nogil=True)
def _count_ahead(  # pragma: no cover
    ahead: Any, score: Any, order: Any, n: Any, own: Any, width: Any
) -> None:
    """Count the rows that stand before a row in each lane."""
    for i in range(width):
        ahead[i] = 0
    for s in range(n):
        if 0 < order[s] < order[own]:
            for i in range(width):
                ahead[i] += score[s, i] >= score[own, i]
        elif order[s] > order[own]:
            for i in range(width):
                ahead[i] += score[s, i] > score[own, i]
