"""Plots of a finished sweep: its tables made ready for ``plots``, which draws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from sweeper.curves import cells_frame
from sweeper.errors import InputError, did_you_mean
from sweeper.knobs import knob
from sweeper.plots import plot_heatmap, plot_knob_curve, plot_staircase, plot_tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # noqa: TID251 (for the annotation alone)

    from sweeper.plots.tradeoff import Better
    from sweeper.results import Results
    from sweeper.staircase import Curve

__all__ = [
    "draw_heatmap",
    "draw_knob_curve",
    "draw_staircase",
    "draw_tradeoff",
    "goals_of",
    "tradeoff_points",
]


def draw_tradeoff(results: Results, x: str, y: str, *, ax: Axes | None = None) -> Axes:
    """Draw every trial by two figures, with the front and the current setting marked."""
    goals = goals_of(results, x, y)
    better: dict[str, Better] = {
        address: "higher" if goal == "maximize" else "lower" for address, goal in goals.items()
    }
    points = tradeoff_points(results, x, y)
    return plot_tradeoff(points, x=x, y=y, x_better=better[x], y_better=better[y], ax=ax)


def goals_of(results: Results, *addresses: str) -> dict[str, str]:
    """Return for each figure whether it is better the more of it there is, as ``pareto`` asks."""
    less = {str(metric) for metric in results.metrics if not metric.larger_is_better}
    return {a: "minimize" if a.rpartition(".")[2] in less else "maximize" for a in addresses}


def tradeoff_points(results: Results, x: str, y: str) -> pd.DataFrame:
    """Return the points of ``draw_tradeoff``, one row per trial."""
    points = results.wide([x, y])
    front = results.pareto(goals_of(results, x, y))["number"]
    points["is_current"] = results.trials["is_current"].to_numpy()
    points["on_front"] = points.index.isin(front)
    points["label"] = results.labels()
    return points


def draw_knob_curve(
    results: Results, metric: str, *, name: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw one metric per slice along one knob, the others as they are today.

    Raises
    ------
    InputError
        If the sweep has no knob, or did not record the metric.
    """
    name = name or results.manifest["table"]["knob"]
    if name is None:
        raise InputError("the space has no knob to draw.")
    line, figures = results.line(name), results.figures
    chosen = figures[
        figures["trial_id"].isin(line["trial_id"])
        & (figures["metric"] == metric)
        & (figures["n_queries"] > 0)
    ]
    texts = [str(item) for item in results.metrics]
    if metric not in texts:
        raise InputError(f'this sweep has no metric "{metric}". {did_you_mean(metric, texts)}')
    pairs = zip(line["trial_id"], line["number"], strict=True)
    value = {str(trial): results.settings[int(number)].on_axis(name) for trial, number in pairs}
    curve = pd.DataFrame(
        {
            "value": [value[trial] for trial in chosen["trial_id"]],
            "slice": chosen["slice"].to_numpy(),
            "figure": chosen["value"].to_numpy(),
        }
    )
    current = results.settings[results.trial("current")].on_axis(name)
    return plot_knob_curve(curve, knob=knob(name), metric=metric, current=current, ax=ax)


def draw_staircase(
    results: Results,
    curve: Curve,
    metric: str,
    *,
    sampled: bool = False,
    intervals: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw one metric of an exact curve, every step of every slice.

    Parameters
    ----------
    results
        The sweep that the curve was computed from.
    curve
        From ``sweeper.curves.curve_of``.
    metric
        One of the curve's metrics.
    sampled
        Whether to draw what the trials along the curve saw, too.
    intervals
        Whether to draw the 95% band of each slice's mean.
    ax
        Where to draw; a fresh figure by default.

    Raises
    ------
    InputError
        If the sweep did not record the metric.
    """
    texts = [str(item) for item in curve.metrics]
    if metric not in texts:
        raise InputError(f'this sweep has no metric "{metric}". {did_you_mean(metric, texts)}')
    return plot_staircase(
        cells_frame(curve, results.replay, metric, intervals=intervals),
        knob=curve.knob,
        metric=metric,
        current=results.current_settings.on_axis(curve.knob.name),
        sampled=_sampled(results, curve, metric) if sampled else None,
        ax=ax,
    )


def _sampled(results: Results, curve: Curve, metric: str) -> pd.DataFrame:
    """Return the points of the trials that differ from a curve's settings in its knob alone."""
    name = curve.knob.name
    base = curve.settings.get(name)
    value = {
        item.trial_id: item.on_axis(name)
        for item in results.settings
        if item.with_values({name: base}) == curve.settings
    }
    figures = results.figures
    own = figures[figures["trial_id"].isin(value) & (figures["metric"] == metric)]
    points = pd.DataFrame(
        {
            "value": own["trial_id"].map(value).astype("float64"),
            "slice": own["slice"],
            "figure": own["value"],
        }
    )
    return points[points["figure"].notna()].sort_values(["slice", "value"], ignore_index=True)


def draw_heatmap(
    results: Results, address: str, *, rows: str, columns: str, ax: Axes | None = None
) -> Axes:
    """Draw one figure over two knobs, the others as they are today."""
    values = results.wide([address])[address]
    current = results.settings[results.trial("current")]
    cells = {
        (results.settings[n].get(rows), results.settings[n].get(columns)): float(values.loc[n])
        for n in results.plane(rows, columns)
    }
    row_axis = sorted({row for row, _ in cells}, key=knob(rows).sort_key)
    column_axis = sorted({column for _, column in cells}, key=knob(columns).sort_key)
    frame = pd.DataFrame(
        [[cells.get((row, column), math.nan) for column in column_axis] for row in row_axis],
        index=pd.Index(row_axis, dtype=object),
        columns=pd.Index(column_axis, dtype=object),
    )
    return plot_heatmap(
        frame,
        rows=knob(rows),
        columns=knob(columns),
        metric=address,
        current=(current.get(rows), current.get(columns)),
        ax=ax,
    )
