"""The replay's inner loop compiled with numba (extra ``fast``), for large sweeps.

Equal to ``replay`` bit for bit: the same shares summed in the same order, the same tie key, and
the same decay factors. They come from Python as a table, since a compiler may turn ``2 ** x`` into
``exp2(x)``, which differs in the last bit. Feature values are counted as they arise, so positions
are never stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sweeper.evaluate import Evaluator
from sweeper.knobs import TRIPLES
from sweeper.layout import Layout
from sweeper.pools import VECTOR
from sweeper.ranking import decay_factor
from sweeper.settings import Settings

__all__ = ["count_features"]

_TABLE_ROWS = 512
"""Half-lives up to which a query's decay factors are laid out once for all its trials."""


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
    n_queries = evaluator.judgments.n_queries
    counts = np.zeros((evaluator.n_bins, len(settings)), np.int32)
    cutoffs = np.array([feature.cutoff for feature in evaluator.features], np.int64)
    slots = np.ascontiguousarray(layout.ranks.transpose(2, 0, 1))
    age_number = np.ascontiguousarray(layout.age_number.T)
    used = (layout.ranks > 0).any(axis=0).sum(axis=0, dtype=np.int64)  # slots fill from the front
    targets = _targets(layout, n_queries)
    half_lives = sorted({item.recency_half_life_days for item in settings})
    factors = np.array(
        [[decay_factor(age, half_life) for age in layout.ages.tolist()] for half_life in half_lives]
    )
    routed = any(item.routing for item in settings)
    for query_class, offset in _classes(layout, evaluator, routed=routed):
        own = np.zeros_like(counts) if routed else counts
        stand_in = np.arange(len(settings))
        groups: dict[object, list[int]] = {}
        for number, item in enumerate(settings):
            groups.setdefault(_group_key(item, query_class, layout), []).append(number)
        for members in groups.values():
            one = settings[members[0]]
            prior = layout.prior(one)
            chosen = _distinct(settings, members, stand_in) if routed else members
            _count(  # type: ignore[call-arg]
                slots,
                age_number,
                used,
                *targets,
                factors,
                np.empty((0, 0)) if prior is None else np.ascontiguousarray(prior.T),
                np.array(one.weights_of(query_class, layout.channels), np.float64),
                *_plan(layout, settings, chosen, half_lives),
                one.limit_of(query_class),
                cutoffs,
                offset,
                np.empty((min(len(half_lives), _TABLE_ROWS), max(1, layout.n_slots))),
                own,
            )
        if routed:
            counts += own[:, stand_in]
    return counts.T


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


def _group_key(item: Settings, query_class: str | None, layout: Layout) -> object:
    """Return what trials that are counted together share for questions of a class."""
    if item.routing:
        weights = item.weights_of(query_class, layout.channels)
        return item.limit_of(query_class), weights, item.prior
    # A safe weight hangs on rrf_k.
    safe = TRIPLES in layout.channels and TRIPLES not in item.weights
    return item.limit, *item.weights.items(), item.rrf_k if safe else 0, item.prior


def _distinct(
    settings: Sequence[Settings], members: list[int], stand_in: NDArray[np.intp]
) -> list[int]:
    """Return trials that differ, and write for each trial which of them it equals."""
    first: dict[object, int] = {}
    for number in members:
        item = settings[number]
        key = item.rrf_k, item.min_similarity, item.recency_half_life_days
        stand_in[number] = first.setdefault(key, number)
    return list(first.values())


def _targets(layout: Layout, n_queries: int) -> tuple[NDArray[np.int64], ...]:
    """Return where each query's targets start, and each target's slot and key."""
    start = np.searchsorted(layout.target_query, np.arange(n_queries + 1))
    return tuple(
        np.asarray(array, np.int64) for array in (start, layout.target_slot, layout.target_key)
    )


