"""The recommendation of a finished sweep: which setting, what it gains, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sweeper.constraints import Constraint, Objective, split_address
from sweeper.cross_validation import cross_validate
from sweeper.errors import InfeasibleError, InputError
from sweeper.exact import exact_curve, extreme_weight
from sweeper.expiry import expiry_of
from sweeper.golden import OVERALL
from sweeper.intervals import Interval95, mean_interval
from sweeper.margins import Interval, Margins, margins_of
from sweeper.paired import fewest_to_differ
from sweeper.picked import Answer, Pick
from sweeper.pools import FloatArray
from sweeper.recommend import LEVEL, Choice, Policy, choose, distances, which_hold
from sweeper.replay import Replay
from sweeper.scores import Scores
from sweeper.settings import Settings
from sweeper.ties import tie_bounds

if TYPE_CHECKING:
    from sweeper.results import Results

__all__ = ["Answer", "Pick", "pick"]

_SEED = 19_930_101
_HALF_LIFE = "recency_half_life_days"
_REFINED = (_HALF_LIFE, "min_similarity")
"""Knobs whose value is moved to the middle of its plateau."""

_EQUALS_EXAMINED = 200
"""Trials with equal objectives whose plateaus are compared."""

_ROUNDING = 1e-12


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
        Bounds; the sweep's own unless given, and ``results.default_constraints`` where it
        has none.
    policy
        ``supported``: the best feasible setting whose gain in the first objective is more than luck
        over all trials, else today's. ``best``: the best feasible setting. ``dominant``: the best
        one that answers no question worse and some better, else today's.
    horizon_days
        How long it has to hold while the content ages.
    seed
        Of tests, intervals and folds.

    Raises
    ------
    InputError
        If no question has an objective's or a constraint's figure.
    InfeasibleError
        If no trial meets the constraints; it names the one that binds and the nearest trials.
    """
    wanted = tuple(objectives or results.objectives)
    bounds = tuple(results.constraints if constraints is None else constraints)
    if constraints is None and not bounds:
        bounds = results.default_constraints
    current = results.trial("current")
    settings = results.settings
    if results.trials["status"].iloc[current] == "failed":
        raise InputError(
            f"{results.address}: today's setting has no figures, so nothing can be compared with "
            "it. Run the same sweep again."
        )
    results.wide([item.address for item in wanted] + [item.address for item in bounds])
    scores = results.scores()
    for address in [item.address for item in wanted] + [item.address for item in bounds]:
        if not len(scores.queries(address)):
            raise InputError(f"{address}: no question has this figure.")
    far = distances(settings, settings[current])
    preference = [(-_length(item), far[n], float(n)) for n, item in enumerate(settings)]
    choice = choose(scores, wanted, bounds, current=current, preference=preference, seed=seed)
    if not choice.best:
        raise InfeasibleError(_why_infeasible(results, choice, bounds, current))
    describe = _Describer(results, scores, wanted, bounds, choice, current, horizon_days, seed)
    best = _widest(results, choice.best, preference)
    supported = _widest(results, choice.supported, preference)
    chosen = _widest(results, choice.of(policy), preference)
    trial = current if chosen is None else chosen
    answers = {n: describe(n) for n in dict.fromkeys([trial, best, supported]) if n is not None}
    assert best is not None
    return Pick(
        policy=policy,
        objectives=wanted,
        constraints=bounds,
        chosen=answers[trial],
        best=answers[best],
        supported=None if supported is None else answers[supported],
        keep=trial == current,
        broken=tuple(
            item.text
            for item in bounds
            if not which_hold(item, choice.figures[item.address], current)[current]
        ),
        fewest_to_differ=fewest_to_differ(LEVEL, one_sided=True),
        validated=cross_validate(
            scores,
            wanted,
            bounds,
            current=current,
            preference=preference,
            policy=policy,
            seed=seed,
        ),
        n_questions=len(scores.queries(wanted[0].address)),
        n_trials=len(settings) - results.n_failed,
        n_feasible=int(choice.feasible.sum()),
        horizon_days=horizon_days,
    )


def _length(settings: Settings) -> float:
    """Return a half-life for comparison: off is the longest."""
    days = settings.recency_half_life_days
    return math.inf if days == 0 else days


