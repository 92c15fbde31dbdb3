"""The recommendation of a finished sweep: which setting, what it gains, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sweeper.compare import Tally, tally
from sweeper.constraints import Constraint, Objective, parse_constraint
from sweeper.errors import InfeasibleError
from sweeper.exact import exact_curve
from sweeper.expiry import expiry_of
from sweeper.intervals import Interval95, mean_interval
from sweeper.knobs import Settings
from sweeper.margins import Flip, Interval, margins_of
from sweeper.paired import fewest_to_differ
from sweeper.pools import FloatArray
from sweeper.recommend import (
    Choice,
    CrossValidated,
    Policy,
    Scores,
    choose,
    cross_validate,
    distances,
)
from sweeper.results import Results

__all__ = ["Answer", "Pick", "default_constraints", "pick", "scores_of"]

_SEED = 19_930_101
_EQUALS_EXAMINED = 24
"""Trials with equal objectives whose plateaus are compared."""

_REFINED = ("recency_half_life_days", "min_similarity")
"""Knobs whose value is moved to the middle of its plateau."""

_LEVEL = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One setting and what speaks for it.

    Attributes
    ----------
    trial
        Number of the trial.
    settings
        The trial's settings with each continuous knob moved to the middle of its plateau; every
        figure is the trial's.
    figures
        Figure address to (current, this) for objectives and constraints.
    interval
        Of the first objective's gain over the current setting.
    p_value
        Max-T test of the first objective over all trials.
    score
        Questions answered better and worse than today.
    n_differ
        Questions of the first objective's slice whose value differs from today's.
    plateaus
        Knob to where no figure of any slice changes, the others fixed.
    flip
        The nearest harmful change along those knobs, with the knob's name.
    fails_after_days, fails
        When, as content ages unchanged, a constraint or the gain is first lost within the horizon,
        and which; ``None`` if it holds.
    """

    trial: int
    settings: Settings
    figures: Mapping[str, tuple[float, float]]
    interval: Interval95 | None
    p_value: float
    score: Tally
    n_differ: int
    plateaus: Mapping[str, Interval]
    flip: tuple[str, Flip] | None
    fails_after_days: float | None
    fails: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """A recommendation.

    Attributes
    ----------
    policy
        Which of the answers is the recommendation.
    chosen
        The recommendation; the current setting where nothing else is justified.
    best
        The best feasible setting, whether or not its gain is distinguishable from luck.
    keep
        Whether the recommendation is what runs today.
    supported
        Whether the best feasible setting passes the test.
    fewest_to_differ
        Questions that must differ before any result can be significant.
    validated
        The whole pick on questions that did not choose it; ``None`` where that is impossible.
    n_questions
        Questions of the first objective.
    n_trials, n_feasible
    """

    policy: Policy
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    chosen: Answer
    best: Answer
    keep: bool
    supported: bool
    fewest_to_differ: int
    validated: CrossValidated | None
    n_questions: int
    n_trials: int
    n_feasible: int
    horizon_days: float

    @property
    def optimism(self) -> float | None:
        """The recommendation's figure in sample minus its cross-validated one."""
        if self.validated is None:
            return None
        return self.chosen.figures[self.objectives[0].address][1] - self.validated.figure


def default_constraints(results: Results) -> tuple[Constraint, ...]:
    """No slice's recall@10 or MRR below the current setting's, as far as they are recorded."""
    texts = [str(metric) for metric in results.metrics]
    guarded = [text for text in ("recall@10", "mrr") if text in texts]
    figures = results.figures[results.figures["trial_id"] == results.current]
    known = figures[figures["value"].notna()]
    return tuple(
        parse_constraint(f"{group}.{metric} >= current")
        for group, metric in zip(known["slice"], known["metric"], strict=True)
        if metric in guarded
    )


