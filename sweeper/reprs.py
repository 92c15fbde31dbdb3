"""What results and findings look like in a notebook: small tables and sentences, as HTML.

Ids, questions and notes come from other people, so all text is escaped. There are no colours, so
that a page may be light or dark, and no scripts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from sweeper.tables import Column, html_table, html_text
from sweeper.wording import (
    comparison_table,
    evidence_sentences,
    explanation_sentences,
    explanation_table,
    headline,
    pick_table,
    shown_answers,
    validation_sentences,
)

if TYPE_CHECKING:
    from sweeper.comparison import Comparison
    from sweeper.explain import Explanation
    from sweeper.picked import Pick
    from sweeper.results import Results
    from sweeper.staircase import Curve
    from sweeper.sweep import Summary
    from sweeper.verify import Verification

__all__ = [
    "comparison_html",
    "curve_html",
    "explanation_html",
    "pick_html",
    "results_html",
    "summary_html",
    "verification_html",
]

_SHOWN = 10
"""Rows of a long table; what is left out is counted."""

# Notebooks justify all cells to the right. !important, because their rules are more specific.
_STYLE = (
    "<style>.sweeper th,.sweeper td,.sweeper caption{text-align:left!important}"
    ".sweeper .right{text-align:right!important;font-variant-numeric:tabular-nums}"
    ".sweeper .whole{white-space:nowrap}.sweeper caption{font-weight:bold}</style>"
)


def results_html(results: Results) -> str:
    """Return what a sweep measured, what runs today, and its best trade-offs."""
    trials = results.trials
    failed = f", {results.n_failed} of them failed" if results.n_failed else ""
    addresses = [item.address for item in results.objectives]
    front = results.pareto()
    numbers = [results.trial("current"), *front["number"].tolist()]
    shown = list(dict.fromkeys(numbers))[:_SHOWN]
    wide = results.wide(addresses).to_numpy().tolist()
    feasible = trials["feasible"].tolist()
    rows = [
        (
            results.named(number) + (" current" if number == numbers[0] else ""),
            results.settings[number].text,
            *wide[number],
            bool(feasible[number]),
        )
        for number in shown
    ]
    columns = (
        Column("trial", whole=True),
        Column("settings"),
        *(Column(address, "right") for address in addresses),
        Column("feasible"),
    )
    facts = [
        f"{len(trials)} trials{failed}; {_questions(results)}",
        f"constraints: {', '.join(item.text for item in results.constraints) or 'none'}",
    ]
    left_out = len(dict.fromkeys(numbers)) - len(shown)
    return _framed(
        _title(results.address),
        _list(facts),
        html_table(columns, rows, caption=f"Today, and the best by {' and '.join(addresses)}"),
        _more(left_out, "settings", "results.pareto()"),
    )


def summary_html(summary: Summary) -> str:
    """Return what a call of ``run_sweep`` did, and the results."""
    failures = [str(failure) for failure in summary.failed]
    facts = [
        f"trials run: {summary.n_run}; found finished: {summary.n_kept}; "
        f"pools captured: {summary.n_captured}",
        *(f"failed: {text}" for text in failures[:_SHOWN]),
        *summary.notes,
    ]
    left_out = len(failures) - _SHOWN
    return _framed(
        _list(facts), _more(left_out, "failures", "summary.failed"), results_html(summary.results)
    )


def pick_html(answer: Pick) -> str:
    """Return the recommendation, its figures beside today's, and how sure it is."""
    table = pick_table(None, answer)
    chosen = answer.chosen
    parts = [
        _title(headline(answer)),
        _code(chosen.settings.text),
        _list(
            [
                f"constraints: {', '.join(item.text for item in answer.constraints) or 'none'}",
                *(f"What runs today does not meet {text}." for text in answer.broken),
            ]
        ),
        html_table(table.columns, table.rows),
    ]
    for name, item in shown_answers(answer):
        parts += [
            _title(f"{name} #{item.trial}"),
            _code(item.settings.text),
            _list(evidence_sentences(answer, item)),
        ]
    return _framed(*parts, _list(validation_sentences(answer)))


def comparison_html(found: Comparison) -> str:
    """Return every slice and metric of two sides, and the questions that moved most."""
    notes = [f"{text}." for text in found.changed]
    if found.missing:
        named = ", ".join(found.missing[:5])
        notes.append(f"{len(found.missing)} questions are on one side only: {named}.")
    table = comparison_table(found)
    moved = html_table(
        (
            Column("question"),
            Column("slice"),
            Column("text"),
            Column("from", "right"),
            Column("to", "right"),
            Column("now before it"),
        ),
        [
            (
                item.query_id,
                item.slice,
                item.text,
                item.before or None,
                item.after or None,
                ", ".join(item.overtook[:2]) + (" ..." if len(item.overtook) > 2 else ""),
            )
            for item in found.moved[:_SHOWN]
        ],
        caption=f"Questions that moved most ({len(found.moved)} moved)",
    )
    return _framed(
        _list(notes),
        html_table(table.columns, table.rows, caption=table.title),
        _note("p is corrected for the number of tests; 95% is not."),
        moved if found.moved else _note("No question moved."),
        _more(len(found.moved) - _SHOWN, "questions", ".moved"),
    )


