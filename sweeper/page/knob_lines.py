"""Exact curves as the page draws them: at the resolution of a screen, which is said."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeper.curves import cells_frame, curve_of
from sweeper.golden import OVERALL
from sweeper.knobs import Value
from sweeper.plots.knob_axis import KnobAxis, changing
from sweeper.pools import FloatArray
from sweeper.results import Results
from sweeper.settings import Settings
from sweeper.staircase import Curve
from sweeper.tables import plain

__all__ = ["KnobLines", "doubtful_places", "knob_lines", "thinned", "with_curves"]

_BASIC = ("recency_half_life_days", "min_similarity", "rrf_k")
_MOST_KNOBS = 8

_RESOLUTION = 20_000
"""Places along an axis: more than any screen has."""

_UNITS = 100_000_000
"""Figures are whole numbers of this part, so that a line is short text."""


@dataclass(frozen=True, slots=True, eq=False)
class KnobLines:
    """One exact curve and where it is marked.

    Attributes
    ----------
    curve
    base
        ``today`` or ``pick``: whose other knobs it keeps.
    marked
        Value of the knob that runs today, and that of the pick.
    """

    curve: Curve
    base: str
    marked: tuple[Value, ...]


def with_curves(
    results: Results, today: Settings, pick: Settings | None
) -> tuple[list[KnobLines], list[str]]:
    """Compute the exact curve of every knob that has one, through today's setting and the pick.

    Returns
    -------
    list of KnobLines, list of str
        The curves, and what to say of knobs that varied and have none.
    """
    if not results.replayable:
        return [], ["The engine shows no candidates, so there are no exact curves."]
    bases = {"today": today}
    if pick is not None and pick != today:
        bases["pick"] = pick
    varied = [name for name in results.varied_knobs if name not in _BASIC]
    weights = [name for name in varied if "weights." in name]
    names = [*_BASIC, *weights][:_MOST_KNOBS]
    found: list[KnobLines] = []
    without = [name for name in varied if name not in names]
    for name in names:
        try:
            curves = [(base, curve_of(results, name, item)) for base, item in bases.items()]
        except ValueError:  # such as a weight that another weight follows
            without.append(name)
            continue
        marked = tuple(item.on_axis(name) for item in bases.values())
        found += [KnobLines(curve, base, marked) for base, curve in curves]
    notes = []
    if without:
        texts = ", ".join(plain(name) for name in without)
        notes.append(f"Without an exact curve: {texts}. Their values were tried one by one.")
    return found, notes


def knob_lines(
    item: KnobLines,
    results: Results,
    metrics: Sequence[str],
    steps: int,
    names: Mapping[str, str],
    shown: Collection[str],
) -> dict[str, Any] | None:
    """Return a curve for the page; ``None`` where no figure of it is known.

    Parameters
    ----------
    item
        The curve.
    results
        Gives the questions.
    metrics
        Which to show, by name.
    steps
        A line with more is drawn by the lowest and the highest of equal stretches.
    names
        How each slice is called.
    shown
        Addresses of the figures that have a line.
    """
    curve, knob = item.curve, item.curve.knob
    frames = {
        metric: cells_frame(curve, results.replay, metric, intervals=False) for metric in metrics
    }
    on_axis = {m: f[f["low"].notna() & f["exact"] & f["figure"].notna()] for m, f in frames.items()}
    groups = {m: [g for g in curve.groups if f"{g}.{m}" in shown] for m in metrics}
    on_axis = {m: f[f["slice"].isin(groups[m])] for m, f in on_axis.items()}
    on_axis = {metric: frame for metric, frame in on_axis.items() if len(frame)}
    # A figure that never changes has no say in where to look.
    telling = [f for f in on_axis.values() if f.groupby("slice")["figure"].nunique().max() > 1]
    views = [changing(frame, knob, item.marked) for frame in telling or on_axis.values()]
    axis = KnobAxis(knob, min(v[0] for v in views), max(v[1] for v in views)) if views else None
    if axis is None:
        return None
    low, high = (10**p if axis.by_ratio else p for p in (axis.low, axis.high))
    has_apart = bool(curve.points)
    places_of = [axis.mark(value, has_apart=False) for value in item.marked]
    marked = [place for place in places_of if place is not None]
    count = 0
    lines: dict[str, list[dict[str, Any]]] = {}
    for metric, frame in on_axis.items():
        lines[metric] = []
        apart = frames[metric][frames[metric]["low"].isna()].set_index("slice")["figure"]
        for group in groups[metric]:
            own = frame[(frame["slice"] == group) & (frame["high"] > low) & (frame["low"] < high)]
            if own.empty:
                continue
            own = own.sort_values("low")
            places = np.array([axis.place(max(low, v)) for v in own["low"].tolist()])
            values = own["figure"].to_numpy(np.float64)
            changed = _changes(values)
            count = max(count, int(changed.sum()))
            line = _line(axis, places[changed], values[changed], steps, marked)
            part = {"slice": names[group], **line, "apart": _rounded(apart.get(group))}
            lines[metric].append({**part, "thinned": int(changed.sum()) > steps})
    ticks = [(round(axis.place(v), 5), _short(v)) for v in axis.ticks()]
    if has_apart:
        ticks.append((round(axis.apart, 5), knob.apart))
    return {
        "knob": knob.name,
        "label": knob.label or knob.name,
        "unit": knob.unit,
        "base": item.base,
        "others": _others(curve),
        "ticks": [place for place, _ in ticks],
        "labels": [text for _, text in ticks],
        "low": round(axis.low, 5),
        "high": round(axis.high, 5),
        "ratio": axis.by_ratio,
        "rightClosed": curve.right_closed,
        "integer": knob.integer,
        "resolution": _RESOLUTION,
        "units": _UNITS,
        "doubtful": doubtful_places(axis, curve),
        "apart": round(axis.apart, 5) if has_apart else None,
        "apartText": knob.apart,
        "marks": [
            {
                "at": round(place, 5),
                "value": knob.format(value),
                "name": name,
                "figures": _at(curve, value, {m: groups[m] for m in lines}, names),
            }
            for name, value in zip(("current", "pick"), item.marked, strict=False)
            if (place := axis.mark(value, has_apart=has_apart)) is not None
        ],
        "overall": OVERALL,
        "lines": lines,
        "steps": count,
        "thinned": count > steps,
    }


def _at(
    curve: Curve, value: Value, groups: Mapping[str, Sequence[str]], names: Mapping[str, str]
) -> dict[str, dict[str, float | None]]:
    """Return every figure at one value: no rounding of the axis can move it."""
    figures = curve.at(value)
    number = {str(metric): place for place, metric in enumerate(curve.metrics)}
    return {
        metric: {
            names[group]: _rounded(figures[curve.groups.index(group), number[metric]])
            for group in own
        }
        for metric, own in groups.items()
    }


def doubtful_places(axis: KnobAxis, curve: Curve) -> list[list[float]]:
    """Return where on the axis rounding may decide, for as far as places are told apart."""
    narrow = (axis.high - axis.low) / _RESOLUTION
    found = []
    for ends in curve.doubt.tolist():
        low, high = (_place(axis, end) for end in ends)
        if high - low > narrow:
            found.append([round(low, 5), round(high, 5)])
    return found


def _place(axis: KnobAxis, value: float) -> float:
    """Return where a value lies on the axis, or the end beyond which it lies."""
    if math.isinf(value) or (axis.by_ratio and value <= 0):
        return axis.high if value > 0 else axis.low
    return min(max(axis.place(value), axis.low), axis.high)


def _line(
    axis: KnobAxis, places: FloatArray, values: FloatArray, steps: int, marked: Sequence[float]
) -> dict[str, list[int]]:
    """Return a line as short numbers: steps of a share of the axis, and parts of a figure."""
    if len(values) > steps:
        chosen = thinned(places, values, steps, marked)
        places, values = places[chosen], values[chosen]
    shares = np.rint((places - axis.low) / (axis.high - axis.low) * _RESOLUTION)
    return {
        "at": np.diff(shares, prepend=0).astype(int).tolist(),
        "figure": np.rint(values * _UNITS).astype(int).tolist(),
    }


def _others(curve: Curve) -> str:
    """Return the settings of a curve without its own knob."""
    parts = curve.settings.text.split()
    return " ".join(part for part in parts if not part.startswith(f"{curve.knob.name}="))


def _changes(values: FloatArray) -> NDArray[np.bool_]:
    """Return which cells differ from the one before."""
    differs = np.ones(len(values), bool)
    differs[1:] = values[1:] != values[:-1]
    return differs


def thinned(
    places: FloatArray, values: FloatArray, steps: int, marked: Sequence[float] = ()
) -> NDArray[np.intp]:
    """Return which steps of a line to draw: the lowest and highest of each of equal stretches.

    Parameters
    ----------
    places, values : shape (n_steps,)
        Where each step begins, ascending, and its figure.
    steps
        How many to keep at most, but for those at marked places.
    marked
        Places at which the line is to be read exactly.

    Examples
    --------
    >>> thinned(np.arange(6.0), np.array([0.0, 5.0, 1.0, 2.0, 9.0, 3.0]), 4).tolist()
    [0, 4, 5]
    """
    n_stretches = max(1, steps // 2 - 1)
    edges = np.linspace(places[0], places[-1], n_stretches + 1)[1:-1]
    stretch = np.searchsorted(edges, places, side="right")
    start = np.flatnonzero(np.diff(stretch, prepend=-1))
    kept = {0, len(places) - 1}
    for first, stop in zip(start, [*start[1:], len(places)], strict=True):
        own = values[first:stop]
        kept |= {int(first + own.argmin()), int(first + own.argmax())}
    for number in np.searchsorted(places, np.array(marked), side="right") - 1:
        kept |= {max(0, int(number)), min(len(places) - 1, int(number) + 1)}
    return np.array(sorted(kept), np.intp)


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), 8)


def _short(value: float) -> str:
    return f"{value:g}"
