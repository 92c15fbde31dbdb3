"""The fast path equals the readable one: every position, ties included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper.evaluate import evaluate, exact_sums
from sweeper.golden import OVERALL, GoldenSet
from sweeper.metrics import METRICS, parse_metric
from sweeper.pools import Pool
from sweeper.ranking import rank_captured
from sweeper.replay import Replay
from sweeper.runs import Run
from sweeper.settings import Settings
from tests.property.pools import grids_for, pools, random_pool, settings_for


def run_of(pool: Pool, golden: GoldenSet, choice: Settings) -> Run:
    """Rank every query by the readable definition."""
    return Run(
        {
            query.query_id: [row.key for row in rank_captured(pool, query, choice)]
            for query in golden.queries
        }
    )


def assert_same_positions(pool: Pool, golden: GoldenSet, choices: list[Settings]) -> None:
    positions = Replay(pool, golden).positions(choices)
    judgments = positions.judgments
    for trial, choice in enumerate(choices):
        run = run_of(pool, golden, choice)
        for query, question in enumerate(golden.queries):
            result = run.results[question.query_id]
            assert positions.returned[trial, query] == len(result), choice
            for key in question.expected:
                number = judgments.key_number[query, key]
                ours = positions.position[trial, positions.row_key == number]
                expected = [place for place, k in enumerate(result, 1) if k == key]
                assert sorted(ours[ours > 0].tolist()) == expected, (choice, question)


@given(st.data())
@settings(deadline=None)
def test_replay_of_any_settings_equals_ranking(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    assert_same_positions(pool, golden, [data.draw(settings_for(pool))])


@given(st.data())
@settings(deadline=None)
def test_replay_of_a_grid_equals_ranking(data: st.DataObject) -> None:
    pool, golden = data.draw(pools(channels=("vector", "lexical")))
    assert_same_positions(pool, golden, data.draw(grids_for(pool)))


@pytest.mark.parametrize("seed", range(6))
def test_replay_of_crowded_pools_equals_ranking(seed: int) -> None:
    pool, golden = random_pool(seed, n_queries=6, depth=12)
    choices = [
        Settings(k, floor, half_life, limit=10, depth=12)
        for k in (1, 2, 60)
        for floor in (None, 0.0, 0.45, 0.5)
        for half_life in (0.0, 0.1, 7.0, 30.0, 60.0, 365.0, 1e6, 1e17)
    ]
    assert_same_positions(pool, golden, choices)


@given(st.data())
@settings(deadline=None)
def test_figures_are_the_correctly_rounded_mean_of_each_query(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    choice = data.draw(settings_for(pool))
    metrics = [parse_metric(f"{m}@3" if METRICS[m].takes_cutoff else m) for m in METRICS]
    replay = Replay(pool, golden)
    figures = replay.figures([choice], metrics)
    positions = replay.positions([choice])
    for metric in metrics:
        values = metric.values(positions)[0]
        defined = metric.queries(positions.judgments)
        for group in (*golden.slices, OVERALL):
            member = [
                float(v)
                for v, q in zip(values, defined, strict=True)
                if group in (OVERALL, golden.queries[q].slice)
            ]
            ours = figures.get(f"{group}.{metric}")
            if not member:
                assert math.isnan(ours)
            else:
                assert ours == math.fsum(member) / len(member)


@given(st.data())
@settings(deadline=None)
def test_figures_of_replay_equal_figures_of_the_ranked_lists(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    choice = data.draw(settings_for(pool))
    metrics = [parse_metric(f"{m}@3" if METRICS[m].takes_cutoff else m) for m in METRICS]
    replay = Replay(pool, golden)
    plain = evaluate(run_of(pool, golden, choice).positions(replay.judgments), metrics)
    fast = replay.figures([choice], metrics)
    np.testing.assert_array_equal(plain.value, fast.value)
    np.testing.assert_array_equal(plain.n_queries, fast.n_queries)


@given(
    st.lists(
        st.floats(0, 8, allow_subnormal=False).filter(lambda v: v == 0 or v > 1e-6), max_size=60
    )
)
def test_exact_sums_equal_fsum(values: list[float]) -> None:
    ours = exact_sums(np.array([values]), np.ones((len(values), 1)))
    assert ours.item() == math.fsum(values)
