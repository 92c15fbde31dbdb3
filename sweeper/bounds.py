"""How far figures can go: as content ages, as ties fall, and at best over all settings."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from datetime import timedelta

import numpy as np

from sweeper.corpus import parse_instant
from sweeper.expiry import Expiry, expiry_of
from sweeper.judging import Box, JudgingPool, judging_pool
from sweeper.metrics import Hit, Metric, Recall, ReciprocalRank
from sweeper.pools import FloatArray
from sweeper.replay import Replay
from sweeper.result_tables import Table
from sweeper.results import Results
from sweeper.settings import Settings
from sweeper.tables import Column, figure_label
from sweeper.ties import tie_bounds

__all__ = ["expiry_table", "judging_of", "judging_table", "labels_table", "ties_table"]

_HORIZONS = (30.0, 90.0, 365.0)

_NAMED = 5
"""Rows that a note names; the rest are counted."""


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
    later = [
        expiry.at(day) if day < expiry.until else _replayed_later(results, settings, day)
        for day in days
    ]
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


def _replayed_later(results: Results, settings: Settings, days: float) -> FloatArray:
    """Return the figures of content so old that its scores underflow, one replay per day asked."""
    replay = Replay(results.replay.of(settings).pool.at(days), results.golden)
    figures: FloatArray = replay.figures([settings], results.metrics).value[0]
    return figures


def _expiry_notes(results: Results, expiry: Expiry) -> list[str]:
    fall = expiry.first_fall()
    as_of = results.manifest["pool"]["provenance"].get("as_of")
    notes = []
    if fall is None:
        notes.append("No slice ever falls below its value today.")
    else:
        days, group, metric = fall
        date = ""
        since = parse_instant(str(as_of))
        if since is not None:
            with contextlib.suppress(OverflowError):
                date = f" ({since + timedelta(days=days):%Y-%m-%d})"
        notes.append(
            f"The first to fall below its value today is {figure_label(f'{group}.{metric}')}, "
            f"after {days:.1f} days{date}."
        )
    for kind, items in (
        ("of unknown age never decay", expiry.undated),
        ("dated in the future begin to decay on their date", expiry.clamped),
    ):
        if items:
            notes.append(f"{len(items)} memories {kind}: {_named(items)}.")
    return notes


def ties_table(results: Results, settings: Settings) -> Table:
    """Return each figure with ties as captured, and the bounds over all orders of tied rows.

    Parameters
    ----------
    results
        A finished sweep.
    settings
        Any settings that the pool is deep enough for.
    """
    bounds = tie_bounds(results.replay, settings, results.metrics)
    moved = bounds.query_lowest < bounds.query_highest
    slice_of = results.replay.judgments.slice_of
    rows = []
    for group, name in enumerate(bounds.groups):
        own = slice_of == group if group < len(bounds.groups) - 1 else np.ones(len(slice_of), bool)
        for metric, text in enumerate(bounds.metrics):
            values = (bounds.captured, bounds.lowest, bounds.highest)
            figures = [float(part[group, metric]) for part in values]
            if not math.isnan(figures[0]):
                rows.append((name, str(text), *figures, int(moved[own, metric].sum())))
    affected = [results.golden.queries[n].query_id for n in bounds.affected_queries]
    notes = [
        f"{len(affected)} questions hang on the order of tied rows: {_named(affected)}."
        if affected
        else "No figure hangs on the order of tied rows."
    ]
    if len(bounds.inexact_queries):
        notes.append(
            f"{len(bounds.inexact_queries)} questions have too many ties to try every order: their "
            "bounds hold every order, but may be too wide."
        )
    return Table(
        f"As ties fall, under {settings.text}",
        (
            Column("slice"),
            Column("metric"),
            Column("captured", "right"),
            Column("lowest", "right"),
            Column("highest", "right"),
            Column("questions", "right"),
        ),
        tuple(rows),
        tuple(notes),
    )


def judging_of(results: Results, base: Settings) -> JudgingPool:
    """Return what any setting between the least and greatest of a sweep's can show.

    Parameters
    ----------
    results
        A finished sweep.
    base
        Gives limit, depth and weights.
    """
    return judging_pool(results.replay, base, Box.around(results.settings))


def judging_table(results: Results, base: Settings, pool: JudgingPool | None = None) -> Table:
    """Compare the best single setting with the best setting per question: what routing could gain.

    Parameters
    ----------
    results
        A finished sweep.
    base
        Gives limit, depth and weights; the sweep's trials with other ones are left out.
    pool
        From ``judging_of``, if it is there already.
    """
    pool = pool or judging_of(results, base)
    judgments = results.replay.judgments
    alike = [n for n, item in enumerate(results.settings) if _same_shape(item, base)]
    today = results.replay.figures([base], results.metrics).value[0]
    wide = results.wide().to_numpy().reshape(len(results.settings), *today.shape)[alike]
    several = bool((judgments.n_keys > 1).any())
    rows: list[tuple[object, ...]] = []
    for column, metric in enumerate(results.metrics):
        defined = metric.queries(judgments)
        highest = _ceilings(metric, results, pool)
        if highest is None:
            continue
        for group, name in enumerate([*judgments.slices, "overall"]):
            own = [
                value
                for value, query in zip(highest, defined.tolist(), strict=True)
                if name == "overall" or judgments.slice_of[query] == group
            ]
            if not own:
                continue
            figures = wide[:, group, column]
            best = alike[int(np.argmax(figures))] if alike else None
            single = float(figures.max()) if alike else math.nan
            ceiling = math.fsum(own) / len(own)
            rows.append(
                (
                    *(name, str(metric), len(own), float(today[group, column]), single),
                    *(best, ceiling, ceiling - single),
                )
            )
    n_unjudged = sum(len(keys) for keys in pool.unjudged)
    unreachable, absent = (
        [
            f"{query.query_id}: {key}"
            for query, keys in zip(results.golden.queries, part, strict=True)
            for key in keys
        ]
        for part in (pool.unreachable, pool.absent)
    )
    notes = [
        f"Between the least and greatest of each knob's values {n_unjudged} documents can enter "
        f"the first {base.limit} of a question for which nobody judged them."
    ]
    if several:
        notes.append(
            "recall's ceiling is an upper bound: where a question expects several documents, no "
            "one setting need show each where it stands best."
        )
    if unreachable:
        notes.append(
            f"{len(unreachable)} expected documents are shown by no rrf_k, floor or half-life in "
            f"these ranges, at limit {base.limit}: {_named(unreachable)}."
        )
    if absent:
        notes.append(
            f"{len(absent)} of them are in no channel at the pool's depth; mend retrieval, not "
            f"knobs: {_named(absent)}."
        )
    return Table(
        "The best single setting, and the best setting for each question",
        (
            Column("slice"),
            Column("metric"),
            Column("questions", "right"),
            Column("today", "right"),
            Column("best single", "right", key="best_single"),
            Column("trial", "right", lambda n: "-" if n is None else f"#{n}", key="best_trial"),
            Column("per question", "right", key="per_question"),
            Column("routing gains", "right", key="routing_gain"),
        ),
        tuple(rows),
        tuple(notes),
    )


def labels_table(results: Results, pool: JudgingPool) -> Table:
    """Return what to label, and what nothing in the ranges shows: a row per question and document.

    Parameters
    ----------
    results
        A finished sweep.
    pool
        From ``judging_of``.
    """
    rows: list[tuple[object, ...]] = []
    for number, query in enumerate(results.golden.queries):
        common = (query.query_id, query.slice, query.text)
        rows += [(*common, key, "unjudged") for key in pool.unjudged[number]]
        rows += [(*common, key, "unreachable") for key in pool.unreachable[number]]
    return Table(
        "What to label, and what no rrf_k, floor or half-life in these ranges shows",
        (
            Column("question", key="query_id"),
            Column("slice"),
            Column("text", key="query"),
            Column("document", key="key"),
            Column("is"),
        ),
        tuple(rows),
    )


def _same_shape(one: Settings, other: Settings) -> bool:
    names = ("limit", "origin", "weights", "routing", "prior")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _ceilings(metric: Metric, results: Results, pool: JudgingPool) -> list[float] | None:
    """Return each answerable question's highest value, for metrics of which it is known."""
    judgments, limit = results.replay.judgments, pool.limit
    queries = [results.golden.queries[n] for n in judgments.answerable]
    shown = [pool.shown[n] for n in judgments.answerable]
    best = [
        [found.get(key, limit + 1) for key in query.expected]
        for query, found in zip(queries, shown, strict=True)
    ]
    if isinstance(metric, ReciprocalRank):
        return [1 / min(places) if min(places) <= limit else 0.0 for places in best]
    if isinstance(metric, Hit | Recall):
        cutoff = min(metric.k, limit)
        found = [sum(place <= cutoff for place in places) for places in best]
        if isinstance(metric, Hit):
            return [float(count > 0) for count in found]
        return [count / len(places) for count, places in zip(found, best, strict=True)]
    return None


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _signed(value: float) -> str:
    if value == 0 or math.isnan(value):
        return "="
    return f"{value:+.4f}"
