"""Results of a finished sweep: its frames, and everything that can be asked of them.

Files are read in ``stored``. Each question has a module of its own (``pick``, ``comparison``,
``curves``, ``explain``, ``pictures``), imported when it is first asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, get_args

import numpy as np
import pandas as pd

from sweeper.constraints import Constraint, Objective, parse_constraint, parse_objectives
from sweeper.errors import InputError, did_you_mean
from sweeper.golden import QueryId
from sweeper.knobs import Value, knob
from sweeper.locating import find_sweep
from sweeper.recommend import Policy, distances, pareto_front
from sweeper.settings import Settings
from sweeper.stored import StoredSweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # noqa: TID251 (for the annotation alone)

    from sweeper.comparison import Comparison
    from sweeper.explain import Explanation
    from sweeper.margins import Margins
    from sweeper.picked import Pick
    from sweeper.staircase import Curve

__all__ = ["Results", "load"]

Objectives: TypeAlias = str | Iterable[str] | Mapping[str, str]
Changes: TypeAlias = Settings | Mapping[str, Value]


def load(sweep: str | Path, *, root: str | Path = "results") -> Results:
    """Open a finished sweep.

    Parameters
    ----------
    sweep
        A folder (``results/recency``, ``results/recency/1a2b3c4d``), a sweep's name (its latest),
        or ``name/id``.
    root
        Where names are looked up.

    Raises
    ------
    InputError
        If there is no such sweep, or it has not finished.
    """
    return Results(find_sweep(sweep, root=root))


class Results(StoredSweep):
    """A finished sweep.

    Parameters
    ----------
    folder
        ``results/<name>/<id>``.

    Raises
    ------
    InputError
        If the sweep has not finished or a table cannot be read.
    """

    def __repr__(self) -> str:
        return f"<Results {self.address}: {len(self.trials)} trials, {len(self.golden)} queries>"

    def _repr_html_(self) -> str:
        from sweeper.reprs import results_html

        return results_html(self)

    def pareto(self, objectives: Objectives | None = None) -> pd.DataFrame:
        """Return the trials that no other beats in every objective, best first objective first.

        Of trials with equal figures the one nearest to the current setting is kept, then the one
        with the lower number.

        Parameters
        ----------
        objectives
            Figure to ``maximize`` or ``minimize``, or figures to maximise; the sweep's own unless
            given.

        Raises
        ------
        InputError
            If a figure is unknown, or a direction is another word.
        """
        chosen = self._objectives(objectives)
        table = self.wide([item.address for item in chosen])
        gains = np.stack(
            [
                table[item.address].to_numpy() * (1 if item.direction == "maximize" else -1)
                for item in chosen
            ],
            axis=1,
        )
        far = distances(self.settings, self.settings[self.trial("current")])
        preference = [(far[number], float(number)) for number in range(len(gains))]
        return self.trials.iloc[pareto_front(gains, preference)].reset_index(drop=True)

    def line(self, name: str | None = None) -> pd.DataFrame:
        """Return the trials that differ from the current setting in one knob at most.

        Parameters
        ----------
        name
            The knob; the printed table's unless given.

        Returns
        -------
        DataFrame
            Rows of ``trials``; without a knob that of the current setting alone.

        Raises
        ------
        InputError
            If there is no such knob.
        """
        name = name or self.manifest["table"]["knob"]
        if name is None:
            return self.trials[self.trials["is_current"]].reset_index(drop=True)
        return self.trials.iloc[self.plane(name)].reset_index(drop=True)

    def plane(self, *free: str) -> list[int]:
        """Return the trials that differ from the current setting in some knobs at most.

        Parameters
        ----------
        *free
            Knobs; with none, trials that are set as the current one.

        Returns
        -------
        list of int
            Numbers of the trials, ascending.

        Raises
        ------
        InputError
            If there is no such knob.
        """
        for name in free:
            try:
                knob(name)
            except KeyError as error:
                raise InputError(str(error.args[0])) from error
        today = self.settings[self.trial("current")]
        held = [(name, today.given(name)) for name in self.varied_knobs if name not in free]
        return [
            number
            for number, item in enumerate(self.settings)
            if all(item.given(name) == value for name, value in held)
        ]

    def pick(
        self,
        *,
        objectives: Objectives | None = None,
        constraints: str | Iterable[str] | None = None,
        policy: Policy = "supported",
        horizon_days: float = 90.0,
    ) -> Pick:
        """Recommend a setting, and say how sure that is; what ``sweep pick`` prints.

        Parameters
        ----------
        objectives
            As in ``pareto``. The first decides, the next break ties.
        constraints
            Such as ``entity.recall@10 >= current - 0.01``; the sweep's own unless given, and
            ``default_constraints`` where it has none.
        policy
            ``supported``: the best feasible setting whose gain in the first objective is more than
            luck over all trials, else today's. ``best``: the best feasible setting. ``dominant``:
            the best one that answers no question worse and some better, else today's.
        horizon_days
            How long it has to hold while the content ages.

        Raises
        ------
        InputError
            If a figure is unknown, or no question has it; or a constraint cannot be read.
        InfeasibleError
            If no trial meets the constraints; it names the one that binds and the nearest trials.
        """
        from sweeper.pick import pick

        if policy not in get_args(Policy):
            raise InputError(f'policy "{policy}": {did_you_mean(policy, get_args(Policy))}')
        if not horizon_days >= 0:
            raise InputError(
                f"the horizon must be a number of days of at least 0, got {horizon_days:g}."
            )
        return pick(
            self,
            objectives=self._objectives(objectives),
            constraints=None if constraints is None else self._constraints(constraints),
            policy=policy,
            horizon_days=horizon_days,
        )

    def compare(
        self, challenger: str | int, baseline: str | int = "current", *, of: Results | None = None
    ) -> Comparison:
        """Compare two trials per slice and question by question; what ``sweep compare`` prints.

        Parameters
        ----------
        challenger
            A trial of this sweep, as ``trial`` takes it.
        baseline
            A trial, or the path of a baseline file (``.json``).
        of
            The sweep whose trial the baseline is; this one unless given.

        Raises
        ------
        InputError
            If there is no such trial or file, or the sides have no question in common.
        """
        from sweeper.baseline import read_baseline
        from sweeper.comparison import Side, compare_trials, compare_with_baseline

        side = Side(self, self.trial(challenger))
        if isinstance(baseline, str) and baseline.endswith(".json"):
            return compare_with_baseline(read_baseline(baseline), baseline, side)
        other = of or self
        return compare_trials(Side(other, other.trial(baseline)), side)

    def explain(
        self, query_id: QueryId, trial: str | int = "current", *, settings: Changes | None = None
    ) -> Explanation:
        """Say why each row stands where it stands, for one question; as ``sweep explain`` does.

        Parameters
        ----------
        query_id
            A question of the golden set.
        trial
            The trial to explain it under.
        settings
            Knobs to change, such as ``{"rrf_k": 20}``; whole settings take the trial's place.

        Raises
        ------
        InputError
            If there is no such question, trial or knob, or the candidates were not captured.
        """
        from sweeper.explain import explain
        from sweeper.variations import varied

        known = self.golden.query_ids
        if query_id not in known:
            hint = did_you_mean(query_id, known)
            raise InputError(f'{self.address} has no question "{query_id}". {hint}')
        return explain(self.replay, query_id, varied(self, trial, settings))

    def curve(
        self,
        name: str | None = None,
        trial: str | int = "current",
        *,
        settings: Changes | None = None,
    ) -> Curve:
        """Compute every figure along one knob exactly: no step is missed.

        Parameters
        ----------
        name
            ``rrf_k``, ``min_similarity``, ``recency_half_life_days`` or a channel's weight; the
            printed table's knob unless given.
        trial, settings
            Give the other knobs, as in ``explain``.

        Returns
        -------
        Curve
            ``Curve.to_frame`` is its frame.

        Raises
        ------
        InputError
            If the knob has no exact curve, there is no such trial, or the candidates were not
            captured.
        """
        from sweeper.curves import asked_curve
        from sweeper.variations import varied

        return asked_curve(self, self._knob(name), varied(self, trial, settings))

    def margins(
        self,
        name: str | None = None,
        trial: str | int = "current",
        *,
        settings: Changes | None = None,
    ) -> Margins:
        """Say what surrounds a setting along one knob: its plateau, and the nearest losses.

        Parameters and errors are those of ``curve``.
        """
        from sweeper.margins import margins_of

        curve = self.curve(name, trial, settings=settings)
        try:
            return margins_of(curve, self.replay, curve.settings.on_axis(curve.knob.name))
        except ValueError as error:
            raise InputError(f"{error}.") from error

    def _knob(self, name: str | None) -> str:
        found = name or self.manifest["table"]["knob"]
        if found is None:
            raise InputError("the space has no knob, so name one.")
        return str(found)

    def plot_tradeoff(self, x: str, y: str, *, ax: Axes | None = None) -> Axes:
        """Draw every trial by two figures, with the front and the current setting marked.

        Parameters
        ----------
        x, y
            Figures such as ``entity.recall@10``.
        ax
            Where to draw; a fresh figure by default.

        Raises
        ------
        InputError
            If a figure is unknown.
        """
        from sweeper.pictures import draw_tradeoff

        return draw_tradeoff(self, x, y, ax=ax)

    def plot_knob_curve(
        self, metric: str, *, name: str | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw one metric per slice along one knob, the others as they are today.

        Parameters
        ----------
        metric
            Such as ``mrr``.
        name
            The knob; the printed table's unless given.
        ax
            Where to draw; a fresh figure by default.

        Raises
        ------
        InputError
            If there is no such knob, or the sweep did not record the metric.
        """
        from sweeper.pictures import draw_knob_curve

        return draw_knob_curve(self, metric, name=name, ax=ax)

    def plot_staircase(
        self,
        metric: str,
        *,
        name: str | None = None,
        trial: str | int = "current",
        settings: Changes | None = None,
        sampled: bool = False,
        intervals: bool = True,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw one metric per slice along one knob exactly, every step of it.

        Parameters
        ----------
        metric
            Such as ``mrr``.
        name, trial, settings
            As in ``curve``.
        sampled
            Whether to draw what the sweep's trials saw of the curve, too.
        intervals
            Whether to draw the 95% band of each slice's mean.
        ax
            Where to draw; a fresh figure by default.

        Raises
        ------
        InputError
            As in ``curve``, or if the sweep did not record the metric.
        """
        from sweeper.pictures import draw_staircase

        curve = self.curve(name, trial, settings=settings)
        return draw_staircase(self, curve, metric, sampled=sampled, intervals=intervals, ax=ax)

    def plot_heatmap(
        self, address: str, *, rows: str, columns: str, ax: Axes | None = None
    ) -> Axes:
        """Draw one figure over two knobs, the others as they are today.

        Parameters
        ----------
        address
            The figure, such as ``overall.mrr``.
        rows, columns
            The knobs.
        ax
            Where to draw; a fresh figure by default.

        Raises
        ------
        InputError
            If the figure or a knob is unknown.
        """
        from sweeper.pictures import draw_heatmap

        return draw_heatmap(self, address, rows=rows, columns=columns, ax=ax)

    def _objectives(self, given: Objectives | None) -> tuple[Objective, ...]:
        if given is None:
            return self.objectives
        try:
            found = parse_objectives(given)
        except ValueError as error:
            raise InputError(str(error)) from error
        self.wide(item.address for item in found)
        return found

    def _constraints(self, given: str | Iterable[str]) -> tuple[Constraint, ...]:
        try:
            texts = [given] if isinstance(given, str) else given
            found = tuple(parse_constraint(text) for text in texts)
        except ValueError as error:
            raise InputError(str(error)) from error
        self.wide(item.address for item in found)
        return found

    def labels(self) -> list[str]:
        """Return a short text per trial: its arm, the knobs in which the trials differ, or #number.

        The number alone, where they differ in many.
        """
        knobs = [(_short(name), knob(name)) for name in self.varied_knobs]
        arms = self.trials["arm"].tolist()
        if len(knobs) > _KNOBS_IN_A_LABEL:
            return [arm if isinstance(arm, str) else f"#{n}" for n, arm in enumerate(arms)]
        return [
            arm
            if isinstance(arm, str)
            else ", ".join(f"{short} {own.format(item.given(own.name))}" for short, own in knobs)
            for arm, item in zip(arms, self.settings, strict=True)
        ]


_SHORT = {
    "rrf_k": "k",
    "min_similarity": "floor",
    "recency_half_life_days": "half-life",
}


def _short(name: str) -> str:
    return _SHORT.get(name, name)


_KNOBS_IN_A_LABEL = 4
