"""Bounds over tie orders equal those of trying every order, on small pools."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeper import tied_orders
from sweeper.corpus import STORES
from sweeper.golden import GoldenSet, Query, Route
from sweeper.metrics import parse_metrics
from sweeper.pools import VECTOR, Candidate, Pool, QueryCandidates
from sweeper.ranking import RankedRow, rank
from sweeper.replay import Replay
from sweeper.runs import Judgments, Run
from sweeper.settings import Settings
from sweeper.ties import tie_bounds
from tests.property.pools import Liked

METRICS = (
    *parse_metrics(["recall@1", "recall@2", "hit@1", "mrr", "precision@2", "citation_precision"]),
    *parse_metrics(["ndcg@3", "ap", "abstention", "returned"]),
)
MOST_TRIED = 3000
PROMISED = 5000  # channel orders of one question up to which the bounds are exact


def orders_within(rows: Sequence[Candidate]) -> Iterator[tuple[Candidate, ...]]:
    """Yield every order of rows in which values never ascend."""
    ordered = sorted(rows, key=lambda row: -row.value)
    groups = [list(g) for _, g in itertools.groupby(ordered, key=lambda row: row.value)]
    for chosen in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield tuple(itertools.chain(*chosen))


def channel_orders(
    query: QueryCandidates, channel: str, choice: Settings
) -> set[tuple[Candidate, ...]]:
    """Return every merged list of a channel: any tied rows within depth, in any order."""
    found: set[tuple[Candidate, ...]] = set()
    per_store = [list(orders_within(query.rows.get((channel, store), ()))) for store in STORES]
    for lists in itertools.product(*per_store):
        within = [row for rows in lists for row in rows[: choice.effective_depth]]
        if channel == VECTOR and choice.min_similarity is not None:
            within = [row for row in within if row.value >= choice.min_similarity]
        found.update(orders_within(within))
    return found


def rankings(
    query: QueryCandidates, choice: Settings, channels: Sequence[str], prior: Mapping[str, float]
) -> Iterator[list[RankedRow]]:
    """Yield the ranking under every order of the channels, uncut."""
    free = choice.with_values({"min_similarity": None, "depth": 100, "limit": 100})
    for lists in itertools.product(*(channel_orders(query, name, choice) for name in channels)):
        rows: dict[tuple[str, str], list[Candidate]] = {}
        for name, ordered in zip(channels, lists, strict=True):
            for place, row in enumerate(ordered):  # values that keep the order when merged
                rows.setdefault((name, row.store), []).append(row._replace(value=-float(place)))
        found = QueryCandidates("q", rows)  # type: ignore[arg-type]
        yield rank(found, free, channels=channels, prior=prior)


def final_orders(rows: Sequence[RankedRow]) -> Iterator[tuple[str, ...]]:
    """Yield the keys in every order of rows of equal score."""
    blocks = [list(g) for _, g in itertools.groupby(rows, key=lambda row: row.score)]
    kinds = [set(itertools.permutations([row.key for row in block])) for block in blocks]
    for chosen in itertools.product(*kinds):
        yield tuple(itertools.chain(*chosen))


def brute_bounds(
    pool: Pool, number: int, question: Query, choice: Settings
) -> Mapping[str, tuple[float, float]] | None:
    """Return each metric's bounds by trying every order; ``None`` if these are too many."""
    choice = choice.for_class(question.query_class)
    active = [name for name in pool.channels if choice.weight(name) > 0]
    query = pool.candidates(number)
    size = 1
    for (name, _), rows in query.rows.items():
        if name in active:
            for _, group in itertools.groupby(rows, key=lambda row: row.value):
                size *= math.factorial(len(list(group)))
    if size > MOST_TRIED:
        return None
    # Ties across stores multiply the orders; beyond what is promised, bounds may be outer ones.
    if math.prod(len(channel_orders(query, name, choice)) for name in active) > PROMISED:
        return None
    seen: set[tuple[str, ...]] = set()
    for ranking in rankings(query, choice, active, pool.prior_factors(choice)):
        seen.update(keys[: choice.limit] for keys in final_orders(ranking))
        if len(seen) > MOST_TRIED:
            return None
    judgments = Judgments(GoldenSet((question,)))
    bounds = {}
    for metric in METRICS:
        if len(metric.queries(judgments)):
            values = [
                float(metric.values(Run({question.query_id: keys}).positions(judgments)).item())
                for keys in seen
            ]
            bounds[str(metric)] = (min(values), max(values))
    return bounds