def _widest(
    results: Results, equals: Sequence[int], preference: Sequence[tuple[float, ...]]
) -> int | None:
    """Return the trial with the widest plateau along the half-life among equals."""
    if len(equals) < 2 or not results.replayable:
        return min(equals, key=lambda n: preference[n]) if equals else None
    # Trials that differ in the half-life alone stand on one curve.
    curves: dict[str, list[int]] = {}
    for trial in equals[:_EQUALS_EXAMINED]:
        rest = results.settings[trial].with_values({_HALF_LIFE: 0.0})
        curves.setdefault(rest.text, []).append(trial)
    widths: dict[int, float] = {}
    for members in curves.values():
        if not _has_curves(results, results.settings[members[0]]):
            widths |= dict.fromkeys(members, 0.0)
            continue
        curve = exact_curve(
            results.replay, results.settings[members[0]], _HALF_LIFE, results.metrics
        )
        for trial in members:
            days = results.settings[trial].recency_half_life_days
            widths[trial] = _width(margins_of(curve, results.replay, days).plateau)
    return min(widths, key=lambda n: (-widths[n], preference[n]))


def _has_curves(results: Results, settings: Settings) -> bool:
    """Return whether exact curves reach a setting: they do, but for extreme weights."""
    replay = results.replay.of(settings)
    return extreme_weight(replay.layout(settings.effective_depth), settings) is None


def _width(plateau: Interval) -> float:
    """Return how wide a plateau of half-lives is: the logarithm of its ends' ratio."""
    if plateau.low is None or plateau.high is None:
        return 0.0
    return math.log(min(plateau.high, 1e7) / min(max(plateau.low, 1e-3), 1e7))