def explanation_html(answer: Explanation) -> str:
    """Return one question's rows, why expected ones are missing, and what would help."""
    query, table = answer.query, explanation_table(answer)
    facts = [f"expected: {', '.join(query.expected) or 'nothing; it has no answer'}"]
    facts += [] if query.user is None else [f"as: {query.user}"]
    facts += [] if query.route is None else [f"class: {query.query_class}"]
    return _framed(
        _title(f"{query.query_id} ({query.slice}): {query.text}"),
        _list([*facts, f"under: {table.title}"]),
        html_table(table.columns, table.rows),
        *(_note(text) for text in table.notes),
        _list(explanation_sentences(answer)),
    )


def curve_html(curve: Curve) -> str:
    """Return the range of each figure along a knob, where it is highest, and how often it steps."""
    first = 0 if curve.underflow is None else curve.cell(curve.underflow[1])
    rows = []
    for group, name in enumerate(curve.groups):
        for place, metric in enumerate(curve.metrics):
            own = curve.value[first:, group, place]
            if np.isnan(own).all():
                continue
            start = stop = int(np.nanargmax(own))
            while stop + 1 < len(own) and own[stop + 1] == own[start]:
                stop += 1
            low, high = curve.bounds(first + start)[0], curve.bounds(first + stop)[1]
            if curve.knob.integer:  # edges lie between integers
                low, high = math.ceil(low), math.floor(high)
            ends = (f"{low:.6g}", "any longer" if math.isinf(high) else f"{high:.6g}")
            steps = int((np.diff(own) != 0).sum())
            rows.append((name, str(metric), np.nanmin(own), np.nanmax(own), *ends, steps))
    columns = (
        Column("slice"),
        Column("metric"),
        Column("lowest", "right"),
        Column("highest", "right"),
        Column("first from", "right"),
        Column("to", "right"),
        Column("steps", "right"),
    )
    notes = [f"through {curve.settings.text}"]
    if curve.underflow is not None:
        low, high = curve.underflow
        notes.append(
            f"Between {low:.6g} and {high:.6g} some scores underflow; the table leaves that out."
        )
    if curve.unsettled:
        notes.append(
            f"In {len(curve.unsettled)} questions two rows' scores differ by rounding alone."
        )
    return _framed(
        _title(f"{curve.knob.label or curve.knob.name}: {len(curve.edges)} steps"),
        _list(notes),
        html_table(columns, rows),
    )


def verification_html(found: Verification) -> str:
    """Return whether the engine answers as the replay says, and what was found."""
    n_asked = sum(check.n_questions for check in found.checks)
    against = "the replay" if found.replayable else "what the sweep has"
    said = f"{found.n_different} of {n_asked} answers differ from {against}."
    if found.agrees:
        said = f"All {n_asked} answers equal {against}, position by position."
    checks = html_table(
        (
            Column("settings"),
            Column("questions", "right"),
            Column("equal", "right"),
            Column("different", "right"),
        ),
        [
            (check.name, check.n_questions, check.n_equal, len(check.differences))
            for check in found.checks
        ],
        caption=f"{found.sweep}: the {found.engine} engine",
    )
    causes = [f"Found: {cause.text}" for cause in found.causes]
    if found.n_unexplained:
        causes.append(f"{found.n_unexplained} answers differ for no reason that is known here.")
    if found.unproved:
        causes.append(f"Not tested: {', '.join(found.unproved)}.")
    return _framed(_title(said), checks, _list([*causes, *found.notes]))


def _questions(results: Results) -> str:
    golden = results.golden
    counts = dict.fromkeys(golden.slices, 0)
    for query in golden.queries:
        counts[query.slice] += 1
    texts = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f"{len(golden)} questions ({texts})"


def _framed(*parts: str) -> str:
    return f'<div class="sweeper">{_STYLE}{"".join(parts)}</div>'


def _title(text: str) -> str:
    return f"<p><strong>{html_text(text)}</strong></p>"


def _code(text: str) -> str:
    return f"<p><code>{html_text(text)}</code></p>"


def _note(text: str) -> str:
    return f"<p>{html_text(text)}</p>"


def _list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{html_text(text.strip())}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def _more(count: int, noun: str, where: str) -> str:
    return _note(f"{count} more {noun} are in {where}.") if count > 0 else ""
