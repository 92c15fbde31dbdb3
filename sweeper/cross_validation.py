"""What a pick is worth on questions that did not choose it.

The whole pick is repeated on part of the questions, and its setting is scored on the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.constraints import Constraint, Objective
from sweeper.paired import distinct_rows, max_t_test
from sweeper.recommend import LEVEL, Policy, equals, which_hold
from sweeper.scores import Scores

__all__ = ["CrossValidated", "cross_validate"]

_FOLDS = 10
_FEWEST = 6
"""Questions of an objective's slice below which folds would hold none or one of them."""

_PERMUTATIONS = 999


@dataclass(frozen=True, slots=True)
class CrossValidated:
    """What the whole pick is worth on questions that did not choose it.

    Attributes
    ----------
    figure
        The first objective, each question answered by the pick of the other folds; the mean over
        repeats.
    current
        The current setting's figure.
    spread
        Least and greatest over repeats; not an interval.
    n_folds, n_repeats
    kept
        Share of the folds in which today's setting was kept.
    """

    figure: float
    current: float
    spread: tuple[float, float]
    n_folds: int
    n_repeats: int
    kept: float


def cross_validate(
    scores: Scores,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
    *,
    current: int,
    preference: Sequence[tuple[float, ...]],
    policy: Policy,
    seed: int,
    n_repeats: int = 5,
) -> CrossValidated | None:
    """Repeat the whole pick on part of the questions and score it on the rest.

    Folds are stratified by slice; there are as many as the smallest slice named by an objective or
    a constraint has questions, at least 2 and at most 10. A slice with a single question does not
    count: it cannot stand on both sides, whatever the number of folds. A constraint of whose slice
    a fold's pick sees no question is left out of that pick. Equals are told apart by
    ``preference`` alone.

    Parameters
    ----------
    scores, objectives, constraints, current, preference
        As in ``choose``.
    policy
        Which of its answers is the pick.
    seed
        Of folds and tests.
    n_repeats
        How often the questions are dealt to folds anew.

    Returns
    -------
    CrossValidated or None
        ``None`` if an objective's slice has fewer than 6 questions.

    References
    ----------
    Stone, JRSS B 36(2), 1974. Varma, Simon, BMC Bioinformatics 7:91, 2006 (the selection belongs
    inside the folds).
    """
    named = [*(item.address for item in objectives), *(item.address for item in constraints)]
    queries = {address: scores.queries(address) for address in named}
    if min(len(queries[item.address]) for item in objectives) < _FEWEST:
        return None
    n_folds = max(2, min([_FOLDS, *(len(own) for own in queries.values() if len(own) > 1)]))
    generators = [np.random.default_rng([seed, repeat]) for repeat in range(n_repeats)]
    folds = [_folds(scores.slice_of, n_folds, rng) for rng in generators]
    # Column by column: what each fold of each repeat leaves to the pick.
    seen = np.stack([fold != number for fold in folds for number in range(n_folds)], axis=1)
    figures = {address: scores.figures(address, seen) for address in queries}
    allowed = _accepted(scores, objectives[0], seen, current=current, policy=policy, seed=seed)
    for item in constraints:
        for column in np.flatnonzero(seen[queries[item.address]].any(axis=0)).tolist():
            allowed[:, column] &= which_hold(item, figures[item.address][:, column], current)
    picks = []
    for column in range(seen.shape[1]):
        ranked = [(item, figures[item.address][:, column]) for item in objectives]
        found = equals(ranked, allowed[:, column], current=current, preference=preference)
        picks.append(found[0] if found else current)
    rows, own = scores.rows(objectives[0].address)
    answered = [rows[trial, ~seen[own, column]].sum() for column, trial in enumerate(picks)]
    # Added up fold by fold, in this order on every platform.
    repeats = np.reshape(answered, (n_repeats, n_folds)).cumsum(axis=1)[:, -1] / len(own)
    return CrossValidated(
        figure=float(repeats.mean()),
        current=float(rows[current].mean()),
        spread=(float(repeats.min()), float(repeats.max())),
        n_folds=n_folds,
        n_repeats=n_repeats,
        kept=picks.count(current) / len(picks),
    )


def _folds(slice_of: NDArray[np.intp], n_folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Deal the questions of each slice to the folds in turn."""
    fold = np.empty(len(slice_of), np.intp)
    start = 0
    for group in np.unique(slice_of):
        own = rng.permutation(np.flatnonzero(slice_of == group))
        fold[own] = (np.arange(len(own)) + start) % n_folds
        start += len(own)
    return fold


def _accepted(
    scores: Scores,
    objective: Objective,
    seen: NDArray[np.bool_],
    *,
    current: int,
    policy: Policy,
    seed: int,
) -> NDArray[np.bool_]:
    """Return which trials a policy accepts by the questions of each column of ``seen`` alone.

    Returns
    -------
    shape (n_trials, n_columns)
    """
    if policy == "dominant":
        rises, falls = (moved.astype(np.float32) for moved in scores.moved(current))
        sets = seen.astype(np.float32)
        dominant: NDArray[np.bool_] = (rises @ sets > 0) & (falls @ sets == 0)
        return dominant
    accepted = np.ones((scores.n_trials, seen.shape[1]), bool)
    if policy == "supported":
        gain, back = distinct_rows(scores.gain(objective, current))
        for column, own in enumerate(seen[scores.queries(objective.address)].T):
            test = max_t_test(gain[:, own], seed=seed, n_permutations=_PERMUTATIONS)
            accepted[:, column] = test.p_value[back] <= LEVEL
    return accepted
