"""Intervals around exact curves."""

from __future__ import annotations

import numpy as np
import pytest

from sweeper.exact import exact_curve
from sweeper.metrics import parse_metrics
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.staircase import Curve
from sweeper.stats import bootstrap_curve
from tests.property.pools import random_pool

METRICS = parse_metrics(["recall@2", "mrr"])
MRR = 1
SEED = 7
SAMPLES = 400


@pytest.fixture(scope="module")
def replay() -> Replay:
    return Replay(*random_pool(3, n_queries=15, depth=10), compiled=False)


@pytest.fixture(scope="module")
def curve(replay: Replay) -> Curve:
    return exact_curve(replay, Settings(limit=8, depth=10), "recency_half_life_days", METRICS)


def test_a_seed_repeats_the_intervals_and_another_changes_them(
    curve: Curve, replay: Replay
) -> None:
    slices = replay.judgments.slice_of
    one, same, other = (bootstrap_curve(curve, slices, MRR, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.low, same.low)
    np.testing.assert_array_equal(one.high, same.high)
    assert bool((one.high != other.high).any())
    assert one.level == 0.95


def test_intervals_equal_resampling_the_replayed_values_of_a_cell(
    curve: Curve, replay: Replay
) -> None:
    slices = replay.judgments.slice_of
    band = bootstrap_curve(curve, slices, MRR, n_samples=SAMPLES, seed=SEED)
    rng = np.random.default_rng(SEED)
    n_slices = len(curve.groups) - 1
    members = [np.flatnonzero(slices == number) for number in range(n_slices)]
    drawn = [
        rng.multinomial(len(own), np.full(len(own), 1 / len(own)), size=SAMPLES) for own in members
    ]
    first = curve.cell(curve.underflow[1]) if curve.underflow else 0
    cells = np.linspace(first, len(curve.edges), 7).astype(int).tolist()
    for cell in cells:
        choice = curve.settings.with_values({curve.knob.name: curve.middle(cell)})
        values = METRICS[MRR].values(replay.positions([choice]))[0]
        sums = [counts @ values[own] for counts, own in zip(drawn, members, strict=True)]
        for number, own in enumerate(members):
            expected = np.quantile(sums[number] / len(own), [0.025, 0.975])
            found = [band.low[cell, number], band.high[cell, number]]
            np.testing.assert_allclose(found, expected, atol=1e-12)
        expected = np.quantile(sum(sums) / len(slices), [0.025, 0.975])
        np.testing.assert_allclose([band.low[cell, -1], band.high[cell, -1]], expected, atol=1e-12)


def test_cells_in_which_scores_underflow_have_no_interval(curve: Curve, replay: Replay) -> None:
    band = bootstrap_curve(curve, replay.judgments.slice_of, MRR, n_samples=10, seed=SEED)
    assert curve.underflow is not None
    first = curve.cell(curve.underflow[1])
    assert bool(np.isnan(band.low[:first]).all())
    assert not bool(np.isnan(band.low[first:]).any())


def test_the_curve_is_computed_in_pieces_of_any_width(
    curve: Curve, replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices = replay.judgments.slice_of
    whole = bootstrap_curve(curve, slices, MRR, n_samples=50, seed=SEED)
    monkeypatch.setattr("sweeper.stats._VALUES_AT_ONCE", 200)
    pieces = bootstrap_curve(curve, slices, MRR, n_samples=50, seed=SEED)
    np.testing.assert_allclose(whole.low, pieces.low, atol=1e-12)
    np.testing.assert_allclose(whole.high, pieces.high, atol=1e-12)
