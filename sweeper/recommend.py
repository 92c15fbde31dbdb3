"""From figures to a setting: the Pareto front, and a pick that says how sure it is.

A pick is computed from per-question values alone, so that the whole of it can be repeated on part
of the questions (cross-validation).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sweeper.constraints import Constraint, Objective, split_address
from sweeper.evaluate import exact_sums
from sweeper.golden import OVERALL
from sweeper.knobs import knob
from sweeper.metrics import Metric, parse_metric
from sweeper.paired import MaxT, max_t_test
from sweeper.pools import FloatArray
from sweeper.replay import Replay
from sweeper.settings import Settings

__all__ = [
    "Choice",
    "CrossValidated",
    "Policy",
    "Scores",
    "choose",
    "cross_validate",
    "distances",
    "pareto_front",
    "scores_of",
]

Policy = Literal["supported", "best", "dominant"]

_LEVEL = 0.05
_FOLDS = 10
_FEWEST = 6
"""Questions of an objective's slice below which folds would hold none or one of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Per-question values of every trial.

    Attributes
    ----------
    values
        Metric name to values of shape (n_trials, n_queries); NaN where undefined.
    slices, slice_of
        Slice names, and each question's slice.
    """

    values: dict[str, FloatArray]
    slices: tuple[str, ...]
    slice_of: NDArray[np.intp]

    @property
    def n_trials(self) -> int:
        return len(next(iter(self.values.values())))

    def rows(self, address: str) -> tuple[FloatArray, NDArray[np.intp]]:
        """Return a figure's values, shape (n_trials, n), and the questions that they belong to."""
        group, metric = split_address(address)
        table = self.values[str(metric)]
        member = np.ones(len(self.slice_of), bool)
        if group != OVERALL:
            member = self.slice_of == self.slices.index(group)
        queries = np.flatnonzero(member & ~np.isnan(table).all(axis=0))
        return table[:, queries], queries

    def figure(self, address: str) -> FloatArray:
        """Return a figure of every trial, shape (n_trials,); NaN if it has no questions."""
        rows, queries = self.rows(address)
        if not len(queries):
            return np.full(len(rows), np.nan)
        sums: FloatArray = exact_sums(rows, np.ones((len(queries), 1)))[:, 0] / len(queries)
        return sums

    def gain(self, objective: Objective, current: int) -> FloatArray:
        """Return how much better than today each question fares, shape (n_trials, n)."""
        rows, _ = self.rows(objective.address)
        sign = 1.0 if objective.direction == "maximize" else -1.0
        gain: FloatArray = sign * (rows - rows[current])
        return gain

    def holds(self, constraint: Constraint, current: int) -> NDArray[np.bool_]:
        """Return which trials meet a constraint, shape (n_trials,)."""
        figure = self.figure(constraint.address)
        known, place = np.unique(figure, return_inverse=True)
        today = float(figure[current])
        return np.array([constraint.holds(value, today) for value in known.tolist()])[place]

    def without(self, trials: NDArray[np.bool_]) -> Scores:
        """Return the scores with those of some trials blanked, shape (n_trials,)."""
        return Scores(
            {name: np.where(trials[:, None], np.nan, table) for name, table in self.values.items()},
            self.slices,
            self.slice_of,
        )

    def of(self, queries: NDArray[np.intp]) -> Scores:
        """Return the scores of some questions."""
        return Scores(
            {name: table[:, queries] for name, table in self.values.items()},
            self.slices,
            self.slice_of[queries],
        )


