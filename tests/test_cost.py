"""Ranks lost to a multiplier, and its exchange rate with age."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.cost import age_for, multiplier_for, parse_multiplier, ranks_lost


@pytest.mark.parametrize(("rrf_k", "expected"), [(60, 9), (20, 3), (5, 0)])
def test_the_reference_multiplier_costs_9_3_and_0_ranks(rrf_k: int, expected: int) -> None:
    assert ranks_lost("0.87", rrf_k) == expected


def test_the_reference_multiplier_is_six_days_at_a_month() -> None:
    assert round(age_for("0.87", 30), 1) == 6.0


def test_an_equal_score_costs_nothing_because_the_sort_is_stable() -> None:
    # 1/62 at rank 2 against (61/62) / 61 at rank 1: equal, so still ahead of rank 2.
    assert ranks_lost(Fraction(61, 62), 60) == 0
    assert ranks_lost(Fraction(61, 62) - Fraction(1, 10**30), 60) == 1


def test_the_decimal_that_was_typed_decides_and_not_its_nearest_double() -> None:
    # (k + 1) / 0.1 - k at k = 9 is 91 exactly; the double 0.1 is a little more than a tenth.
    assert ranks_lost("0.1", 9, depth=200) == 89
    assert ranks_lost(Decimal("0.1"), 9, depth=200) == 89
    assert ranks_lost(Fraction(0.1), 9, depth=200) == 89
    assert ranks_lost(Fraction(math.nextafter(0.1, 0)), 9, depth=200) == 90


def test_no_more_ranks_are_lost_than_the_depth_holds() -> None:
    assert ranks_lost("0", 60, depth=10) == 9
    assert ranks_lost("0.001", 60, depth=10) == 9
    assert ranks_lost("0.001", 60, depth=1) == 0


def test_a_multiplier_of_one_or_more_costs_nothing() -> None:
    assert ranks_lost("1", 60) == 0
    assert ranks_lost("1.5", 60) == 0


@given(
    numerator=st.integers(0, 1500),
    denominator=st.integers(1, 1000),
    rrf_k=st.integers(1, 200),
    depth=st.integers(1, 60),
)
def test_ranks_lost_equals_counting_every_rank(
    numerator: int, denominator: int, rrf_k: int, depth: int
) -> None:
    multiplier = Fraction(numerator, denominator)
    ours = multiplier / (rrf_k + 1)
    counted = sum(Fraction(1, rrf_k + rank) > ours for rank in range(2, depth + 1))
    assert ranks_lost(multiplier, rrf_k, depth) == counted


@given(digits=st.integers(1, 10**6), half_life=st.floats(0.01, 10_000))
def test_the_multiplier_of_the_age_of_a_multiplier_is_itself(digits: int, half_life: float) -> None:
    multiplier = Decimal(digits) / 10**6
    there_and_back = multiplier_for(age_for(multiplier, half_life), half_life)
    assert there_and_back == pytest.approx(float(multiplier), rel=1e-12)


def test_an_age_keeps_its_digits_near_one_and_near_zero() -> None:
    assert age_for("0.9999999999999", 30) == pytest.approx(1e-13 / math.log(2) * 30, rel=1e-9)
    assert age_for("1e-400", 1) == pytest.approx(400 * math.log2(10))
    assert age_for("1", 30) == 0.0


def test_a_future_memory_is_not_multiplied() -> None:
    assert multiplier_for(-3, 30) == 1.0
    assert multiplier_for(0, 30) == 1.0


@pytest.mark.parametrize("raw", ["", "abc", "nan", "inf", "-0.1", "1e999999999", "0,87"])
def test_a_multiplier_that_is_no_number_is_refused_in_a_sentence(raw: str) -> None:
    with pytest.raises(ValueError, match="must be a finite number of at least 0, got"):
        parse_multiplier(raw)


def test_a_float_multiplier_is_refused_because_its_decimal_is_lost() -> None:
    with pytest.raises(ValueError, match="give the decimal as text"):
        ranks_lost(0.87, 60)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rrf_k", "depth", "name"), [(0, 20, "rrf_k"), (60, 0, "depth")])
def test_a_rank_constant_or_depth_below_one_is_refused(rrf_k: int, depth: int, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got 0"):
        ranks_lost("0.87", rrf_k, depth)


@pytest.mark.parametrize("half_life", [0.0, -1.0, math.inf, math.nan])
def test_a_half_life_must_be_finite_and_above_zero(half_life: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        age_for("0.5", half_life)
    with pytest.raises(ValueError, match="above 0"):
        multiplier_for(1.0, half_life)


@pytest.mark.parametrize("multiplier", ["0", "1.01"])
def test_no_age_gives_a_multiplier_of_zero_or_above_one(multiplier: str) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        age_for(multiplier, 30)


def test_an_age_must_be_finite() -> None:
    with pytest.raises(ValueError, match="finite number of days"):
        multiplier_for(math.nan, 30)
