"""Figures of content that ages equal the replay of a pool whose memories are older."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeper.evaluate import evaluate
from sweeper.expiry import Expiry, expiry_of
from sweeper.golden import GoldenSet
from sweeper.metrics import parse_metrics
from sweeper.pools import Pool
from sweeper.replay import Replay
from sweeper.settings import Settings
from tests.property.pools import pools, settings_for
from tests.property.test_exact import rounding_decides

METRICS = parse_metrics(["recall@2", "mrr", "ndcg@3", "citation_precision"])


def days_to_try(expiry: Expiry) -> list[float]:
    """Return days within each cell and near its ends, as far as the promise goes."""
    edges = [0.0, *expiry.edges.tolist()]
    tried = [0.0]
    for low, high in zip(edges, [*edges[1:], math.inf], strict=True):
        if math.isinf(high):
            tried += [low * (1 + 1e-9), low + 1.0, 2 * low + 100.0]
        elif high > low * (1 + 1e-10) + 1e-12:
            tried += [low * (1 + 1e-9), (low + high) / 2, high * (1 - 1e-9)]
    return [days for days in tried if days == 0 or 1e-9 < days < expiry.until]


def compare(pool: Pool, golden: GoldenSet, choice: Settings) -> tuple[int, int]:
    """Return how many days were compared, and at how many rounding alone decides."""
    expiry = expiry_of(Replay(pool, golden, compiled=False), choice, METRICS)
    assert bool((np.diff(expiry.edges) > 0).all())
    assert bool((expiry.edges > 0).all())
    compared = forgiven = 0
    for days in days_to_try(expiry):
        later = Replay(pool.at(days), golden, compiled=False)
        expected = evaluate(later.positions([choice]), METRICS).value[0]
        compared += 1
        if not np.array_equal(expiry.at(days), expected, equal_nan=True):
            doubts = [rounding_decides(later, choice, query) for query in range(len(golden))]
            assert any(doubts), (choice, days, expiry.at(days), expected)
            forgiven += 1
    return compared, forgiven


def compare_random_pools(n_pools: int) -> None:
    total = np.zeros(2, np.int64)

    @given(st.data())
    @settings(max_examples=n_pools, deadline=None, suppress_health_check=list(HealthCheck))
    def check(data: st.DataObject) -> None:
        nonlocal total
        pool, golden = data.draw(pools())
        half_life = data.draw(st.sampled_from([0.0, 0.5, 7.0, 30.0, 365.0]) | st.floats(0.05, 1000))
        choice = data.draw(settings_for(pool))
        choice = choice.with_values({"recency_half_life_days": half_life})
        total += compare(pool, golden, choice)

    check()
    compared, forgiven = total.tolist()
    assert compared > n_pools
    assert forgiven <= 0.01 * compared, (compared, forgiven)


def test_ageing_figures_equal_the_replay_of_older_content() -> None:
    compare_random_pools(30)


@pytest.mark.slow
def test_ageing_figures_equal_the_replay_of_older_content_on_10_000_pools() -> None:
    compare_random_pools(10_000)
