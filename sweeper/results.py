"""Results of a finished sweep: its frames, and everything that can be asked of them.

Files are read in ``stored``. Each question has a module of its own (``pick``, ``comparison``,
``curves``, ``explain``, ``pictures``), imported when it is first asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sweeper.constraints import Objective
from sweeper.errors import InputError
from sweeper.finding import find_sweep
from sweeper.knobs import knob
from sweeper.recommend import distances, pareto_front
from sweeper.stored import StoredSweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # noqa: TID251 (for the annotation alone)

__all__ = ["Results", "load"]


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

    def pareto(self, objectives: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Return the trials that no other beats in every objective, best first objective first.

        Of trials with equal figures the one nearest to the current setting is kept, then the one
        with the lower number.

        Parameters
        ----------
        objectives
            Figure to ``maximize`` or ``minimize``; the sweep's own unless given.
        """
        chosen = self.objectives
        if objectives is not None:
            if any(word not in {"maximize", "minimize"} for word in objectives.values()):
                raise InputError("an objective is maximize or minimize.")
            chosen = tuple(Objective(a, d) for a, d in objectives.items())  # type: ignore[arg-type]
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
        """
        name = name or self.manifest["table"]["knob"]
        if name is None:
            return self.trials[self.trials["is_current"]].reset_index(drop=True)
        return self.trials.iloc[self.plane(name)].reset_index(drop=True)

    def plane(self, *free: str) -> list[int]:
        """Return the trials that differ from the current setting in some knobs at most."""
        for name in free:
            knob(name)
        today = self.settings[self.trial("current")]
        held = [(name, today.given(name)) for name in self.varied_knobs if name not in free]
        return [
            number
            for number, item in enumerate(self.settings)
            if all(item.given(name) == value for name, value in held)
        ]

    def plot_tradeoff(self, x: str, y: str, *, ax: Axes | None = None) -> Axes:
        """Draw every trial by two figures, with the front and the current setting marked."""
        from sweeper.pictures import draw_tradeoff

        return draw_tradeoff(self, x, y, ax=ax)

    def plot_knob_curve(
        self, metric: str, *, name: str | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw one metric per slice along one knob, the others as they are today."""
        from sweeper.pictures import draw_knob_curve

        return draw_knob_curve(self, metric, name=name, ax=ax)

    def plot_heatmap(
        self, address: str, *, rows: str, columns: str, ax: Axes | None = None
    ) -> Axes:
        """Draw one figure over two knobs, the others as they are today."""
        from sweeper.pictures import draw_heatmap

        return draw_heatmap(self, address, rows=rows, columns=columns, ax=ax)

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
