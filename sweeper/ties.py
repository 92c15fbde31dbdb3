"""How far figures hang on the order of tied rows (``docs/semantics.md``).

Rows of equal channel value may stand in any order, across stores and across the cut at ``depth``;
so may rows of equal final score. ``tied_orders`` enumerates the orders of the channels. Ties of
final scores need no enumeration: the best order of a block of equal scores is known, and so are the
few that can be worst. Where the orders are too many the bounds are outer ones, wide enough for any.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sweeper.evaluate import exact_sums
from sweeper.golden import OVERALL
from sweeper.metrics import Metric
from sweeper.pools import FloatArray
from sweeper.replay import Replay
from sweeper.runs import Judgments, Positions
from sweeper.settings import Settings
from sweeper.tied_orders import TiedOrders

__all__ = ["TieBounds", "tie_bounds"]

_MOST_BLOCKS = 720
"""Worst orders of equal final scores that are tried per channel order: of six new keys."""

_Span: TypeAlias = tuple[int, int, list[int]]
"""Rows before a block of equal scores, rows until its end, and the relevant rows within."""


@dataclass(frozen=True, slots=True, eq=False)
class TieBounds:
    """Each figure with ties as captured, and what other orders of tied rows could give.

    Attributes
    ----------
    groups, metrics
        As in ``Figures``.
    captured, lowest, highest : shape (n_groups, n_metrics)
    query_lowest, query_highest : shape (n_queries, n_metrics)
        The same per question; NaN where a metric is undefined.
    exact : shape (n_queries,)
        Whether some order gives the question's bounds; else they may be too wide, never too narrow.
    """

    groups: tuple[str, ...]
    metrics: tuple[Metric, ...]
    captured: FloatArray
    lowest: FloatArray
    highest: FloatArray
    query_lowest: FloatArray
    query_highest: FloatArray
    exact: NDArray[np.bool_]

    @property
    def affected_queries(self) -> NDArray[np.intp]:
        """Questions of which some metric hangs on ties."""
        return np.flatnonzero((self.query_lowest < self.query_highest).any(axis=1))

    @property
    def inexact_queries(self) -> NDArray[np.intp]:
        """Questions whose ties are too many to enumerate."""
        return np.flatnonzero(~self.exact)


def tie_bounds(replay: Replay, settings: Settings, metrics: Sequence[Metric]) -> TieBounds:
    """Compute the lowest and highest value of each figure over all orders of tied rows.

    Questions do not influence each other, so the bounds of a mean are the means of the bounds.

    Parameters
    ----------
    replay
        Pool and golden set.
    settings
        Any settings that the pool is deep enough for.
    metrics
        What to bound.
    """
    replay = replay.of(settings)
    golden, pool, judgments = replay.golden, replay.pool, replay.judgments
    prior = pool.prior_factors(settings)
    number = {query_id: place for place, query_id in enumerate(pool.query_ids)}
    low = np.full((len(golden), len(metrics)), np.nan)
    high = low.copy()
    exact = np.ones(len(golden), bool)
    for place, query in enumerate(golden.queries):
        candidates = pool.candidates(number[query.query_id])
        ties = TiedOrders(candidates, query, settings, pool.channels, prior)
        one = judgments.take(np.array([place]))
        best, worst, exact[place] = _positions(ties, one)
        for column, metric in enumerate(metrics):
            if len(metric.queries(one)):
                low[place, column] = metric.values(worst).min()
                # Outer bounds may give several rows one position.
                most = 1.0 if metric.larger_is_better else math.inf
                high[place, column] = min(float(metric.values(best).max()), most)
    return TieBounds(
        groups=(*judgments.slices, OVERALL),
        metrics=tuple(metrics),
        captured=replay.figures([settings], metrics).value[0],
        lowest=_means(low, judgments, metrics),
        highest=_means(high, judgments, metrics),
        query_lowest=low,
        query_highest=high,
        exact=exact,
    )


def _means(values: FloatArray, judgments: Judgments, metrics: Sequence[Metric]) -> FloatArray:
    n_groups = len(judgments.slices) + 1
    means = np.full((n_groups, len(metrics)), np.nan)
    for column, metric in enumerate(metrics):
        defined = metric.queries(judgments)
        member = np.zeros((len(defined), n_groups))
        member[np.arange(len(defined)), judgments.slice_of[defined]] = 1.0
        member[:, -1] = 1.0
        with np.errstate(invalid="ignore"):
            means[:, column] = exact_sums(values[defined, column][None], member) / member.sum(
                axis=0
            )
    return means


def _positions(ties: TiedOrders, judgments: Judgments) -> tuple[Positions, Positions, bool]:
    """Return a question's best and worst positions over all orders, and whether they are exact.

    Every trial is one order, but for outer bounds.
    """
    outcomes = ties.outcomes()
    if outcomes is None:
        best_places, worst_places, counts = ties.widest()
        best = [(count, best_places) for count in counts]
        worst = [(count, worst_places) for count in counts]
        return _as_trials(ties, judgments, best), _as_trials(ties, judgments, worst), False
    keys = ties.key[ties.targets].tolist()
    best, worst, exact = [], [], True
    for returned, *rest in outcomes.tolist():
        ahead, until = rest[: len(keys)], rest[len(keys) :]
        blocks: dict[int, list[int]] = {}
        for place, end in enumerate(until):
            if end:
                blocks.setdefault(end, []).append(place)
        spans = [(ahead[members[0]], end, members) for end, members in sorted(blocks.items())]
        best.append((returned, _best_order(spans, keys, judgments.gain)))
        found = list(itertools.islice(_worst_orders(spans, keys), _MOST_BLOCKS + 1))
        if len(found) > _MOST_BLOCKS:
            exact = False
            found = [{place: end for _, end, members in spans for place in members}]
        worst += [(returned, order) for order in found]
    return _as_trials(ties, judgments, best), _as_trials(ties, judgments, worst), exact


def _as_trials(
    ties: TiedOrders, judgments: Judgments, orders: Sequence[tuple[int, dict[int, int]]]
) -> Positions:
    key = ties.key[ties.targets]
    by_key = np.argsort(key, kind="stable")
    position = np.zeros((len(orders), len(key)), np.int32)
    for trial, (_, places) in enumerate(orders):
        for target, place in places.items():
            position[trial, target] = place if place <= ties.settings.limit else 0
    returned = np.array([[count] for count, _ in orders], np.int32)
    return Positions(judgments, key[by_key], position[:, by_key], returned)


def _best_order(spans: Sequence[_Span], keys: Sequence[int], gain: FloatArray) -> dict[int, int]:
    """Return positions when relevant rows stand first among their equals.

    New keys come before repeated ones, higher grades first: no metric can gain by another order.
    """
    places: dict[int, int] = {}
    seen: set[int] = set()
    for ahead, _, members in spans:
        new = {keys[target]: target for target in reversed(members) if keys[target] not in seen}
        firsts = sorted(new.values(), key=lambda target: -float(gain[keys[target]]))
        order = firsts + [target for target in members if target not in firsts]
        places.update({target: ahead + n for n, target in enumerate(order, start=1)})
        seen |= set(new)
    return places


def _worst_orders(spans: Sequence[_Span], keys: Sequence[int]) -> Iterator[dict[int, int]]:
    """Yield positions when relevant rows stand last among their equals.

    Repeated keys come before new ones, and all rows of one key together; which of the new keys
    stands last depends on the metric, so every order of these is one.
    """
    choices: list[list[list[int]]] = []
    seen: set[int] = set()
    for _, _, members in spans:
        old = [target for target in members if keys[target] in seen]
        new = list(dict.fromkeys(keys[target] for target in members if keys[target] not in seen))
        of_key = {key: [target for target in members if keys[target] == key] for key in new}
        orders = itertools.islice(itertools.permutations(new), _MOST_BLOCKS + 1)
        choices.append([old + [t for key in order for t in of_key[key]] for order in orders])
        seen |= set(new)
    for chosen in itertools.product(*choices):
        yield {
            target: end - len(order) + n
            for (_, end, _), order in zip(spans, chosen, strict=True)
            for n, target in enumerate(order, start=1)
        }
