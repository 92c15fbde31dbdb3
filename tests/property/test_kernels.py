"""The compiled kernel equals the numpy path bit for bit."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper.evaluate import Evaluator
from sweeper.golden import GoldenSet, Query
from sweeper.metrics import parse_metrics
from sweeper.pools import Pool
from sweeper.replay import Replay
from sweeper.settings import Settings
from tests.builders import document, found, pool_of
from tests.property.pools import HALF_LIVES, grids_for, pools, random_pool, settings_for

pytest.importorskip(
    "numba", reason="numba is not installed: the compiled kernel is an extra (fast)"
)

METRICS = parse_metrics(["recall@1", "recall@3", "recall@10", "hit@2", "mrr"])


def assert_equal_counts(pool: Pool, golden: GoldenSet, choices: list[Settings]) -> None:
    """Compare bin counts, which decide every figure, and the figures themselves."""
    from sweeper import kernels

    replay = Replay(pool, golden, compiled=False).of(choices[0])
    layout = replay.layout(choices[0].effective_depth)
    evaluator = Evaluator(replay.judgments, METRICS, max(item.limit for item in choices))
    numpy_counts = evaluator.count(replay.positions(choices))
    if len(replay.judgments.answerable):
        for grid_from in (1, 3, 1000):  # everything is grids, some is, nothing is
            with patch.object(kernels, "_GRID_FROM", grid_from):
                counts = kernels.count_features(layout, evaluator, choices)
            assert numpy_counts.tolist() == counts.tolist()
    own = replay.figures(choices, METRICS)
    other = Replay(pool, golden, compiled=True).figures(choices, METRICS)
    assert own.value.tobytes() == other.value.tobytes()


@given(st.data())
@settings(deadline=None)
def test_compiled_figures_of_unrelated_settings_equal_numpys(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    depth = data.draw(st.integers(1, pool.depth))
    choices = [
        data.draw(settings_for(pool)).with_values({"depth": depth, "stores": "all"})
        for _ in range(data.draw(st.integers(1, 5)))
    ]
    assert_equal_counts(pool, golden, choices)


@given(st.data())
@settings(deadline=None)
def test_compiled_figures_of_a_grid_equal_numpys(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    assert_equal_counts(pool, golden, data.draw(grids_for(pool)))


@given(st.data())
@settings(deadline=None)
def test_compiled_figures_of_three_channels_equal_numpys(data: st.DataObject) -> None:
    pool, golden = data.draw(pools(channels=("vector", "lexical", "triples")))
    assert_equal_counts(pool, golden, data.draw(grids_for(pool)))


@given(st.data())
@settings(deadline=None)
def test_settings_of_several_depths_are_replayed_together(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    choices = [data.draw(settings_for(pool)) for _ in range(4)]
    own = Replay(pool, golden, compiled=False).figures(choices, METRICS)
    other = Replay(pool, golden, compiled=True).figures(choices, METRICS)
    assert own.value.tobytes() == other.value.tobytes()


@given(st.data())
@settings(deadline=None)
def test_compiled_figures_of_a_grid_with_gaps_equal_numpys(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    grid = data.draw(grids_for(pool))
    chosen = data.draw(st.lists(st.sampled_from(grid), min_size=1, max_size=2 * len(grid)))
    assert_equal_counts(pool, golden, chosen)


@given(st.data())
@settings(deadline=None, max_examples=20)
def test_more_lanes_than_are_counted_at_once_give_the_same_figures(
    data: st.DataObject,
) -> None:
    pool, golden = data.draw(pools(channels=("vector", "lexical")))
    base = data.draw(settings_for(pool))
    half_lives = [0.0, *(1.0 + number / 7 for number in range(600)), data.draw(HALF_LIVES)]
    choices = [base.with_values({"recency_half_life_days": h}) for h in half_lives]
    assert_equal_counts(pool, golden, choices)


# Where the vector channel comes last, a row may lose its vector rank and keep its place in ties.
@pytest.mark.parametrize("channels", [("vector", "lexical"), ("lexical", "vector")])
@pytest.mark.parametrize("seed", range(4))
def test_compiled_figures_of_crowded_pools_equal_numpys(
    seed: int, channels: tuple[str, ...]
) -> None:
    pool, golden = random_pool(seed, n_queries=30, depth=12, channels=channels)
    choices = [
        Settings(k, floor, half_life, limit=10, depth=12)
        for k in (1, 2, 60)
        for floor in (None, 0.0, 0.45)
        for half_life in (0.0, 0.1, 7.0, 30.0, 365.0, 1e17)
    ]
    assert_equal_counts(pool, golden, choices)


@pytest.mark.parametrize("seed", range(4))
def test_compiled_figures_of_unlike_settings_of_crowded_pools_equal_numpys(seed: int) -> None:
    # Every trial has its own weights, limit and floor: some share nothing, some are the same.
    pool, golden = random_pool(seed, n_queries=20, depth=12)
    rng = np.random.default_rng(seed)
    choices = [
        Settings(
            rrf_k=int(rng.integers(1, 80)),
            min_similarity=None if rng.random() < 0.1 else float(rng.integers(-2, 20)) / 20,
            recency_half_life_days=float(rng.choice([0.0, 0.1, 7.0, 30.0, 365.0])),
            limit=int(rng.integers(1, 13)),
            depth=12,
            weights={
                "vector": float(rng.choice([0.0, 0.5, 1.0])),
                "lexical": float(rng.choice([0.0, 1.0, 2.0])),
            },
        )
        for _ in range(400)
    ]
    assert_equal_counts(pool, golden, choices + choices[:50])


def test_metrics_that_need_positions_take_the_numpy_path() -> None:
    pool = pool_of(found(vector=[document("a", 0.9)]))
    golden = GoldenSet((Query("q", "s", "text", ("a",)),))
    figures = Replay(pool, golden, compiled=True).figures([Settings()], parse_metrics(["ap"]))
    assert figures.get("overall.ap") == 1.0


def test_a_golden_set_without_answers_takes_the_numpy_path() -> None:
    pool = pool_of(found(vector=[document("a", 0.9)]))
    golden = GoldenSet((Query("q", "s", "text", ()),))
    figures = Replay(pool, golden, compiled=True).figures(
        [Settings()], parse_metrics(["mrr", "abstention"])
    )
    assert figures.get("overall.abstention") == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_compiled_figures_of_many_crowded_pools_equal_numpys(seed: int) -> None:
    pool, golden = random_pool(seed, n_queries=50, depth=15)
    choices = [
        Settings(k, floor, half_life, limit=limit, depth=15, weights={"vector": weight})
        for k in (1, 3, 20, 60)
        for floor in (None, 0.0, 0.3, 0.45)
        for half_life in (0.0, 0.05, 7.0, 30.0, 60.0, 365.0, 1e6)
        for limit, weight in ((10, 1.0), (3, 0.25))
    ]
    assert_equal_counts(pool, golden, choices)
