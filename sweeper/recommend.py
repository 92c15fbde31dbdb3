"""Which trials are worth a look: feasibility and the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sweeper.knobs import Settings, knob
from sweeper.pools import FloatArray

__all__ = ["distances", "pareto_front"]


def pareto_front(gains: FloatArray, preference: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the trials that no other trial beats in every objective.

    Parameters
    ----------
    gains : shape (n_trials, n_objectives)
        Larger is better. A trial with a NaN is never on the front.
    preference : length n_trials
        Among trials with equal gains only the one with the lowest preference stays.

    Returns
    -------
    list of int
        Trial indices, best first by the first objective, then by the next.

    References
    ----------
    Kung, Luccio, Preparata, JACM 22(4), 1975.
    """
    chosen: dict[tuple[float, ...], int] = {}
    for trial in sorted(range(len(gains)), key=lambda t: preference[t]):
        if not np.isnan(gains[trial]).any():
            chosen.setdefault(tuple(gains[trial].tolist()), trial)
    # In descending lexicographic order no later vector dominates an earlier one.
    vectors = sorted(chosen, reverse=True)
    front: list[tuple[float, ...]] = []
    kept: NDArray[np.float64] = np.empty((len(vectors), gains.shape[1]))
    for vector in vectors:
        if not bool((kept[: len(front)] >= np.array(vector)).all(axis=1).any()):
            kept[len(front)] = vector
            front.append(vector)
    return [chosen[vector] for vector in front]


def distances(trials: Sequence[Settings], current: Settings) -> list[float]:
    """Return how far each trial is from the current setting: knobs changed, then steps on axes.

    A step is one value of the knob among ``trials``; all steps together weigh less than one knob.
    """
    names = dict.fromkeys(name for item in (*trials, current) for name in item.as_dict())
    total = [0.0] * len(trials)
    for name in names:
        own, values = current.get(name), [item.get(name) for item in trials]
        axis = sorted({*values, own}, key=knob(name).sort_key)
        place = {value: number for number, value in enumerate(axis)}
        for number, value in enumerate(values):
            if value != own:
                total[number] += 1 + abs(place[value] - place[own]) / (len(axis) * 100.0)
    return total
