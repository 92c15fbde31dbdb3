"""A curve as tables: every step, what surrounds a setting, and how long the setting holds."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from sweeper.exact import Curve, exact_curve
from sweeper.expiry import Expiry, expiry_of
from sweeper.knobs import KNOBS, Settings, Value, knob
from sweeper.margins import Flip, Interval, Margins
from sweeper.replay import Replay
from sweeper.report import Table, figure_label
from sweeper.results import Results
from sweeper.stats import bootstrap_curve
from sweeper.tables import Column

__all__ = [
    "cells_frame",
    "curve_of",
    "expiry_table",
    "margin_sentences",
    "plateau_table",
    "steps_table",
]

_HORIZONS = (30.0, 90.0, 365.0)
_NAMED = 5
"""Rows that a note names; the rest are counted."""

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
    highest = max([1000, *(2 * item.rrf_k for item in results.settings)])
    return exact_curve(results.replay, base, name, results.metrics, highest_k=min(highest, 5000))


def cells_frame(
    curve: Curve, replay: Replay, metric: str, *, seed: int = _SEED, intervals: bool = True
) -> pd.DataFrame:
    """Return one row per cell and slice: what ``plot_staircase`` draws.

    Parameters
    ----------
    curve
        From :func:`curve_of`.
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
        From :func:`curve_of`.
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
        rows.append((curve.knob.format(_apart(curve)), "", "", True, *apart))
    start = 0
    for cell in range(1, len(columns) + 1):
        if cell < len(columns) and _same(columns[cell], columns[start], curve, cell, start):
            continue
        low, high = curve.bounds(start)[0], curve.bounds(cell - 1)[1]
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
    """Return the widest stretches of the knob on which a figure is among its best.

    Parameters
    ----------
    curve
        From :func:`curve_of`.
    address
        The figure.
    count
        Rows.
    """
    table = steps_table(curve, [address])
    rows = [row for row in table.rows if row[3] and not math.isnan(float(str(row[4])))]
    rows.sort(key=lambda row: -float(str(row[4])))
    return Table(
        f"Where {figure_label(address)} is highest along {curve.knob.label or curve.knob.name}",
        (Column(curve.knob.name), Column(figure_label(address), "right", key=address)),
        tuple((row[0], row[4]) for row in rows[:count]),
    )


def margin_sentences(margins: Margins, name: str) -> list[str]:
    """Say in sentences what surrounds a setting."""
    domain = knob(name)
    return [
        f"{name} = {domain.format(margins.value)}",
        f"no slice's figure changes {_interval(margins.plateau, domain.format(margins.value))}",
        f"no question gets worse {_interval(margins.safe, domain.format(margins.value))}",
        *(_flip(flip) for flip in margins.flips),
    ]


def expiry_table(results: Results, settings: Settings, horizons: Sequence[float] = ()) -> Table:
    """Return what is left of each slice's figures after some days of unchanged content.

    Parameters
    ----------
    results
        A finished sweep.
    settings
        Any settings that the pool is deep enough for.
    horizons
        Days; 30, 90 and 365 unless given.
    """
    expiry = expiry_of(results.replay, settings, results.metrics)
    days = list(horizons) or list(_HORIZONS)
    later = [expiry.at(day) for day in days]
    rows = []
    for group, group_name in enumerate(expiry.groups):
        for metric, text in enumerate(expiry.metrics):
            today = float(expiry.value[0, group, metric])
            changes = [float(figures[group, metric]) - today for figures in later]
            if not math.isnan(today):
                rows.append((group_name, str(text), today, *changes))
    return Table(
        f"As the content ages, under {settings.text}",
        (
            Column("slice"),
            Column("metric"),
            Column("today", "right"),
            *(Column(f"+{day:g} days", "right", _signed) for day in days),
        ),
        tuple(rows),
        tuple(_expiry_notes(results, expiry)),
    )


def _expiry_notes(results: Results, expiry: Expiry) -> list[str]:
    fall = expiry.first_fall()
    as_of = results.manifest["pool"]["provenance"].get("as_of")
    notes = []
    if fall is None:
        notes.append("No slice ever falls below its value today.")
    else:
        days, group, metric = fall
        date = ""
        if as_of:
            with contextlib.suppress(OverflowError):
                date = f" ({datetime.fromisoformat(as_of) + timedelta(days=days):%Y-%m-%d})"
        notes.append(
            f"The first to fall below its value today is {figure_label(f'{group}.{metric}')}, "
            f"after {days:.1f} days{date}."
        )
    for kind, items in (
        ("of unknown age never decay", expiry.undated),
        ("dated in the future begin to decay on their date", expiry.clamped),
    ):
        if items:
            named = ", ".join(items[:5]) + (f" and {len(items) - 5} more" if len(items) > 5 else "")
            notes.append(f"{len(items)} memories {kind}: {named}.")
    return notes


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


def _interval(interval: Interval, value: str) -> str:
    if interval.low is None or interval.high is None:
        return f"at {value} alone"
    text = f"from {_number(interval.low)} to {_number(interval.high)}"
    return text + (", and with the knob off" if interval.with_point else "")


def _flip(flip: Flip) -> str:
    direction = "upwards" if flip.upwards else "downwards"
    who = f"{flip.item_id} falls" if flip.item_id else "an expected row falls"
    if flip.other_id:
        who += f" behind {flip.other_id}"
    return f"first loss {direction}: at {_number(flip.at)}, {who} (question {flip.query_id})"


def _signed(value: float) -> str:
    if value == 0 or math.isnan(value):
        return "="
    return f"{value:+.4f}"
