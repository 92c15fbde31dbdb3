"""A curve as tables: every step, what surrounds a setting, and how long the setting holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sweeper.errors import InputError, did_you_mean
from sweeper.exact import exact_curve
from sweeper.knobs import KNOBS, Knob, Value, knob, knob_name
from sweeper.margins import Flip, Interval, Margins
from sweeper.replay import Replay
from sweeper.result_tables import Table
from sweeper.settings import Settings
from sweeper.staircase import Curve
from sweeper.stats import bootstrap_curve
from sweeper.tables import Column, figure_label

if TYPE_CHECKING:
    from sweeper.results import Results

__all__ = [
    "asked_curve",
    "cells_frame",
    "curve_of",
    "margin_sentences",
    "plateau_table",
    "steps_table",
]

_HIGHEST_K = 5000
"""``rrf_k`` is enumerated, so there must be an end."""

_SEED = 20_090_719  # any fixed number makes the interval repeat


def curve_of(results: Results, name: str, settings: Settings | None = None) -> Curve:
    """Compute every figure of a finished sweep along one knob.

    Parameters
    ----------
    results
        A finished sweep.
    name
        Knob with an exact curve.
    settings
        The other knobs; those that run today unless given.
    """
    base = settings or results.settings[results.trial("current")]
    largest = max(item.rrf_k for item in (base, *results.settings))
    highest = min(max(1000, 2 * largest), _HIGHEST_K)
    return exact_curve(results.replay, base, name, results.metrics, highest_k=highest)


def asked_curve(results: Results, name: str, settings: Settings) -> Curve:
    """Return ``curve_of`` a knob that somebody named.

    Raises
    ------
    InputError
        If the knob has no exact curve, or none under these settings.
    """
    known = ["rrf_k", "min_similarity", "recency_half_life_days"]
    weights = [f"weights.{channel}" for channel in results.replay.of(settings).pool.channels]
    classes = dict.fromkeys(query.query_class for query in results.golden.queries if query.route)
    known += [*weights, *(f"routing.{of}.{weight}" for of in classes for weight in weights)]
    name = knob_name(name)
    if name not in known:
        raise InputError(f'"{name}" has no exact curve. {did_you_mean(name, known)}')
    try:
        return curve_of(results, name, settings)
    except ValueError as error:
        raise InputError(f"{name}: {error}.") from error


def cells_frame(
    curve: Curve, replay: Replay, metric: str, *, seed: int = _SEED, intervals: bool = True
) -> pd.DataFrame:
    """Return one row per cell and slice: what ``plot_staircase`` draws.

    Parameters
    ----------
    curve
        From ``curve_of``.
    replay
        Gives the slices of the questions.
    metric
        One of the curve's metrics.
    seed
        Of the bootstrap.
    intervals
        Whether to resample.

    Returns
    -------
    DataFrame
        ``low``, ``high`` (NaN for the value that stands apart), ``slice``, ``figure``, ``exact``,
        and ``interval_low``, ``interval_high`` (95%, pointwise) if asked for.
    """
    number = [str(item) for item in curve.metrics].index(metric)
    n_cells, n_groups = curve.value.shape[:2]
    bounds = [curve.bounds(cell) for cell in range(n_cells)]
    exact = [not _in_underflow(curve, cell) for cell in range(n_cells)]
    frame = pd.DataFrame(
        {
            "low": np.repeat([low for low, _ in bounds], n_groups),
            "high": np.repeat([high for _, high in bounds], n_groups),
            "slice": list(curve.groups) * n_cells,
            "figure": curve.value[:, :, number].ravel(),
            "exact": np.repeat(exact, n_groups),
        }
    )
    if intervals:
        band = bootstrap_curve(curve, replay.judgments.slice_of, number, seed=seed)
        frame["interval_low"] = band.low.ravel()
        frame["interval_high"] = band.high.ravel()
    apart = [
        {"low": math.nan, "high": math.nan, "slice": group, "figure": figure, "exact": True}
        for _, figures in curve.points
        for group, figure in zip(curve.groups, figures[:, number].tolist(), strict=True)
    ]
    return pd.concat([frame, pd.DataFrame(apart)], ignore_index=True) if apart else frame


def steps_table(curve: Curve, addresses: Sequence[str]) -> Table:
    """Return every cell in which one of some figures differs from its neighbours.

    Parameters
    ----------
    curve
        From ``curve_of``.
    addresses
        Figures; those of all slices and metrics if empty.
    """
    texts = [str(metric) for metric in curve.metrics]
    addresses = list(addresses) or [
        f"{group}.{metric}" for group in curve.groups for metric in texts
    ]
    places = [
        (curve.groups.index(group), texts.index(metric))
        for group, _, metric in (address.rpartition(".") for address in addresses)
    ]
    columns = np.stack([curve.value[:, group, metric] for group, metric in places], axis=1)
    rows: list[tuple[object, ...]] = []
    for _, figures in curve.points:
        apart = [float(figures[group, metric]) for group, metric in places]
        rows.append((curve.knob.format(_apart(curve)), None, None, True, *apart))
    start = 0
    for cell in range(1, len(columns) + 1):
        if cell < len(columns) and _same(columns[cell], columns[start], curve, cell, start):
            continue
        low, high = curve.bounds(start)[0], curve.bounds(cell - 1)[1]
        if curve.knob.integer:
            low, high = _integers(low, high)
        text = f"{_number(low)} to {_number(high)}"
        values = columns[start].tolist()
        rows.append((text, low, high, not _in_underflow(curve, start), *values))
        start = cell
    name = curve.knob.label or curve.knob.name
    return Table(
        f"Every step along {name}, with {_others(curve)}",
        (
            Column(curve.knob.name),
            Column("low", "right"),
            Column("high", "right"),
            Column("exact"),
            *(Column(figure_label(a), "right", key=a) for a in addresses),
        ),
        tuple(rows),
        _promises(curve),
    )


def plateau_table(curve: Curve, address: str, count: int = 8) -> Table:
    """Return the stretches of the knob with a figure's best values, best first.

    Parameters
    ----------
    curve
        From ``curve_of``.
    address
        The figure.
    count
        Rows.
    """
    table = steps_table(curve, [address])
    rows = [row for row in table.rows if row[3] and not math.isnan(row[4])]
    texts = [str(metric) for metric in curve.metrics]
    more = curve.metrics[texts.index(address.rpartition(".")[2])].larger_is_better
    rows.sort(key=lambda row: -row[4] if more else row[4])
    best = "highest" if more else "lowest"
    return Table(
        f"Where {figure_label(address)} is {best} along {curve.knob.label or curve.knob.name}",
        (Column(curve.knob.name), Column(figure_label(address), "right", key=address)),
        tuple((row[0], row[4]) for row in rows[:count]),
    )


def margin_sentences(margins: Margins, name: str) -> list[str]:
    """Say in sentences what surrounds a setting."""
    domain = knob(name)
    return [
        f"{name} = {domain.format(margins.value)}",
        _holds("figure", margins.plateau, domain, margins.value),
        _holds("question", margins.safe, domain, margins.value),
        *(_flip(flip, domain) for flip in margins.flips),
    ]


def _same(
    one: np.ndarray[tuple[int], np.dtype[np.float64]],
    other: np.ndarray[tuple[int], np.dtype[np.float64]],
    curve: Curve,
    cell: int,
    start: int,
) -> bool:
    if _in_underflow(curve, cell) != _in_underflow(curve, start):
        return False
    return bool(((one == other) | (np.isnan(one) & np.isnan(other))).all())


def _in_underflow(curve: Curve, cell: int) -> bool:
    return curve.underflow is not None and curve.bounds(cell)[0] == curve.underflow[0]


def _apart(curve: Curve) -> Value:
    return curve.points[0][0]


def _others(curve: Curve) -> str:
    names = ("rrf_k", "min_similarity", "recency_half_life_days")
    return ", ".join(
        f"{name} = {KNOBS[name].format(curve.settings.get(name))}"
        for name in names
        if name != curve.knob.name
    )


def _promises(curve: Curve) -> tuple[str, ...]:
    notes = []
    if curve.underflow is not None:
        low, high = (_number(value) for value in curve.underflow)
        notes.append(
            f"Between {low} and {high} days some scores underflow: the figures there are those of "
            "one value, not of the whole stretch."
        )
    if curve.unsettled:
        notes.append(
            f"In {len(curve.unsettled)} questions two rows' scores differ by rounding alone; their "
            "order may flicker within a stretch."
        )
    return tuple(notes)


def _number(value: float) -> str:
    if math.isinf(value):
        return "any longer"
    return f"{value:.6g}"


def _integers(low: float, high: float) -> tuple[float, float]:
    """Return the first and last integer of a stretch; edges lie between integers."""
    return float(math.ceil(low)), float(math.floor(high))


_HOLDS = {
    "figure": ("no slice's figure changes", "some slice's figure changes"),
    "question": ("no question gets worse", "some question gets worse"),
}


def _holds(what: str, interval: Interval, domain: Knob, value: Value) -> str:
    """Say from where to where something holds, or that it does nowhere but at the value."""
    holds, fails = _HOLDS[what]
    low, high = interval.low, interval.high
    if low is None or high is None:
        return f"{fails} as soon as it is not {domain.format(value)}"
    if domain.integer:
        low, high = _integers(low, high)
    if low == high:
        return f"{fails} as soon as it is not {_number(low)}"
    text = f"{holds} from {_number(low)} to {_number(high)}"
    return text + (f", and at {domain.apart}" if interval.with_point else "")


def _flip(flip: Flip, domain: Knob) -> str:
    direction = "upwards" if flip.upwards else "downwards"
    at = flip.at
    if domain.integer:
        at = float(math.ceil(at) if flip.upwards else math.floor(at))
    who = f"{flip.item_id} falls" if flip.item_id else "an expected row falls"
    if flip.other_id:
        who += f" behind {flip.other_id}"
    return f"first loss {direction}: at {_number(at)}, {who} (question {flip.query_id})"