def pick(
    results: Results,
    *,
    objectives: Sequence[Objective] | None = None,
    constraints: Sequence[Constraint] | None = None,
    policy: Policy = "supported",
    horizon_days: float = 90.0,
    seed: int = _SEED,
) -> Pick:
    """Recommend a setting.

    Parameters
    ----------
    results
        A finished sweep.
    objectives
        The first decides, the next break ties; the sweep's own unless given.
    constraints
        Bounds; the sweep's own unless given, and :func:`default_constraints` where it has none.
    policy
        See ``choose``.
    horizon_days
        How long it has to hold while the content ages.
    seed
        Of tests, intervals and folds.

    Raises
    ------
    InfeasibleError
        If no trial meets the constraints; it names the one that binds and the nearest trials.
    """
    wanted = tuple(objectives or results.objectives)
    bounds = tuple(results.constraints if constraints is None else constraints)
    if constraints is None and not bounds:
        bounds = default_constraints(results)
    current = results.trial("current")
    settings = results.settings
    scores = scores_of(results)
    far = distances(settings, settings[current])
    preference = [(-_length(item), far[n], float(n)) for n, item in enumerate(settings)]
    choice = choose(
        scores,
        wanted,
        bounds,
        current=current,
        preference=preference,
        policy=policy,
        seed=seed,
    )
    if choice.best is None:
        raise InfeasibleError(_why_infeasible(results, scores, bounds, current))
    best = _widest(results, choice, preference)
    trial = best if choice.trial == choice.best else choice.trial
    describe = _Describer(results, scores, wanted, bounds, choice, current, horizon_days, seed)
    chosen = describe(trial)
    validated = cross_validate(
        scores,
        wanted,
        bounds,
        current=current,
        preference=preference,
        policy=policy,
        seed=seed,
    )
    return Pick(
        policy=policy,
        objectives=wanted,
        constraints=bounds,
        chosen=chosen,
        best=chosen if trial == best else describe(best),
        keep=trial == current,
        supported=choice.supported,
        fewest_to_differ=fewest_to_differ(_LEVEL, one_sided=True),
        validated=validated,
        n_questions=len(scores.rows(wanted[0].address)[1]),
        n_trials=len(settings),
        n_feasible=int(choice.feasible.sum()),
        horizon_days=horizon_days,
    )


def scores_of(results: Results) -> Scores:
    """Replay every trial and keep each question's value of every metric of which more is better."""
    settings = results.settings
    judgments = results.replay.judgments
    metrics = [metric for metric in results.metrics if metric.larger_is_better]
    shape = (len(settings), judgments.n_queries)
    values = {str(metric): np.full(shape, np.nan) for metric in metrics}
    for depth in dict.fromkeys(item.effective_depth for item in settings):
        members = [n for n, item in enumerate(settings) if item.effective_depth == depth]
        positions = results.positions(members)
        for metric in metrics:
            place = np.ix_(np.array(members), metric.queries(judgments))
            values[str(metric)][place] = metric.values(positions)
    return Scores(values, judgments.slices, judgments.slice_of)


def _length(settings: Settings) -> float:
    """Return a half-life for comparison: off is the longest."""
    days = settings.recency_half_life_days
    return math.inf if days == 0 else days


def _widest(results: Results, choice: Choice, preference: Sequence[tuple[float, ...]]) -> int:
    """Return the trial with the widest plateau among those with equal objectives."""
    assert choice.best is not None
    if len(choice.equals) == 1:
        return choice.best
    widths = {n: _width(results, n) for n in choice.equals[:_EQUALS_EXAMINED]}
    return min(widths, key=lambda n: (-widths[n], preference[n]))


def _width(results: Results, trial: int) -> float:
    """Return how wide a trial's plateau is along the half-life: log of the ends' ratio."""
    settings = results.settings[trial]
    curve = exact_curve(results.replay, settings, "recency_half_life_days", results.metrics)
    plateau = margins_of(curve, results.replay, settings.recency_half_life_days).plateau
    if plateau.low is None or plateau.high is None:
        return 0.0
    low = max(plateau.low, 1e-3)
    return math.log(min(plateau.high, 1e7) / low)