def scores_of(replay: Replay, settings: Sequence[Settings], metrics: Sequence[Metric]) -> Scores:
    """Replay settings and keep each question's value of every metric."""
    judgments = replay.judgments
    shape = (len(settings), judgments.n_queries)
    values = {str(metric): np.full(shape, np.nan) for metric in metrics}
    for origin in dict.fromkeys(item.origin for item in settings):
        members = [n for n, item in enumerate(settings) if item.origin == origin]
        positions = replay.positions([settings[n] for n in members])
        for metric in metrics:
            place = np.ix_(np.array(members), metric.queries(judgments))
            values[str(metric)][place] = metric.values(positions)
    return Scores(values, judgments.slices, judgments.slice_of)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What the policies choose among.

    Each of ``best``, ``supported`` and ``dominant`` holds the feasible trials of that kind with
    equal figures of all objectives, the preferred one first; it is empty if there is none.

    Attributes
    ----------
    feasible : shape (n_trials,)
    best
        The highest objectives.
    supported
        The highest objectives of those whose gain has an adjusted p of at most 0.05.
    dominant
        The highest objectives of those that answer no question worse than today and some better.
    test
        Max-T test of the first objective against the current setting.
    """

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
    feasible = np.ones(scores.n_trials, bool)
    for constraint in constraints:
        feasible &= scores.holds(constraint, current)
    gains = np.stack(
        [[item.gain(v) for v in scores.figure(item.address).tolist()] for item in objectives],
        axis=1,
    )
    test = max_t_test(scores.gain(objectives[0], current), seed=seed, n_permutations=n_permutations)

    def equals(allowed: NDArray[np.bool_]) -> tuple[int, ...]:
        candidates = [n for n in np.flatnonzero(allowed).tolist() if gains[n, 0] > -math.inf]
        if not candidates:
            return ()
        top = max(tuple(gains[n].tolist()) for n in candidates)
        same = [n for n in candidates if tuple(gains[n].tolist()) == top]
        return (current,) if current in same else tuple(sorted(same, key=lambda n: preference[n]))

    better, worse = _moved(scores, current)
    return Choice(
        feasible=feasible,
        best=equals(feasible),
        supported=equals(feasible & (test.p_value <= _LEVEL)),
        dominant=equals(feasible & (worse == 0) & (better > 0)),
        test=test,
    )


def _moved(scores: Scores, current: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return how many questions each trial answers better and worse than the current one."""
    tables = [v for name, v in scores.values.items() if parse_metric(name).larger_is_better]
    shape = (scores.n_trials, len(scores.slice_of))
    rises, falls = np.zeros(shape, bool), np.zeros(shape, bool)
    for table in tables:
        rises |= table > table[current]
        falls |= table < table[current]
    return (rises & ~falls).sum(axis=1), falls.sum(axis=1)


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
    a constraint has questions, at most 10. A constraint of whose slice a fold's pick sees no
    question is left out of that pick. Equals are told apart by ``preference`` alone.

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
    sizes = {address: len(scores.rows(address)[1]) for address in named}
    if min(sizes[item.address] for item in objectives) < _FEWEST:
        return None
    n_folds = max(2, min([_FOLDS, *(size for size in sizes.values() if size > 1)]))
    rows, queries = scores.rows(objectives[0].address)
    place = np.full(len(scores.slice_of), -1)
    place[queries] = np.arange(len(queries))
    figures, kept = [], 0
    for repeat in range(n_repeats):
        rng = np.random.default_rng([seed, repeat])
        fold = _folds(scores.slice_of, n_folds, rng)
        total = 0.0
        for number in range(n_folds):
            seen = scores.of(np.flatnonzero(fold != number))
            choice = choose(
                seen,
                objectives,
                [item for item in constraints if len(seen.rows(item.address)[1])],
                current=current,
                preference=preference,
                seed=seed,
                n_permutations=999,
            )
            [trial, *_] = choice.of(policy) or (current,)
            kept += trial == current
            held_out = place[np.flatnonzero(fold == number)]
            total += float(rows[trial, held_out[held_out >= 0]].sum())
        figures.append(total / len(queries))
    return CrossValidated(
        figure=float(np.mean(figures)),
        current=float(rows[current].mean()),
        spread=(min(figures), max(figures)),
        n_folds=n_folds,
        n_repeats=n_repeats,
        kept=kept / (n_folds * n_repeats),
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
