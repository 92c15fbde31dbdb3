"""From figures to a setting: the Pareto front, and what each policy would deploy.

A choice is made from per-question values alone, so that the whole of it can be repeated on part of
the questions, which ``cross_validation`` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sweeper.constraints import Constraint, Objective
from sweeper.knobs import knob
from sweeper.paired import MaxT, max_t_test
from sweeper.pools import FloatArray
from sweeper.scores import Scores
from sweeper.settings import Settings

__all__ = [
    "LEVEL",
    "Choice",
    "Policy",
    "choose",
    "distances",
    "equals",
    "pareto_front",
    "which_hold",
]

Policy = Literal["supported", "best", "dominant"]

LEVEL = 0.05
"""Adjusted p up to which a gain is more than luck."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What the policies choose among.

    Each of ``best``, ``supported`` and ``dominant`` holds the feasible trials of that kind with
    equal figures of all objectives, the preferred one first; it is empty if there is none.

    Attributes
    ----------
    figures
        Address of each objective and constraint to that figure of every trial.
    feasible : shape (n_trials,)
        Which trials have figures and meet the constraints.
    best
        The highest objectives.
    supported
        The highest objectives of those whose gain has an adjusted p of at most 0.05.
    dominant
        The highest objectives of those that answer no question worse than today and some better.
    test
        Max-T test of the first objective against the current setting.
    """

    figures: Mapping[str, FloatArray]
    feasible: NDArray[np.bool_]
    best: tuple[int, ...]
    supported: tuple[int, ...]
    dominant: tuple[int, ...]
    test: MaxT

    def of(self, policy: Policy) -> tuple[int, ...]:
        """Return the equal trials that a policy chooses among; none means: keep today's."""
        chosen: tuple[int, ...] = getattr(self, policy)
        return chosen


def choose(
    scores: Scores,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
    *,
    current: int,
    preference: Sequence[tuple[float, ...]],
    seed: int,
    n_permutations: int = 9_999,
) -> Choice:
    """Choose among trials.

    Parameters
    ----------
    scores
        Values of every trial; the current setting is one of them.
    objectives
        The first decides, the next break ties.
    constraints
        Bounds that a trial must meet.
    current
        Index of the setting that runs today. Where it is as good as the best, it is the best.
    preference : length n_trials
        Among trials with equal objectives the lowest comes first.
    seed
        Seeds the test.
    n_permutations
        Of the test.
    """
    named = [*(item.address for item in objectives), *(item.address for item in constraints)]
    figures = {address: scores.figure(address) for address in dict.fromkeys(named)}
    feasible = ~np.isnan(figures[objectives[0].address])
    for item in constraints:
        feasible &= which_hold(item, figures[item.address], current)
    ranked = [(item, figures[item.address]) for item in objectives]
    test = max_t_test(scores.gain(objectives[0], current), seed=seed, n_permutations=n_permutations)
    rises, falls = scores.moved(current)

    def chosen(allowed: NDArray[np.bool_]) -> tuple[int, ...]:
        return equals(ranked, allowed, current=current, preference=preference)

    return Choice(
        figures=figures,
        feasible=feasible,
        best=chosen(feasible),
        supported=chosen(feasible & (test.p_value <= LEVEL)),
        dominant=chosen(feasible & rises.any(axis=1) & ~falls.any(axis=1)),
        test=test,
    )


def which_hold(constraint: Constraint, figure: FloatArray, current: int) -> NDArray[np.bool_]:
    """Return which trials meet a constraint, given its figure of each."""
    known, place = np.unique(figure, return_inverse=True)
    today = float(figure[current])
    return np.array([constraint.holds(value, today) for value in known.tolist()])[place]


def equals(
    ranked: Sequence[tuple[Objective, FloatArray]],
    allowed: NDArray[np.bool_],
    *,
    current: int,
    preference: Sequence[tuple[float, ...]],
) -> tuple[int, ...]:
    """Return the trials with the highest objectives of those allowed, the preferred one first.

    Parameters
    ----------
    ranked
        Objectives, the deciding one first, and that figure of every trial; a trial without the
        first one's is never returned.
    allowed : shape (n_trials,)
        What is chosen among.
    current
        Alone returned where it is as good as the best.
    preference : length n_trials
        The lowest comes first.
    """
    same = allowed & ~np.isnan(ranked[0][1])
    for objective, figure in ranked:
        upwards = figure if objective.direction == "maximize" else -figure
        gain = np.where(np.isnan(upwards), -np.inf, upwards)
        same &= gain == gain.max(initial=-np.inf, where=same)
    if same[current]:
        return (current,)
    return tuple(sorted(np.flatnonzero(same).tolist(), key=lambda trial: preference[trial]))


def pareto_front(gains: FloatArray, preference: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the trials than which no other is at least as good in all objectives, better in one.

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