@dataclass(frozen=True, slots=True, eq=False)
class _Describer:
    """Says what speaks for one trial."""

    results: Results
    scores: Scores
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    choice: Choice
    current: int
    horizon_days: float
    seed: int

    def __call__(self, trial: int) -> Answer:
        results, first = self.results, self.objectives[0]
        gain = self.scores.gain(first, self.current)[trial]
        settings, ties = results.settings[trial], None
        margins: dict[str, Margins] = {}
        fails: tuple[float, str] | None = None
        known_days = None
        if results.replayable:
            if _has_curves(results, settings):
                settings = self._refined(trial)
                margins = {name: self._margins(settings, name) for name in _REFINED}
            bounds = tie_bounds(results.replay, settings, results.metrics)
            place = _place(bounds.groups, results, first.address)
            ties = (float(bounds.lowest[place]), float(bounds.highest[place]))
            fails, known_days = self._fails(settings)
        return Answer(
            trial=trial,
            settings=settings,
            figures={
                address: (float(figure[self.current]), float(figure[trial]))
                for address, figure in self.choice.figures.items()
            },
            ties=ties,
            interval=self._interval(gain),
            p_value=float(self.choice.test.p_value[trial]),
            score=results.tallies([trial])[0],
            n_differ=int((gain != 0).sum()),
            plateaus={name: item.plateau for name, item in margins.items()},
            flips={n: m.nearest for n, m in margins.items() if m.nearest is not None},
            fails_after_days=fails[0] if fails else None,
            fails=fails[1] if fails else None,
            known_days=known_days,
        )

    def _interval(self, gain: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Interval95 | None:
        address = self.objectives[0].address
        if not split_address(address)[1].larger_is_better:
            return None
        own = self.scores.slice_of[self.scores.queries(address)]
        strata = [gain[own == number] for number in np.unique(own)]
        return mean_interval(strata, seed=self.seed, bounds=(-1.0, 1.0))

    def _margins(self, settings: Settings, name: str) -> Margins:
        curve = exact_curve(self.results.replay, settings, name, self.results.metrics)
        return margins_of(curve, self.results.replay, settings.on_axis(name))

    def _refined(self, trial: int) -> Settings:
        """Move continuous knobs to the middle of their plateaus, one after the other."""
        settings = self.results.settings[trial]
        if trial == self.current:
            return settings
        for name in _REFINED:
            value = settings.get(name)
            if value is None or (name == _HALF_LIFE and value == 0):
                continue
            plateau = self._margins(settings, name).plateau
            if plateau.low is not None and plateau.high is not None:
                middle = _few_digits(plateau.low, plateau.high, log=name == _HALF_LIFE)
                moved = settings.with_values({name: middle})
                if self._same(settings, moved):
                    settings = moved
        return settings

    def _same(self, settings: Settings, moved: Settings) -> bool:
        """Check by real ranking that no question's value moved."""
        positions = self.results.replay.positions([settings, moved])
        values = (metric.values(positions) for metric in self.results.metrics)
        return all(np.array_equal(value[0], value[1]) for value in values)

    def _fails(self, settings: Settings) -> tuple[tuple[float, str] | None, float]:
        """Return when, within the horizon, what holds today is lost, and what; and the days known.

        Where scores underflow before the horizon, the horizon itself is replayed.
        """
        results = self.results
        today = results.settings[self.current]
        mine, theirs = (
            expiry_of(results.replay, item, results.metrics) for item in (settings, today)
        )
        held = self._held(mine.at(0.0), theirs.at(0.0))
        until = max(0.0, min(mine.until, theirs.until))
        days = np.unique(np.concatenate([mine.edges, theirs.edges]))
        for day in days[(days <= self.horizon_days) & (days < until)].tolist():
            now = self._held(mine.at(day), theirs.at(day))
            lost = [text for text in held if text not in now]
            if lost:
                return (day, lost[0]), min(until, self.horizon_days)
        if until > self.horizon_days or not math.isfinite(self.horizon_days):
            return None, min(until, self.horizon_days)
        # Two settings may rank different candidates, so each is replayed by itself.
        own, other = (
            Replay(results.replay.of(item).pool.at(self.horizon_days), results.golden)
            .figures([item], results.metrics)
            .value[0]
            for item in (settings, today)
        )
        now = self._held(own, other)
        lost = [text for text in held if text not in now]
        return ((self.horizon_days, lost[0]) if lost else None), until

    def _held(self, own: FloatArray, other: FloatArray) -> list[str]:
        """Return which constraints a table of figures meets beside today's, and if it gains."""
        results, first = self.results, self.objectives[0]
        groups = [*results.replay.judgments.slices, OVERALL]
        held = []
        for item in self.constraints:
            place = _place(groups, results, item.address)
            if item.holds(float(own[place]), float(other[place])):
                held.append(item.text)
        place = _place(groups, results, first.address)
        if first.gain(float(own[place])) - first.gain(float(other[place])) > _ROUNDING:
            held.append(f"no gain in {first.address} over the current setting")
        return held


def _place(groups: Sequence[str], results: Results, address: str) -> tuple[int, int]:
    group, metric = split_address(address)
    return groups.index(group), results.metrics.index(metric)


def _few_digits(low: float, high: float, *, log: bool) -> float:
    """Return a value in the middle half of an interval with as few digits as fit.

    Examples
    --------
    >>> _few_digits(1749.33, 1831.56, log=True), _few_digits(10.3, 6500, log=True)
    (1800.0, 300.0)
    >>> _few_digits(0.2931, 0.3019, log=False), _few_digits(0.0, math.inf, log=True)
    (0.297, 2.0)
    """
    if not math.isfinite(high):
        high = max(low * 4, 4.0)
    if log:
        low = max(low, high / 4) if low <= 0 else low
        ratio = (high / low) ** 0.25
        middle, inner = math.sqrt(low * high), (low * ratio, high / ratio)
    else:
        middle, inner = (low + high) / 2, (low + (high - low) / 4, high - (high - low) / 4)
    for digits in range(1, 17):
        rounded = float(f"{middle:.{digits}g}")
        if inner[0] <= rounded <= inner[1]:
            return rounded
    return middle


def _why_infeasible(
    results: Results, choice: Choice, constraints: Sequence[Constraint], current: int
) -> str:
    """Say which constraint binds and which trials come nearest."""
    figures = [choice.figures[item.address] for item in constraints]
    pairs = list(zip(constraints, figures, strict=True))
    met = np.array([which_hold(item, figure, current) for item, figure in pairs])
    gaps = np.array([np.abs(figure - item.bound(float(figure[current]))) for item, figure in pairs])
    # A trial that failed is near to nothing.
    lacking = np.where(met, 0.0, np.where(np.isnan(gaps), np.inf, gaps))
    lines = ["no setting meets all constraints."]
    for number, item in enumerate(constraints):
        others = np.delete(met, number, axis=0).all(axis=0)
        if not met[number].any():
            best = figures[number][int(lacking[number].argmin())]
            lines.append(f"{item.text}: binds, met by no setting; the nearest has {best:.4f}.")
        elif others.any():
            lines.append(
                f"{item.text}: binds, met by {met[number].sum()} settings, but by none of the "
                f"{others.sum()} that meet the rest."
            )
        else:
            lines.append(f"{item.text}: met by {met[number].sum()} settings.")
    lines.append("Nearest settings:")
    for trial in np.argsort(lacking.sum(axis=0), kind="stable")[:3].tolist():
        missed = [
            f"{item.address} {figures[n][trial]:.4f}"
            for n, item in enumerate(constraints)
            if not met[n, trial]
        ]
        lines.append(f"  #{trial} {results.settings[trial].text}: {', '.join(missed)}")
    return "\n".join(lines)
