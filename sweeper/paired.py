"""Paired tests: is a difference between two settings on the same questions more than luck?

All tests flip signs: under the null hypothesis a question's difference is as likely to be its
opposite. They ask of the questions at hand, not of questions never seen; ``intervals`` says how far
a mean could be off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.pools import FloatArray

__all__ = [
    "MaxT",
    "PairedTest",
    "distinct_rows",
    "fewest_to_differ",
    "max_t_test",
    "questions_to_resolve",
    "sign_flip_test",
]

_EXACT_UP_TO = 16
"""Differing questions up to which all 2**n sign patterns are enumerated."""

_FLIPS_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Result of a paired test.

    Attributes
    ----------
    mean_difference
        Challenger minus baseline, over all questions.
    p_value
        In (0, 1].
    n_queries, n_differ
        Questions compared, and those whose values differ.
    resolvable
        Whether any outcome with as many differing questions could be significant.
    """

    mean_difference: float
    p_value: float
    n_queries: int
    n_differ: int
    resolvable: bool


def sign_flip_test(
    differences: FloatArray,
    *,
    seed: int,
    one_sided: bool = False,
    level: float = 0.05,
    n_permutations: int = 100_000,
) -> PairedTest:
    """Test whether the mean of paired differences is zero (or, one-sided, not above zero).

    Parameters
    ----------
    differences : shape (n_queries,)
        Challenger minus baseline per question. No NaN.
    seed
        Seeds a generator local to this call; only used where patterns are sampled.
    one_sided
        Only a positive mean counts against the null hypothesis.
    level
        Decides ``resolvable``.
    n_permutations
        Sampled sign patterns where more than 16 questions differ; the p-value is then
        ``(b + 1) / (m + 1)`` and never 0.

    Raises
    ------
    ValueError
        If there are no questions, or a difference is NaN.

    References
    ----------
    Fisher, The Design of Experiments, 1935. Phipson, Smyth, SAGMB 9(1):39, 2010.

    Examples
    --------
    >>> sign_flip_test(np.array([1.0, 1.0, 0.0]), seed=1).p_value  # 2 of 4 patterns
    0.5
    """
    if not len(differences) or bool(np.isnan(differences).any()):
        raise ValueError("differences must be at least one number and no NaN")
    moved = differences[differences != 0]
    observed = float(math.fsum(moved))
    resolvable = len(moved) >= fewest_to_differ(level, one_sided=one_sided)
    mean = observed / len(differences)
    if not len(moved):
        return PairedTest(0.0, 1.0, len(differences), 0, False)
    statistic = observed if one_sided else abs(observed)
    # Sums of the same numbers in another order differ in their last bits.
    reach = statistic - 1e-9 * float(np.abs(moved).sum())
    if len(moved) <= _EXACT_UP_TO:
        sums = _all_sums(moved)
        extreme = sums >= reach if one_sided else np.abs(sums) >= reach
        p_value = float(extreme.mean())
    else:
        hits = 0
        rng = np.random.default_rng(seed)
        for size in _batches(n_permutations, len(moved)):
            sums = rng.choice((-1.0, 1.0), size=(size, len(moved))) @ moved
            hits += int((sums >= reach if one_sided else np.abs(sums) >= reach).sum())
        p_value = (hits + 1) / (n_permutations + 1)
    return PairedTest(mean, p_value, len(differences), len(moved), resolvable)


