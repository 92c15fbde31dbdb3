"""Paired tests equal scipy's exact ones, and say when nothing could be significant."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from sweeper.paired import (
    distinct_rows,
    fewest_to_differ,
    max_t_test,
    questions_to_resolve,
    sign_flip_test,
)
from sweeper.pools import FloatArray

stats = cast(Any, scipy.stats)

DIFFERENCES = st.lists(
    st.sampled_from([-1.0, -0.5, -1 / 3, -0.1, 0.0, 0.1, 1 / 3, 0.5, 1.0]), min_size=2, max_size=11
)


def exact(differences: FloatArray, alternative: str) -> float:
    """Return scipy's p-value over all sign patterns."""
    return float(
        stats.permutation_test(
            (differences,),
            lambda x, axis: np.round(np.sum(x, axis=axis), 9),  # sums in another order are equal
            permutation_type="samples",
            alternative=alternative,
            n_resamples=np.inf,
            vectorized=True,
        ).pvalue
    )


@given(DIFFERENCES)
def test_the_sign_flip_test_equals_scipys(values: list[float]) -> None:
    differences = np.array(values)
    assert sign_flip_test(differences, seed=1).p_value == pytest.approx(
        min(1.0, exact(differences, "two-sided")), abs=1e-12
    )
    assert sign_flip_test(differences, seed=1, one_sided=True).p_value == pytest.approx(
        exact(differences, "greater"), abs=1e-12
    )


@pytest.mark.parametrize("one_sided", [False, True])
def test_sampled_patterns_agree_with_all_patterns(one_sided: bool) -> None:
    rng = np.random.default_rng(3)
    differences = rng.choice([-0.5, 0.1, 1 / 3, 1.0], 17)
    sums = np.array([0.0])
    for value in differences:
        sums = np.concatenate([sums + value, sums - value])
    observed = differences.sum()
    if not one_sided:
        sums, observed = np.abs(sums), abs(observed)
    every = sums >= observed - 1e-9
    found = sign_flip_test(differences, seed=4, one_sided=one_sided).p_value
    assert found == pytest.approx(every.mean(), abs=5 * math.sqrt(every.mean() / 100_000))


def test_p_is_never_zero() -> None:
    found = sign_flip_test(np.ones(200), seed=1, n_permutations=999)
    assert found.p_value == 1 / 1000
    assert max_t_test(np.ones((3, 200)), seed=1, n_permutations=999).p_value.tolist() == [0.001] * 3


@given(DIFFERENCES)
def test_swapping_the_sides_negates_the_difference_and_keeps_p(values: list[float]) -> None:
    forward, back = (sign_flip_test(sign * np.array(values), seed=1) for sign in (1, -1))
    assert forward.mean_difference == -back.mean_difference
    assert forward.p_value == back.p_value


def test_questions_that_do_not_differ_change_no_p_value() -> None:
    few = np.array([0.5, 0.5, -0.1, 1.0, 0.2, 0.3])
    many = np.concatenate([few, np.zeros(500)])
    assert sign_flip_test(few, seed=1).p_value == sign_flip_test(many, seed=1).p_value


def test_too_few_differing_questions_are_unresolvable_and_one_more_is_not() -> None:
    for one_sided, fewest in ((False, 6), (True, 5)):
        assert fewest_to_differ(one_sided=one_sided) == fewest
        below, enough = (
            sign_flip_test(np.ones(n), seed=1, one_sided=one_sided) for n in (fewest - 1, fewest)
        )
        assert not below.resolvable
        assert below.p_value > 0.05
        assert enough.resolvable
        assert enough.p_value <= 0.05


def test_no_difference_is_p_one() -> None:
    found = sign_flip_test(np.zeros(9), seed=1)
    assert (found.p_value, found.mean_difference, found.n_differ, found.resolvable) == (
        1.0, 0.0, 0, False,
    )  # fmt: skip


@pytest.mark.parametrize("values", [[], [0.1, math.nan]])
def test_nothing_and_nan_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="no NaN"):
        sign_flip_test(np.array(values), seed=1)


def test_an_undefined_difference_is_refused_by_the_corrected_test_too() -> None:
    with pytest.raises(ValueError, match="NaN"):
        max_t_test(np.array([[0.1, math.nan]]), seed=1)