def _plan(
    layout: Layout, settings: Sequence[Settings], members: list[int], half_lives: list[float]
) -> tuple[Any, ...]:
    """Order trials so that those which share work are adjacent.

    Returns the vector channel, survivors per floor and query; per step (one constant and one floor)
    those two and where its trials start; and each trial's half-life and number.
    """
    vector = layout.channels.index(VECTOR) if VECTOR in layout.channels else -1
    floors = {settings[m].min_similarity for m in members}
    ordered = sorted(floors, key=lambda floor: -2.0 if floor is None else floor)
    place = {floor: number for number, floor in enumerate(ordered)}
    survivors = np.stack([layout.survivors(floor) for floor in ordered]).astype(np.int64)
    row = {half_life: number for number, half_life in enumerate(half_lives)}
    table = np.array(
        sorted(
            (
                settings[m].rrf_k,
                place[settings[m].min_similarity],
                row[settings[m].recency_half_life_days],
                m,
            )
            for m in members
        ),
        np.int64,
    )
    steps = np.flatnonzero(np.r_[True, (table[1:, :2] != table[:-1, :2]).any(axis=1)])
    return (
        vector,
        survivors,
        table[steps, 0],
        table[steps, 1],
        np.append(steps, len(table)),
        table[:, 2].copy(),
        table[:, 3].copy(),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _count(  # pragma: no cover
    slots: Any,
    age_number: Any,
    used: Any,
    target_start: Any,
    target_slot: Any,
    target_key: Any,
    factors: Any,
    prior: Any,
    weights: Any,
    vector: Any,
    survivors: Any,
    step_k: Any,
    step_floor: Any,
    step_start: Any,
    trial_factor: Any,
    trial_number: Any,
    limit: Any,
    cutoffs: Any,
    offsets: Any,
    decay: Any,
    counts: Any,
) -> None:
    n_queries, n_channels, n_slots = slots.shape
    n_features = cutoffs.shape[0]
    n_factors = factors.shape[0]
    tabled = n_factors <= decay.shape[0]
    longest = 0
    for q in range(n_queries):
        for c in range(n_channels):
            for s in range(used[q]):
                longest = max(longest, slots[q, c, s])
    # share[i, c, r] is what rank r of channel c adds under the i-th constant; rank 0 adds nothing.
    which = np.zeros(step_k.shape[0], np.int64)
    for step in range(1, step_k.shape[0]):
        which[step] = which[step - 1] + (step_k[step] != step_k[step - 1])
    share = np.zeros((which[-1] + 1, n_channels, longest + 1))
    for step in range(step_k.shape[0]):
        for c in range(n_channels):
            for r in range(1, longest + 1):
                share[which[step], c, r] = weights[c] / (step_k[step] + r)
    added = np.zeros((n_channels, max(1, n_slots)))
    base = np.empty(max(1, n_slots))
    score = np.empty(max(1, n_slots))
    bins = np.empty(n_features, np.uintp)  # unsigned: no test for a negative index
    # A half-life's bins under the present constant and survivors; stamped to know if they are old.
    memo = np.zeros((n_factors, n_features), np.uintp)
    stamp = np.zeros(n_factors, np.int64)
    now = 0
    for q in range(n_queries):
        if offsets[0, q] < 0:
            continue  # unanswerable
        n = used[q]
        rank = slots[q]
        first, last = target_start[q], target_start[q + 1]
        n_counted = n_features if n_features > 1 and offsets[1, q] >= 0 else 1
        if tabled:
            for f in range(n_factors):
                for s in range(n):
                    decay[f, s] = factors[f, age_number[q, s]]
        last_k = -1
        last_left = -1
        for step in range(step_k.shape[0]):
            k = which[step]
            left = survivors[step_floor[step], q]
            if k != last_k or left != last_left:
                now += 1
                if k != last_k:
                    for c in range(n_channels):
                        for s in range(n):
                            added[c, s] = share[k, c, rank[c, s]]
                for s in range(n):
                    base[s] = 0.0
                for c in range(n_channels):
                    if c == vector:
                        for s in range(n):
                            base[s] += added[c, s] if rank[c, s] <= left else 0.0
                    else:
                        for s in range(n):
                            base[s] += added[c, s]
                last_k = k
                last_left = left
            for t in range(step_start[step], step_start[step + 1]):
                chosen = np.uintp(trial_factor[t])
                if stamp[chosen] != now:
                    stamp[chosen] = now
                    if tabled:
                        row = decay[chosen]
                        for s in range(n):
                            score[s] = base[s] * row[s]
                    else:
                        row = factors[chosen]
                        for s in range(n):
                            score[s] = base[s] * row[age_number[q, s]]
                    if prior.shape[0] > 0:
                        for s in range(n):
                            score[s] *= prior[q, s]
                    for feature in range(n_counted):
                        bins[feature] = offsets[feature, q]
                    nearest = 0
                    best = 0
                    for target in range(first, last):
                        # The first position of one expected key is the best of its rows.
                        slot = target_slot[target]
                        own_order = _order(rank, slot, weights, vector, left, longest)
                        if own_order > 0:
                            own = score[slot]
                            ahead = 0
                            level = 0
                            for s in range(n):
                                ahead += score[s] > own
                                level += score[s] >= own
                            if ahead < limit and level - ahead > 1:
                                for s in range(n):
                                    if score[s] == own and s != slot:
                                        order = _order(rank, s, weights, vector, left, longest)
                                        ahead += 0 < order < own_order
                            if ahead < limit and (best == 0 or ahead + 1 < best):
                                best = ahead + 1
                        if target + 1 == last or target_key[target + 1] != target_key[target]:
                            if best > 0:
                                if nearest == 0 or best < nearest:
                                    nearest = best
                                for feature in range(1, n_counted):
                                    bins[feature] += best <= cutoffs[feature]
                            best = 0
                    bins[0] += nearest
                    for feature in range(n_counted):
                        memo[chosen, feature] = bins[feature]
                for feature in range(n_counted):
                    counts[memo[chosen, feature], np.uintp(trial_number[t])] += 1


@njit(cache=True, nogil=True, inline="always")
def _order(  # pragma: no cover
    rank: Any, slot: Any, weights: Any, vector: Any, left: Any, longest: Any
) -> Any:
    """Return a row's place in insertion order, from 1; 0 if no active channel holds it."""
    for c in range(rank.shape[0]):
        r = rank[c, slot]
        if r > 0 and weights[c] > 0.0 and (c != vector or r <= left):
            return c * (longest + 1) + r
    return 0
