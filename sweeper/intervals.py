"""How far a mean over few questions could be off: one interval per kind of values.

Values of 0 and 1 alone get the exact binomial interval; at least 20 others the bias-corrected and
accelerated bootstrap; fewer, or values without spread inside any slice, a bound for means of
bounded values that needs no spread to be seen. Their coverage is measured in ``docs/methods.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sweeper.pools import FloatArray

__all__ = ["Interval95", "bca", "bounded_mean", "clopper_pearson", "mean_interval"]

LEVEL = 0.95
_BOOTSTRAP_FROM = 20
"""Below this many values the bootstrap covers too little."""

_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class Interval95:
    """A 95% interval; ``method`` is exact binomial, BCa bootstrap or bounded mean."""

    low: float
    high: float
    method: str


def mean_interval(
    strata: Sequence[FloatArray], *, seed: int, bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval95 | None:
    """Return an interval for the mean of all values.

    Parameters
    ----------
    strata
        Values per slice, each of shape (n,); one stratum for a slice's own figure. ``overall`` is
        resampled within slices.
    seed
        Seeds a generator local to this call.
    bounds
        Least and greatest possible value; (-1, 1) for differences.

    Returns
    -------
    Interval95 or None
        ``None`` if there are no values.
    """
    strata = [values for values in strata if len(values)]
    if not strata:
        return None
    values = np.concatenate(strata)
    if bounds == (0.0, 1.0) and bool(np.isin(values, (0.0, 1.0)).all()):
        low, high = clopper_pearson(int(values.sum()), len(values))
        return Interval95(low, high, "exact binomial")
    constant = all(bool((own == own[0]).all()) for own in strata)
    if len(values) < _BOOTSTRAP_FROM or constant:
        low, high = bounded_mean(values, seed=seed, bounds=bounds)
        return Interval95(low, high, "bounded mean")
    low, high = bca(strata, seed=seed)
    return Interval95(low, high, "BCa bootstrap")


def clopper_pearson(successes: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the exact binomial interval of a share.

    References
    ----------
    Clopper, Pearson, Biometrika 26(4), 1934.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10)
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return low, high


def bounded_mean(
    values: FloatArray,
    *,
    seed: int,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = LEVEL,
    n_samples: int = 20_000,
) -> tuple[float, float]:
    """Return an interval for the mean of values that lie between two bounds.

    It assumes nothing of their distribution but the bounds, so it does not collapse where all
    values are equal. Each end is a quantile of the mean that the sorted values would have if the
    gaps between them carried random probability; for equal values it has a closed form.

    Parameters
    ----------
    values : shape (n,)
        Within the bounds.
    seed
        Seeds a generator local to this call.
    bounds
        Least and greatest possible value.
    level
        Coverage.
    n_samples
        Count of random orders.

    References
    ----------
    Gaffke, Mathematical Methods of Statistics 14(2), 2005. Phan, Thomas, Learned-Miller,
    ICML 2021 (means of small samples).
    """
    least, greatest = bounds
    scaled = np.sort((values - least) / (greatest - least))
    tail = (1 - level) / 2
    if scaled[0] == scaled[-1]:
        # The one gap carries the largest of n random numbers.
        share = tail ** (1 / len(values))
        low, high = float(scaled[0]) * share, 1.0 - (1.0 - float(scaled[0])) * share
        return least + low * (greatest - least), least + high * (greatest - least)
    rng = np.random.default_rng(seed)
    gaps = np.stack(
        [np.diff(np.append(ordered, 1.0)) for ordered in (scaled, np.sort(1.0 - scaled))], axis=1
    )
    means = np.empty((n_samples, 2))
    size = max(1, _AT_ONCE // len(values))
    for start in range(0, n_samples, size):
        stop = min(start + size, n_samples)
        means[start:stop] = 1.0 - np.sort(rng.random((stop - start, len(values))), axis=1) @ gaps
    high, mirrored = np.quantile(means, 1 - tail, axis=0).tolist()
    low = 1.0 - mirrored
    return least + low * (greatest - least), least + high * (greatest - least)


def bca(
    strata: Sequence[FloatArray], *, seed: int, level: float = LEVEL, n_samples: int = 9_999
) -> tuple[float, float]:
    """Return the bias-corrected and accelerated bootstrap interval of the mean of all values.

    Parameters
    ----------
    strata
        Values, each stratum resampled within itself.
    seed
        Seeds a generator local to this call.
    level
        Nominal coverage.
    n_samples
        Count of resamples.

    References
    ----------
    Efron, JASA 82(397), 1987. DiCiccio, Efron, Statistical Science 11(3), 1996.
    """
    from scipy.special import ndtr, ndtri

    rng = np.random.default_rng(seed)
    n = sum(len(values) for values in strata)
    mean = math.fsum(float(v) for values in strata for v in values) / n
    sums = np.zeros(n_samples)
    for values in strata:
        size = max(1, _AT_ONCE // len(values))
        for start in range(0, n_samples, size):
            stop = min(start + size, n_samples)
            drawn = rng.integers(0, len(values), (stop - start, len(values)))
            sums[start:stop] += values[drawn].sum(axis=1)
    samples = sums / n
    slack = 1e-12 * (1 + abs(mean))
    below = ((samples < mean - slack).mean() + (samples <= mean + slack).mean()) / 2
    bias = float(ndtri(np.clip(below, 1 / (2 * n_samples), 1 - 1 / (2 * n_samples))))
    # Influence of each value on the mean, from leaving it out of its stratum.
    influence = np.concatenate([len(v) / n * (v - v.mean()) / max(1, len(v) - 1) for v in strata])
    squares = float((influence**2).sum())
    acceleration = float((influence**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    z = bias + ndtri(tails)
    shares = ndtr(bias + z / (1 - acceleration * z))
    low, high = np.quantile(samples, np.clip(shares, 0, 1))
    return float(low), float(high)
