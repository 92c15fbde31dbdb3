"""What the page's script reads: plain data, within a budget, so that a report opens anywhere.

Numbers and texts alone; the page turns them into elements and never into markup.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sweeper.explain import Explanation
from sweeper.knobs import knob
from sweeper.page.charts import SERIES, charts
from sweeper.page.findings import Findings
from sweeper.page.knob_lines import knob_lines
from sweeper.pictures import goals_of
from sweeper.tables import figure_label, metric_label, plain
from sweeper.wording import explanation_sentences, explanation_table

__all__ = ["CHARTED", "Budget", "document"]

_CURVE_METRICS = 4
CHARTED = 120
"""Figures whose differences are drawn."""
_TEXT = 300
"""Characters of a question that are shown."""
_EXPECTED = 3
"""Expected keys of a question that are named."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a page holds at most.

    Attributes
    ----------
    trials
        Points of the trade-off.
    figures
        Numbers in all of them.
    moves
        Answers that stand elsewhere than today, over all settings.
    characters
        Of questions.
    steps
        Of one line of a curve.
    explained
        Questions.
    shown
        Figures of slices and metrics.
    """

    trials: int = 2000
    figures: int = 60_000
    moves: int = 45_000
    characters: int = 400_000
    steps: int = 400
    explained: int = 24
    shown: int = 480

    def halved(self) -> Budget:
        """Return half of everything; a page that is still too large has unusual names."""
        return Budget(
            *(
                max(1, amount // 2)
                for amount in (
                    self.trials,
                    self.figures,
                    self.moves,
                    self.characters,
                    self.steps,
                    self.explained,
                    self.shown,
                )
            )
        )


def document(findings: Findings, budget: Budget) -> dict[str, Any]:
    """Return the page's data.

    Parameters
    ----------
    findings
        What there is to show.
    budget
        How much of it.

    Returns
    -------
    dict
        Ready for JSON: no NaN, no keys but texts.
    """
    results, subject = findings.results, findings.subject
    questions = _questions(findings, budget)
    shown = findings.addresses[: _n_shown(findings, budget)]
    figures = _figures(findings, shown)
    drawn = _drawn(findings, len(figures), budget)
    found = {
        "address": results.address,
        "current": findings.current,
        "pick": None if subject is None else subject.trial,
        "pickName": "best feasible" if findings.pick and findings.pick.keep else "recommended",
        "constraints": [item.text for item in findings.constraints],
        "series": SERIES,
        "figures": figures,
        "axes": _axes(findings, shown),
        "knobs": _knobs(findings, drawn),
        "trials": _trials(findings, drawn, shown),
        "nTrials": len(results.trials),
        "questions": questions,
        "nQuestions": len(results.golden),
        "moves": _moves(findings, drawn, len(questions["id"]), budget),
        "differences": _differences(findings, shown[:CHARTED]),
        "curves": _curves(findings, shown, budget),
        "curvesLeftOut": _curve_metrics(findings)[_CURVE_METRICS:],
        "explained": _explained(findings, questions["id"], budget),
        "charts": charts(),
    }
    return {name: _shown(part) for name, part in found.items()}


def _shown(part: Any) -> Any:
    """Return data in which whatever could hide or turn text around is written out."""
    if isinstance(part, str):
        return plain(part)
    if isinstance(part, list | tuple):
        return [_shown(item) for item in part]
    if isinstance(part, dict):
        return {plain(name): _shown(item) for name, item in part.items()}
    return part


def _n_shown(findings: Findings, budget: Budget) -> int:
    """Return how many figures are shown; those that decide always are."""
    return max(budget.shown, len(findings.deciding))


def _key(findings: Findings, address: str) -> str:
    """Return a figure's address as the page knows it: no two are alike."""
    group, _, metric = address.rpartition(".")
    return f"{findings.names.get(group, group)}.{metric}"