def _all_sums(moved: FloatArray) -> FloatArray:
    """Return the sum of every sign pattern, shape (2 ** n,)."""
    sums = np.zeros(1)
    for value in moved:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _batches(count: int, width: int) -> list[int]:
    size = max(1, min(count, _FLIPS_AT_ONCE // max(1, width)))
    return [min(size, count - start) for start in range(0, count, size)]


def fewest_to_differ(level: float = 0.05, *, one_sided: bool = False) -> int:
    """Return how many questions must differ before any result can be significant.

    With n differing questions the smallest p-value is ``2**-n`` one-sided and twice that two-sided.

    Examples
    --------
    >>> fewest_to_differ(0.05, one_sided=True), fewest_to_differ(0.05)
    (5, 6)
    """
    needed = math.ceil(-math.log2(level) - 1e-12)
    return needed if one_sided else needed + 1


def questions_to_resolve(
    differences: FloatArray, effect: float, *, level: float = 0.05, power: float = 0.8
) -> int | None:
    """Return about how many questions would show a mean difference of ``effect``.

    Parameters
    ----------
    differences : shape (n_queries,)
        Paired differences, whose spread is taken as that of more questions of the same kind.
    effect
        Mean difference to detect, above 0.
    level
        Two-sided.
    power
        Chance of detecting it.

    Returns
    -------
    int or None
        ``None`` where the differences have no spread, so that nothing is known of it.

    References
    ----------
    Sakai, Information Retrieval Journal 19, 2016 (sample sizes for paired comparisons).
    """
    from scipy.special import ndtri

    spread = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    if spread == 0:
        return None
    reach = float(ndtri(1 - level / 2) + ndtri(power))
    return max(2, math.ceil((reach * spread / effect) ** 2))


@dataclass(frozen=True, slots=True, eq=False)
class MaxT:
    """One-sided tests of many challengers against one baseline, corrected for their number.

    Attributes
    ----------
    statistic : shape (n_trials,)
        Sum of the differences over the root of their sum of squares, which rises with Student's t;
        negative infinity where no question differs.
    p_value : shape (n_trials,)
        Adjusted; in (0, 1].
    n_permutations
        Sign patterns sampled.
    """

    statistic: FloatArray
    p_value: FloatArray
    n_permutations: int


def max_t_test(differences: FloatArray, *, seed: int, n_permutations: int = 9_999) -> MaxT:
    """Test every challenger at once against the largest statistic that luck gives.

    The signs of a question are flipped together in all challengers, so their correlation is kept.
    Statistics are studentised: without that, challengers whose differences spread widely would
    decide the maximum for all. Flipping signs leaves a challenger's sum of squares as it is, so
    ``sum / sqrt(sum of squares)`` orders patterns and challengers exactly as Student's t does, and
    needs no variance that could be zero. The p-value is ``(b + 1) / (m + 1)``.

    Parameters
    ----------
    differences : shape (n_trials, n_queries)
        Challenger minus baseline. No NaN.
    seed
        Seeds a generator local to this call.
    n_permutations
        Count, at least 1.

    Raises
    ------
    ValueError
        If a difference is NaN.

    References
    ----------
    Westfall, Young, Resampling-Based Multiple Testing, 1993 (single-step max-T).
    Phipson, Smyth, SAGMB 9(1):39, 2010.

    Examples
    --------
    >>> test = max_t_test(np.array([[0.0] * 8, [1.0] * 8]), seed=1)
    >>> bool(test.p_value[0] == 1), bool(test.p_value[1] < 0.01)
    (True, True)
    """
    if bool(np.isnan(differences).any()):
        raise ValueError("differences must not be NaN")
    squares = (differences**2).sum(axis=1)
    moving = squares > 0
    p_value = np.ones(len(differences))
    statistic = np.full(len(differences), -np.inf)
    if not moving.any():
        return MaxT(statistic, p_value, n_permutations)
    # Equal rows give equal statistics under every pattern (one of each is enough), and a question
    # that differs nowhere adds nothing.
    kept, back = distinct_rows(differences[moving])
    kept = kept[:, (kept != 0).any(axis=0)]
    kept = kept / np.sqrt((kept**2).sum(axis=1))[:, None]
    observed = kept.sum(axis=1)
    statistic[moving] = observed[back]
    rng = np.random.default_rng(seed)
    maxima = [
        (rng.choice((-1.0, 1.0), size=(size, kept.shape[1])) @ kept.T).max(axis=1)
        for size in _batches(n_permutations, max(kept.shape))
    ]
    # Rounding must not make a pattern that repeats the observed one look smaller.
    below = np.searchsorted(np.sort(np.concatenate(maxima)), observed - 1e-9, side="left")
    p_value[moving] = ((n_permutations - below + 1) / (n_permutations + 1))[back]
    return MaxT(statistic, p_value, n_permutations)


def distinct_rows(table: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return the different rows of a table in the order in which they first occur.

    Parameters
    ----------
    table : shape (n, m)
        No NaN.

    Returns
    -------
    tuple
        The different rows, and which of them each row of the table is, shape (n,).

    Examples
    --------
    >>> rows, place = distinct_rows(np.array([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0]]))
    >>> rows.tolist(), place.tolist()
    ([[2.0, 1.0], [0.0, 1.0]], [0, 1, 0])
    """
    places: dict[bytes, int] = {}
    # Rows are equal if their bytes are, once -0.0 is 0.0.
    place = [places.setdefault((row + 0.0).tobytes(), len(places)) for row in table]
    rows = np.frombuffer(b"".join(places), np.float64).reshape(len(places), table.shape[1])
    return rows, np.array(place, np.intp)
