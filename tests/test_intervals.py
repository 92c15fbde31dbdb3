"""Intervals equal scipy's, and never collapse."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from sweeper.intervals import bca, bounded_mean, clopper_pearson, mean_interval
from sweeper.pools import FloatArray

stats = cast(Any, scipy.stats)

RECIPROCALS = np.array([1.0] * 14 + [0.5] * 9 + [1 / 3] * 5 + [0.25] * 3 + [0.1, 0.125] + [0.0] * 9)


@given(st.integers(1, 400), st.data())
def test_the_binomial_interval_equals_scipys(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    theirs = stats.binomtest(successes, n).proportion_ci(0.95, method="exact")
    assert clopper_pearson(successes, n) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("n", [20, 42, 150])
def test_the_bootstrap_equals_scipys_within_monte_carlo_error(n: int, seed: int) -> None:
    values = np.random.default_rng(seed).choice(RECIPROCALS, n)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(seed)
    ).confidence_interval
    ours = bca([values], seed=seed, n_samples=20_000)
    # A tail's quantile has a standard error of about 2.7 sd / sqrt(resamples).
    error = 5 * 2.7 * values.std() / np.sqrt(n) / np.sqrt(20_000)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=error)


def test_the_bootstrap_resamples_within_strata() -> None:
    # Two slices without spread inside: resampling all together would see a spread that is none.
    parts = [np.full(30, 0.2) + np.arange(30) * 1e-3, np.full(30, 0.9) - np.arange(30) * 1e-3]
    low, high = bca(parts, seed=1)
    together = bca([np.concatenate(parts)], seed=1)
    mean = np.concatenate(parts).mean()
    assert low < mean < high
    assert (high - low) < 0.05 * (together[1] - together[0])


@pytest.mark.parametrize("value", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("n", [1, 2, 7, 19, 60])
def test_the_bounded_mean_never_collapses(value: float, n: int) -> None:
    low, high = bounded_mean(np.full(n, value), seed=3)
    assert 0 <= low <= value <= high <= 1
    # The classic bound: a share below 0.025 ** (1 / n) cannot be ruled out.
    assert high - low >= (1 - 0.025 ** (1 / n)) * max(value, 1 - value) - 0.02


def test_of_zeros_and_ones_the_bounded_mean_is_close_to_the_exact_interval() -> None:
    for successes in range(11):
        values = np.array([1.0] * successes + [0.0] * (10 - successes))
        exact = clopper_pearson(successes, 10)
        assert bounded_mean(values, seed=5) == pytest.approx(exact, abs=0.01)


def test_the_bounded_mean_mirrors() -> None:
    values = RECIPROCALS[::4]
    low, high = bounded_mean(values, seed=7)
    mirrored = bounded_mean(1 - values, seed=7)
    assert mirrored == pytest.approx((1 - high, 1 - low))
    assert bounded_mean(2 * values - 1, seed=7, bounds=(-1.0, 1.0)) == pytest.approx(
        (2 * low - 1, 2 * high - 1)
    )


@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=1, max_size=40))
def test_an_interval_holds_the_mean_and_keeps_to_the_bounds(values: list[float]) -> None:
    found = mean_interval([np.array(values)], seed=1)
    assert found is not None
    assert 0 <= found.low <= np.mean(values) + 1e-12
    assert np.mean(values) - 1e-12 <= found.high <= 1
    assert found.high > found.low


def method(*strata: FloatArray, bounds: tuple[float, float] = (0.0, 1.0)) -> str:
    found = mean_interval(strata, seed=1, bounds=bounds)
    assert found is not None
    return found.method


def test_the_values_decide_the_method() -> None:
    assert method(np.array([0.0, 1.0] * 30)) == "exact binomial"
    assert method(np.array([1.0])) == "exact binomial"
    assert method(np.array([0.5, 1.0] * 10)) == "BCa bootstrap"
    assert method(np.array([0.5] + [1.0] * 18)) == "bounded mean"
    assert method(np.full(60, 0.5)) == "bounded mean"
    assert method(np.full(30, 0.5), np.full(30, 0.25)) == "bounded mean", "no slice has spread"
    assert method(np.array([0.0, 1.0] * 30), bounds=(-1.0, 1.0)) == "BCa bootstrap"


def test_no_values_have_no_interval_and_empty_strata_do_not_count() -> None:
    assert mean_interval([], seed=1) is None
    assert mean_interval([np.array([])], seed=1) is None
    values = np.array([0.0, 1.0, 1.0])
    assert mean_interval([np.array([]), values], seed=1) == mean_interval([values], seed=1)


def test_a_seed_repeats_an_interval() -> None:
    assert bca([RECIPROCALS], seed=4) == bca([RECIPROCALS], seed=4) != bca([RECIPROCALS], seed=5)


def test_extreme_skew_raises_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = bca([np.array([0.0] * 199 + [1.0])], seed=1)
    assert 0 <= low < high < 0.1


@pytest.mark.parametrize("value", [0.0, 0.25, 1.0])
def test_equal_values_have_the_bound_that_sampling_would_give_in_the_limit(value: float) -> None:
    share = 0.025 ** (1 / 7)
    low, high = bounded_mean(np.full(7, value), seed=1)
    assert (low, high) == pytest.approx((value * share, 1 - (1 - value) * share))
    near = np.full(7, value)
    near[0] += 1e-9 if value < 1 else -1e-9
    assert bounded_mean(near, seed=1) == pytest.approx((low, high), abs=0.01)


@pytest.mark.slow
def test_many_equal_or_two_valued_strata_need_little_memory() -> None:
    import tracemalloc

    tracemalloc.start()
    bounded_mean(np.full(1_000_000, 0.5), seed=1)
    bounded_mean(np.repeat([0.25, 0.5], 2000), seed=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6