def _figures(findings: Findings, shown: Sequence[str]) -> list[dict[str, Any]]:
    """Return the figures that are shown, those that decide first."""
    goals = goals_of(findings.results, *shown)
    found = []
    for address in shown:
        key = _key(findings, address)
        group, _, metric = key.rpartition(".")
        found.append(
            {
                "address": key,
                "label": figure_label(key),
                "slice": group,
                "metric": metric,
                "metricLabel": metric_label(metric),
                "more": goals[address] == "maximize",
            }
        )
    return found


def _axes(findings: Findings, known: Sequence[str]) -> dict[str, str]:
    """Return which figures the trade-off shows first; those that decide are known first."""
    results = findings.results
    if findings.objectives == results.objectives:
        for plot in results.manifest["plots"]:
            if {plot["x"], plot["y"]} <= set(known):
                return {axis: _key(findings, plot[axis]) for axis in ("x", "y")}
    y, x = [*known, known[0]][:2]
    return {"x": _key(findings, x), "y": _key(findings, y)}


def _drawn(findings: Findings, n_figures: int, budget: Budget) -> list[int]:
    """Return the trials that are drawn, in the order of their numbers."""
    most = min(budget.trials, max(50, budget.figures // max(1, n_figures)))
    return sorted(findings.ranked[:most])


def _knobs(findings: Findings, drawn: Sequence[int]) -> list[dict[str, Any]]:
    """Return the knobs that varied: their values as texts, and as numbers where all are."""
    found = []
    for name in findings.results.varied_knobs:
        own = knob(name)
        values = sorted({findings.results.settings[n].given(name) for n in drawn}, key=own.sort_key)
        found.append(
            {
                "name": name,
                "label": own.label or name,
                "values": [own.format(value) for value in values],
            }
        )
    return found


def _trials(findings: Findings, drawn: Sequence[int], shown: Sequence[str]) -> dict[str, Any]:
    results = findings.results
    knobs = []
    for name in results.varied_knobs:
        given = [results.settings[n].given(name) for n in drawn]
        order = sorted(set(given), key=knob(name).sort_key)
        place = {value: number for number, value in enumerate(order)}
        knobs.append([place[value] for value in given])
    wide = results.wide(list(shown)).loc[list(drawn)]
    tally = findings.tally(drawn)
    arms = results.trials["arm"].tolist()
    return {
        "number": list(drawn),
        "arm": {str(n): arms[n] for n in drawn if isinstance(arms[n], str)},
        "knob": knobs,
        "figure": [[_rounded(v) for v in column] for column in wide.to_numpy().T.tolist()],
        "meets": [int(meets) for meets in findings.meets(drawn)],
        "better": [better for better, _ in tally],
        "worse": [worse for _, worse in tally],
    }


def _rounded(value: float) -> float | None:
    """Return a figure with more decimals than are printed, so that it prints right."""
    return round(value, 8) + 0.0 if math.isfinite(value) else None


def _questions(findings: Findings, budget: Budget) -> dict[str, Any]:
    """Return the questions that are listed, with where each is answered today."""
    queries = findings.results.golden.queries
    [(_, now)] = findings.first_positions([findings.current])
    slices = list(dict.fromkeys(query.slice for query in queries))
    columns: dict[str, list[Any]] = {n: [] for n in ("id", "slice", "text", "expected", "now")}
    spent = 0
    for query, position in zip(queries, now.tolist(), strict=True):
        expected = list(query.expected[:_EXPECTED])
        if len(query.expected) > _EXPECTED:
            expected.append(f"and {len(query.expected) - _EXPECTED} more")
        text = query.text if len(query.text) <= _TEXT else query.text[:_TEXT] + "..."
        row = (query.query_id, slices.index(query.slice), text, expected, int(position))
        spent += 30 + len(query.query_id) + len(text) + sum(map(len, expected))
        if spent > budget.characters and columns["id"]:
            break
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return {**columns, "slices": [findings.names[name] for name in slices]}


def _moves(
    findings: Findings, drawn: Sequence[int], n_shown: int, budget: Budget
) -> dict[str, list[int]]:
    """Return question, first position and outcome, in turn, where a trial's answer differs."""
    among = set(drawn)
    trials = [n for n in findings.ranked if n in among and n != findings.current]
    [(_, now)] = findings.first_positions([findings.current])
    found: dict[str, list[int]] = {}
    left = budget.moves
    for start in range(0, len(trials), _AT_ONCE):
        members = trials[start : start + _AT_ONCE]
        fares = findings.outcomes(members)[:, :n_shown]
        for (number, first), fare in zip(findings.first_positions(members), fares, strict=True):
            changed = np.flatnonzero((first[:n_shown] != now[:n_shown]) | (fare != 0))
            if len(changed) > left:
                continue
            left -= len(changed)
            rows = np.stack([changed, first[changed], fare[changed]], axis=1)
            found[str(number)] = rows.ravel().tolist()
        if left < _WORTH_LOOKING:
            break
    return found


_AT_ONCE = 64
_WORTH_LOOKING = 20


def _differences(findings: Findings, shown: Sequence[str]) -> list[dict[str, Any]]:
    """Return the subject's difference from today per slice and metric, with its interval.

    Metrics of which less is better count something else than a share of 1, so they have no place
    on the axis of this chart.
    """
    if findings.comparison is None:
        return []
    among = set(shown)
    return [
        {
            "slice": findings.names[item.slice],
            "metric": metric_label(item.metric),
            "difference": _rounded(item.difference),
            # Where nothing differs there is nothing to be unsure of.
            "low": _rounded(
                item.interval.low if item.interval and item.n_differ else item.difference
            ),
            "high": _rounded(
                item.interval.high if item.interval and item.n_differ else item.difference
            ),
        }
        for item in findings.comparison.differences
        if f"{item.slice}.{item.metric}" in among
    ]


def _curve_metrics(findings: Findings) -> list[str]:
    """Return every metric, those that decide first."""
    named = [address.rpartition(".")[2] for address in findings.deciding]
    texts = [str(metric) for metric in findings.results.metrics]
    return [metric for metric in dict.fromkeys([*named, *texts]) if metric in texts]


def _curves(findings: Findings, shown: Sequence[str], budget: Budget) -> list[dict[str, Any]]:
    metrics = _curve_metrics(findings)[:_CURVE_METRICS]
    curves, _ = findings.curves
    names, among = findings.names, set(shown)
    found = [
        knob_lines(item, findings.results, metrics, budget.steps, names, among) for item in curves
    ]
    return [item for item in found if item is not None]


def _explained(findings: Findings, shown: Sequence[str], budget: Budget) -> list[dict[str, Any]]:
    number_of = {query_id: number for number, query_id in enumerate(shown)}
    found: list[dict[str, Any]] = []
    for moved, before, after in findings.explanations:
        query = number_of.get(before.query.query_id)
        if query is None or len(found) >= budget.explained:
            continue
        sides = [("today", before)] + ([] if after is None else [("pick", after)])
        found.append(
            {
                "query": query,
                "before": before.first_position,
                "after": None if after is None else after.first_position,
                "overtook": [] if moved is None else list(moved.overtook),
                "sides": [_side(name, answer) for name, answer in sides],
            }
        )
    return found


def _side(name: str, answer: Explanation) -> dict[str, Any]:
    table = explanation_table(answer)
    lines = [
        [column.text(value) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]
    route = answer.query.route
    return {
        "name": name,
        "settings": answer.settings.text,
        "class": None if route is None else route.query_class,
        "columns": [column.header or column.key for column in table.columns],
        "right": [column.justify == "right" for column in table.columns],
        "rows": lines,
        "lines": [*table.notes, *explanation_sentences(answer)],
    }
