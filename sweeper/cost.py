"""What a multiplier costs: ranks lost under rank fusion, and the days of age that equal it.

A multiplier scales one row's fused score, as recency decay does with a memory. With one channel the
arithmetic is closed, so no golden set is needed; what a multiplier does to figures is measured by
a sweep.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TypeAlias

__all__ = ["DEFAULT_DEPTH", "Exact", "age_for", "multiplier_for", "parse_multiplier", "ranks_lost"]

Exact: TypeAlias = Decimal | Fraction | str
"""A number whose decimal is what a person typed. A float is not: 0.87 is not 87/100."""

DEFAULT_DEPTH = 20
"""Rows of the ranking that are looked at: two pages of ten."""

_LARGEST_EXPONENT = 400  # beyond the doubles; 10**(10**9) would never be finished


def ranks_lost(multiplier: Exact, rrf_k: int, depth: int = DEFAULT_DEPTH) -> int:
    """Return how many ranks a rank-1 row falls when its score is multiplied.

    One channel, so that the scores are ``1 / (rrf_k + rank)``. The row stays ahead of an equal
    score, because the sort is stable. The comparison is made in exact rationals.

    Parameters
    ----------
    multiplier : at least 0
        As typed. A factor of 1 or more costs nothing.
    rrf_k : at least 1
        The rank constant.
    depth : rows, at least 1
        Only ranks up to here are counted; ``depth - 1`` means that the row fell behind all others.

    Returns
    -------
    int
        From 0 to ``depth - 1``.

    Raises
    ------
    ValueError
        If an argument is outside its domain.

    Examples
    --------
    >>> [ranks_lost("0.87", k) for k in (60, 20, 5)]
    [9, 3, 0]
    """
    factor = parse_multiplier(multiplier)
    for name, value in (("rrf_k", rrf_k), ("depth", depth)):
        if value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value}.")
    if factor == 0:
        return depth - 1
    # Rank r overtakes while 1 / (k + r) > m / (k + 1), so while r < (k + 1) / m - k.
    last = math.ceil((rrf_k + 1) / factor - rrf_k) - 1
    return max(0, min(depth, last) - 1)


def age_for(multiplier: Exact, half_life: float) -> float:
    """Return the age, in days, at which recency decay is this multiplier.

    Parameters
    ----------
    multiplier : above 0, at most 1
        As typed.
    half_life : days, above 0
        Of the decay.

    Raises
    ------
    ValueError
        If an argument is outside its domain.

    Examples
    --------
    >>> round(age_for("0.87", 30), 1)
    6.0
    """
    factor = parse_multiplier(multiplier)
    if not 0 < factor <= 1:
        raise ValueError(f"must be a number above 0 and at most 1, got {multiplier}.")
    return _half_lives(factor) * _checked(half_life)


def multiplier_for(age: float, half_life: float) -> float:
    """Return the factor that recency decay gives a memory of an age: 1 for an age of 0 or less.

    Parameters
    ----------
    age : days
        Of a memory.
    half_life : days, above 0
        Of the decay.

    Raises
    ------
    ValueError
        If the half-life is not a finite number above 0, or the age is not finite.

    Examples
    --------
    >>> multiplier_for(30, 30), multiplier_for(-2, 30)
    (0.5, 1.0)
    """
    if not math.isfinite(age):
        raise ValueError(f"must be a finite number of days, got {age}.")
    half_life = _checked(half_life)
    # As ``ranking.decay_factor``, which this module does not import: `sweep --help` loads it.
    return 1.0 if age <= 0 else float(2.0 ** (-(age / half_life)))


def parse_multiplier(raw: Exact) -> Fraction:
    """Return the exact value of a multiplier as typed.

    Raises
    ------
    ValueError
        If it is no finite number of at least 0.

    Examples
    --------
    >>> parse_multiplier("0.87")
    Fraction(87, 100)
    """
    if isinstance(raw, float):
        raise ValueError(f"give the decimal as text, not a float, got {raw!r}.")
    try:
        number = raw if isinstance(raw, Fraction | int) else Decimal(raw)
    except InvalidOperation:
        raise _not_a_multiplier(raw) from None
    if isinstance(number, Decimal):
        if not number.is_finite() or abs(number.adjusted()) > _LARGEST_EXPONENT:
            raise _not_a_multiplier(raw)
        number = Fraction(number)
    if number < 0:
        raise _not_a_multiplier(raw)
    return Fraction(number)


def _half_lives(factor: Fraction) -> float:
    """Return ``-log2(factor)`` without losing digits near 1 or underflowing near 0."""
    if factor > Fraction(1, 2):
        return -math.log1p(float(factor - 1)) / math.log(2)
    return math.log2(factor.denominator) - math.log2(factor.numerator)


def _checked(half_life: float) -> float:
    if not (math.isfinite(half_life) and half_life > 0):
        raise ValueError(f"must be a finite number of days above 0, got {half_life:g}.")
    return half_life


def _not_a_multiplier(raw: object) -> ValueError:
    shown = repr(raw) if isinstance(raw, str) else str(raw)
    return ValueError(f"must be a finite number of at least 0, got {shown}.")