def test_one_trial_alone_has_the_p_value_of_the_single_test() -> None:
    differences = np.array([0.5, 0.5, -0.1, 1.0, 0.2, 0.3, 0.0, 0.0, -0.4])
    single = sign_flip_test(differences, seed=1, one_sided=True).p_value
    corrected = max_t_test(differences[None], seed=2, n_permutations=100_000).p_value[0]
    assert corrected == pytest.approx(single, abs=5 * math.sqrt(single / 100_000))


def test_copies_of_a_trial_cost_nothing_and_unrelated_trials_do() -> None:
    rng = np.random.default_rng(5)
    good = np.concatenate([np.full(9, 0.5), np.full(2, -0.5), np.zeros(29)])
    alone = max_t_test(good[None], seed=1).p_value[0]
    copies = max_t_test(np.tile(good, (50, 1)), seed=1).p_value
    assert set(copies.tolist()) == {alone}
    others = rng.choice([-0.5, 0.0, 0.5], (50, 40))
    assert max_t_test(np.vstack([good, others]), seed=1).p_value[0] > 2 * alone


@given(st.lists(st.lists(st.sampled_from([-0.0, 0.0, 0.5]), min_size=3, max_size=3), min_size=1))
def test_rows_are_one_if_they_are_equal_and_stand_where_they_first_occur(
    table: list[list[float]],
) -> None:
    rows, place = distinct_rows(np.array(table))
    assert rows[place].tolist() == table
    assert rows.tolist() == [row for n, row in enumerate(table) if row not in table[:n]]


def test_a_trial_that_equals_todays_has_p_one() -> None:
    found = max_t_test(np.array([[0.0] * 8, [0.5] * 8]), seed=1)
    assert found.statistic[0] == -np.inf
    assert found.p_value[0] == 1
    assert max_t_test(np.zeros((3, 8)), seed=1).p_value.tolist() == [1, 1, 1]


def test_the_corrected_test_is_one_sided() -> None:
    found = max_t_test(np.array([[-0.5] * 12, [0.5] * 12]), seed=1)
    assert found.p_value[0] == 1.0
    assert found.p_value[1] < 0.01


def test_the_statistic_orders_trials_as_students_t_does() -> None:
    rng = np.random.default_rng(6)
    differences = rng.normal(0.1, 1.0, (40, 25))
    students = stats.ttest_1samp(differences, 0.0, axis=1).statistic
    assert max_t_test(differences, seed=1).statistic.argsort().tolist() == (
        students.argsort().tolist()
    )


def test_a_trial_with_wide_differences_does_not_hide_a_steady_one() -> None:
    # The unstudentised maximum would always be the wild trial's.
    rng = np.random.default_rng(7)
    steady = np.concatenate([np.full(14, 0.05), np.zeros(26)])
    wild = rng.choice([-1.0, 1.0], 40)
    found = max_t_test(np.vstack([steady, wild]), seed=1)
    assert found.p_value[0] < 0.001
    assert found.p_value[1] > 0.05


def test_a_seed_repeats_a_test() -> None:
    differences = np.random.default_rng(8).choice([-0.5, 0.5, 1.0], (5, 30))
    one, same, other = (max_t_test(differences, seed=s).p_value.tolist() for s in (1, 1, 2))
    assert one == same != other


def test_more_spread_needs_more_questions() -> None:
    narrow = np.array([0.1, -0.1] * 20)
    wide = 10 * narrow
    few, many = questions_to_resolve(narrow, 0.02), questions_to_resolve(wide, 0.02)
    assert few is not None
    assert many is not None
    assert many == pytest.approx(100 * few, rel=0.01)
    # (1.96 + 0.84) ** 2 * sd ** 2 / effect ** 2
    assert few == math.ceil(((1.959964 + 0.841621) * narrow.std(ddof=1) / 0.02) ** 2)


@pytest.mark.parametrize("values", [[0.0] * 9, [0.3], [0.3] * 5])
def test_without_spread_nothing_is_known_of_the_questions_needed(values: list[float]) -> None:
    assert questions_to_resolve(np.array(values), 0.02) is None