class _Describer:
    """Says what speaks for one trial."""

    def __init__(
        self,
        results: Results,
        scores: Scores,
        objectives: tuple[Objective, ...],
        constraints: tuple[Constraint, ...],
        choice: Choice,
        current: int,
        horizon_days: float,
        seed: int,
    ) -> None:
        self.results = results
        self.scores = scores
        self.objectives = objectives
        self.constraints = constraints
        self.choice = choice
        self.current = current
        self.horizon_days = horizon_days
        self.seed = seed

    def __call__(self, trial: int) -> Answer:
        results = self.results
        addresses = dict.fromkeys(
            [item.address for item in self.objectives] + [c.address for c in self.constraints]
        )
        figures = {a: self.scores.figure(a) for a in addresses}
        rows, _ = self.scores.rows(self.objectives[0].address)
        gain = rows[trial] - rows[self.current]
        settings, plateaus, flip = self._refine(trial)
        fails = self._fails(settings)
        return Answer(
            trial=trial,
            settings=settings,
            figures={a: (float(f[self.current]), float(f[trial])) for a, f in figures.items()},
            interval=self._interval(gain),
            p_value=float(self.choice.test.p_value[trial]),
            score=_tally(results, trial, self.current),
            n_differ=int((gain != 0).sum()),
            plateaus=plateaus,
            flip=flip,
            fails_after_days=fails[0] if fails else None,
            fails=fails[1] if fails else None,
        )

    def _interval(self, gain: FloatArray) -> Interval95 | None:
        return mean_interval([gain], seed=self.seed, bounds=(-1.0, 1.0))

    def _refine(self, trial: int) -> tuple[Settings, dict[str, Interval], tuple[str, Flip] | None]:
        """Move continuous knobs to the middle of their plateaus, one after the other."""
        replay, settings = self.results.replay, self.results.settings[trial]
        plateaus: dict[str, Interval] = {}
        nearest: tuple[float, str, Flip] | None = None
        for name in _REFINED:
            value = settings.get(name)
            curve = exact_curve(replay, settings, name, self.results.metrics)
            margins = margins_of(curve, replay, value)
            plateaus[name] = margins.plateau
            flip = margins.nearest
            if flip is not None:
                far = _far(value, flip.at)
                if nearest is None or far < nearest[0]:
                    nearest = (far, name, flip)
            plateau = margins.plateau
            if value and trial != self.current and plateau.low is not None:
                assert plateau.high is not None
                middle = _few_digits(plateau.low, plateau.high, log=curve.knob.log_scale)
                moved = settings.with_values({name: middle})
                if self._same(settings, moved):
                    settings = moved
        return settings, plateaus, None if nearest is None else nearest[1:]

    def _same(self, settings: Settings, moved: Settings) -> bool:
        """Check by real ranking that no figure moved."""
        value = self.results.replay.figures([settings, moved], self.results.metrics).value
        return bool(np.array_equal(value[0], value[1], equal_nan=True))

    def _fails(self, settings: Settings) -> tuple[float, str] | None:
        """Return when, within the horizon, a constraint or the gain is lost, and which."""
        replay, metrics = self.results.replay, self.results.metrics
        today = self.results.settings[self.current]
        mine, theirs = (expiry_of(replay, item, metrics) for item in (settings, today))
        days = np.unique(np.concatenate([mine.edges, theirs.edges]))
        for day in days[days <= self.horizon_days].tolist():
            own, other = mine.at(day), theirs.at(day)
            for constraint in self.constraints:
                group, metric = _place(mine.groups, metrics, constraint.address)
                if not constraint.holds(float(own[group, metric]), float(other[group, metric])):
                    return day, constraint.text
            first = self.objectives[0]
            group, metric = _place(mine.groups, metrics, first.address)
            if first.gain(float(own[group, metric])) < first.gain(float(other[group, metric])):
                return day, f"{first.address} no worse than the current setting"
        return None


def _place(groups: tuple[str, ...], metrics: Sequence[object], address: str) -> tuple[int, int]:
    group, _, metric = address.rpartition(".")
    return groups.index(group), [str(item) for item in metrics].index(metric)


def _far(value: float | None, at: float) -> float:
    if value is not None and value > 0 and at > 0:
        return abs(math.log(at / value))
    return abs(at - (value or 0.0)) if at < 1e4 else math.log(at)


def _few_digits(low: float, high: float, *, log: bool) -> float:
    """Return a value near the middle of an interval with as few digits as fit well inside it."""
    finite_high = high if math.isfinite(high) else max(low * 4, 1.0)
    middle = math.sqrt(low * finite_high) if log and low > 0 else (low + finite_high) / 2
    inner = (finite_high - low) / 4
    for digits in range(1, 17):
        rounded = float(f"{middle:.{digits}g}")
        if low + inner <= rounded <= finite_high - inner:
            return rounded
    return middle


def _tally(results: Results, trial: int, current: int) -> Tally:
    settings = results.settings
    if settings[trial].effective_depth == settings[current].effective_depth:
        return tally(results.positions([current, trial]), results.metrics, 0)[1]
    return tally(results.positions([trial]), results.metrics, results.positions([current]))[0]


def _why_infeasible(
    results: Results, scores: Scores, constraints: Sequence[Constraint], current: int
) -> str:
    """Say which constraint binds and which trials come nearest."""
    lines, lacking = [], np.zeros(len(results.settings))
    for constraint in constraints:
        figure = scores.figure(constraint.address)
        today = float(figure[current])
        met = [constraint.holds(v, today) for v in figure.tolist()]
        gap = np.where(met, 0.0, np.abs(figure - constraint.bound(today)))
        lacking += np.nan_to_num(gap, nan=1.0)
        if not any(met):
            best = figure[np.nanargmin(gap)] if not np.isnan(gap).all() else math.nan
            lines.append(f"{constraint.text}: met by no setting; the nearest has {best:.4f}.")
        elif not all(met):
            lines.append(f"{constraint.text}: met by {sum(met)} of {len(met)} settings.")
    nearest = np.argsort(lacking, kind="stable")[:3]
    lines.append("nearest settings:")
    lines += [f"  #{n} {results.settings[n].text}" for n in nearest.tolist()]
    return "no setting meets all constraints.\n" + "\n".join(lines)