@st.composite
def tied_pools(draw: st.DrawFn) -> tuple[Pool, GoldenSet, Settings]:
    """Return one question over a few rows with many ties, and settings."""
    n_items = draw(st.integers(0, 6))
    items = []
    for number in range(n_items):
        if draw(st.booleans()):
            age = draw(st.sampled_from([0.0, 30.0, 30.0, math.nan]))
            items.append(Candidate(f"m{number}", f"m{number}", "memory", 0.0, age))
        else:
            items.append(Candidate(f"d{number // 2}@{number}", f"d{number // 2}", "document", 0.0))
    channels = draw(st.sampled_from([("vector",), ("vector", "lexical")]))
    depth = draw(st.integers(1, 4))
    rows = {}
    for channel in channels:
        for store in STORES:
            own = [item for item in items if item.store == store]
            chosen = draw(st.permutations(own))[: draw(st.integers(0, 4))]
            values = st.lists(
                st.sampled_from([0.5, 0.5, 0.25]), min_size=len(chosen), max_size=len(chosen)
            )
            ordered = sorted(draw(values), reverse=True)
            rows[channel, store] = [
                row._replace(value=value) for row, value in zip(chosen, ordered, strict=True)
            ]
    pool = Pool.from_candidates([QueryCandidates("q", rows)], channels=channels, depth=4)
    keys = [*dict.fromkeys(item.key for item in items), "nowhere"]
    expected = draw(st.lists(st.sampled_from(keys), unique=True, max_size=3))
    grades = {key: float(draw(st.integers(1, 3))) for key in expected}
    choice = Settings(
        rrf_k=draw(st.sampled_from([1, 2, 60])),
        min_similarity=draw(st.sampled_from([None, None, 0.3])),
        recency_half_life_days=draw(st.sampled_from([0.0, 30.0, 0.01])),
        limit=draw(st.integers(1, 6)),
        depth=depth,
        weights={"lexical": draw(st.sampled_from([1.0, 1.0, 0.5, 0.0]))},
        routing={
            "routing.impact.budget": draw(st.sampled_from([None, 2])),
            "routing.impact.weights.vector": draw(st.sampled_from([1.0, 0.5])),
        },
        usage={"prior.strength": draw(st.sampled_from([0.0, 1.0]))},
    )
    liked = {key: draw(st.sampled_from([1.0, 1.0, 2.0])) for key in keys}
    pool = replace(pool, usefulness=Liked(liked))
    question = Query("q", "s", "text", tuple(expected), grades, route=Route("impact", "drawn"))
    return pool, GoldenSet((question,)), choice


def compare(n_examples: int, *, most_orders: int | None = None) -> tuple[int, int]:
    """Compare bounds with brute force; return how many were compared, and how many are wider."""
    compared, wider = 0, 0

    @given(tied_pools())
    @settings(max_examples=n_examples, deadline=None, suppress_health_check=list(HealthCheck))
    def check(case: tuple[Pool, GoldenSet, Settings]) -> None:
        nonlocal compared, wider
        pool, golden, choice = case
        expected = brute_bounds(pool, 0, golden.queries[0], choice)
        if expected is None:
            return
        bounds = tie_bounds(Replay(pool, golden, compiled=False), choice, METRICS)
        for column, metric in enumerate(METRICS):
            low, high = bounds.query_lowest[0, column], bounds.query_highest[0, column]
            captured = bounds.captured[0, column]
            if str(metric) not in expected:
                assert math.isnan(low)
                assert math.isnan(captured)
                continue
            assert low <= captured <= high
            least, most = expected[str(metric)]
            compared += 1
            if bounds.exact[0]:
                assert (low, high) == pytest.approx((least, most), abs=1e-12), str(metric)
            else:
                assert low <= least + 1e-12, str(metric)
                assert high >= most - 1e-12, str(metric)
                wider += (low, high) != pytest.approx((least, most), abs=1e-12)
            np.testing.assert_array_equal(bounds.lowest[:, column], [low, low])
            np.testing.assert_array_equal(bounds.highest[:, column], [high, high])

    with pytest.MonkeyPatch.context() as patch:
        if most_orders is not None:
            patch.setattr(tied_orders, "MOST_ORDERS", most_orders)
        check()
    return compared, wider


@pytest.mark.slow
def test_tie_bounds_equal_those_of_trying_every_order() -> None:
    compared, wider = compare(300)
    assert compared > 1000
    assert wider == 0


def test_outer_bounds_hold_every_order() -> None:
    compared, wider = compare(200, most_orders=1)
    assert compared > 500
    assert wider > 0


@pytest.mark.slow
def test_tie_bounds_equal_those_of_trying_every_order_on_10_000_pools() -> None:
    assert compare(10_000)[1] == 0
