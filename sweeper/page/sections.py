"""The sections of the report, as markup; the script fills in what moves.

Whatever other people wrote passes through ``html_text``.
"""

from __future__ import annotations

import html
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from sweeper.compare import Difference
from sweeper.page.document import CHARTED
from sweeper.page.findings import Findings
from sweeper.picked import Answer
from sweeper.pictures import goals_of
from sweeper.report import result_tables
from sweeper.result_tables import Table, front_table, top_table
from sweeper.tables import Column, html_table, html_text, metric_label, plain, signed
from sweeper.wording import (
    change_sentences,
    evidence_sentences,
    headline,
    is_supported,
    origin,
    pick_table,
    premises,
    shown_answers,
    validation_sentences,
)

__all__ = ["list_items", "sections"]

_CHANGES = (
    ("", "all"),
    ("changed", "changed"),
    ("better", "better"),
    ("worse", "worse"),
    ("gained", "gained: not returned before"),
    ("lost", "lost: not returned now"),
    ("up", "moved up"),
    ("down", "moved down"),
    ("missed", "not returned"),
)


def sections(
    findings: Findings, n_drawn: int, shown: Sequence[str], licences: str
) -> dict[str, tuple[str, str]]:
    """Return the sections in reading order: anchor to the word of its link, and its markup.

    Parameters
    ----------
    findings
        What there is to show.
    n_drawn
        How many settings the trade-off draws.
    shown
        Addresses of the figures that the page holds.
    licences
        What is said of the plotting library.
    """
    return {
        "recommendation": ("Recommendation", _recommendation(findings)),
        "slices": ("Slices", _slices(findings, shown)),
        "tradeoff": ("Trade-off", _tradeoff(findings, n_drawn, shown)),
        "curves": ("Curves", _curves(findings, shown)),
        "questions": ("Questions", _questions()),
        "explained": ("Explained", _explained(findings)),
        "tables": ("Tables", _tables(findings)),
        "provenance": ("Provenance", _provenance(findings, licences)),
    }


def list_items(texts: Iterable[str]) -> str:
    """Return texts as the items of a list."""
    return "".join(f"<li>{html_text(text)}</li>" for text in texts)


def _section(key: str, title: str, *parts: str) -> str:
    head = f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{title}</h2>'
    return "\n".join([head, *parts, "</section>"])


def _shown(table: Table, *, element: str = "") -> str:
    """Return a table with its notes; it scrolls by itself where it is wider than the page."""
    own = f' id="{element}"' if element else ""
    body = html_table(table.columns, table.rows, caption=table.title)
    notes = "".join(f'<p class="quiet">{html_text(note)}</p>' for note in table.notes)
    label = html_text(table.title)
    return (
        f'<div class="scroll"{own} tabindex="0" role="region" aria-label="{label}">{body}</div>'
        + notes
    )


def _recommendation(findings: Findings) -> str:
    results, answer = findings.results, findings.pick
    if answer is None:
        said = html_text(findings.problem or "There is no recommendation.")
        return _section(
            "recommendation",
            "Recommendation",
            f'<div class="verdict unsure"><p>No recommendation</p><p>{said}</p></div>',
        )
    chosen = answer.chosen
    verdict = [
        f'<div class="verdict{"" if is_supported(answer) else " unsure"}">',
        f"<p>{html_text(headline(answer))}</p>",
        f"<p><code>{html_text(chosen.settings.text)}</code></p>",
        f'<p class="quiet">{html_text(origin(results, chosen))}</p>',
        *(f"<p>{html_text(line)}</p>" for line in premises(results, answer)),
        *([] if answer.keep else _changes(findings, chosen)),
        "</div>",
    ]
    figures = _shown(pick_table(results, answer))
    parts = []
    for name, item in shown_answers(answer):
        title = "How sure that is"
        if item.trial != chosen.trial:
            title = f"{name[0].upper()}{name[1:]}: {item.settings.text}"
            title += f" ({origin(results, item)})"
        parts += [
            f"<h3>{html_text(title)}</h3>",
            *(_changes(findings, item) if item is findings.subject and answer.keep else []),
            f"<ul>{list_items(evidence_sentences(answer, item))}</ul>",
        ]
    checked = " ".join(line.strip() for line in validation_sentences(answer))
    parts.append(f"<h3>On questions that did not choose it</h3><p>{html_text(checked)}</p>")
    return _section("recommendation", "Recommendation", *verdict, figures, *parts)


def _changes(findings: Findings, item: Answer) -> list[str]:
    assert findings.pick is not None
    said = change_sentences(findings.pick, item, findings.comparison)
    return [f"<p>{html_text(line)}</p>" for line in said]


def _left_out(findings: Findings, shown: Sequence[str]) -> str:
    """Return what is said where not every figure is held; nothing where all are."""
    total = len(findings.addresses)
    if len(shown) >= total:
        return ""
    address = shlex.quote(findings.results.address)
    return (
        f"<p>{len(shown)} of {total:,} figures of slices and metrics are in this report: those of "
        "objectives, bounds and plots, those over all questions, and the first slices' as far as "
        f"there is room. <code>sweep show {html_text(address)} --trial NUMBER</code> has every "
        "figure of a setting.</p>"
    )


def _slices(findings: Findings, shown: Sequence[str]) -> str:
    comparison, subject = findings.comparison, findings.subject
    if comparison is None or subject is None:
        why = "Nothing else is recommended, so there is nothing to hold against today's setting."
        return _section("slices", "Every slice", f"<p>{why}</p>")
    name = "best feasible" if findings.pick and findings.pick.keep else "recommended"
    columns = (
        Column("slice"),
        Column("metric"),
        Column("current", "right"),
        Column(name, "right"),
        Column("difference", "right", signed),
        Column("95% interval", "right", _interval),
        Column("p", "right"),
        Column("finding"),
        Column("differ", "right"),
        Column("questions", "right"),
    )
    among = set(shown)
    rows = [
        _difference(findings, item)
        for item in findings.differences
        if f"{item.slice}.{item.metric}" in among
    ]
    tried = {item.metric for item in comparison.differences}
    apart = sorted({item.metric for item in findings.differences} - tried)
    title = f"Today's setting and the {name} one ({findings.results.named(subject.trial)})"
    notes = [
        "The interval says where the mean difference may lie over other questions of this kind; p "
        "is of a two-sided sign-flip test over these, corrected by Holm's rule "
        "over all figures. Findings: better and worse need p of at most 0.05; same: no question "
        "differs; unresolvable: too few differ for any test to say yes; unclear: the rest.",
    ]
    if apart:
        told = ", ".join(metric_label(metric) for metric in apart)
        notes.append(
            f"The less there is of {told}, the better. What is said of it is corrected apart, and "
            "it is not in the chart, because it is no share."
        )
    chart = '<div class="scripted"><div id="differences-chart" class="chart"></div></div>'
    if len(shown) > CHARTED:
        chart += f"<p>The chart draws the first {CHARTED} of them.</p>"
    if not tried:
        chart = "<p>No metric that was recorded is the better the more of it there is.</p>"
    table = _shown(Table(title, columns, tuple(rows), tuple(notes)))
    return _section("slices", "Every slice", _left_out(findings, shown), table, chart)


def _difference(findings: Findings, item: Difference) -> tuple[object, ...]:
    [goal] = goals_of(findings.results, item.metric).values()
    less = " (less is better)" if goal == "minimize" else ""
    return (
        findings.names[item.slice],
        metric_label(item.metric) + less,
        item.baseline,
        item.challenger,
        item.difference,
        item.interval if item.n_differ else None,
        item.p_value if item.n_differ else None,
        item.finding,
        item.n_differ,
        item.n_queries,
    )


def _interval(item: Any) -> str:
    return "-" if item is None else f"{signed(item.low)} to {signed(item.high)}"


def _controls(*controls: str) -> str:
    return f'<div class="controls scripted">{"".join(controls)}</div>'


def _select(element: str, label: str, choices: Sequence[tuple[str, str]] = ()) -> str:
    options = "".join(f'<option value="{value}">{text}</option>' for value, text in choices)
    return f'<label>{label}<select id="{element}">{options}</select></label>'


_NEEDS_SCRIPT = '<p class="unscripted">This part needs JavaScript.</p>'


def _tradeoff(findings: Findings, drawn: int, shown: Sequence[str]) -> str:
    results = findings.results
    total, failed = len(results.trials), results.n_failed
    said = [
        "Each mark is a setting, larger where several have the same two figures. The line joins "
        "those that no other beats in both. A mark of several has the colour of one of them."
    ]
    if findings.constraints:
        bounds = " and ".join(item.text for item in findings.constraints)
        said.append(f"A cross breaks a constraint ({bounds}).")
    if failed:
        said.append(f"{failed} of {total} settings have no figures.")
    if drawn < total - failed:
        said.append(
            f"Drawn are {drawn} of {total} settings: the best by any figure, those along one knob, "
            "those that are named, and an even sample of the rest. The line is that of those drawn."
        )
    return _section(
        "tradeoff",
        "Trade-off",
        f"<p>{html_text(' '.join(said))}</p>",
        _left_out(findings, shown),
        _NEEDS_SCRIPT,
        _controls(
            _select("axis-x", "Across"),
            _select("axis-y", "Up"),
            _select("colour", "Colour"),
            '<label>Setting number<input id="number" type="number" min="0" step="1"></label>',
        ),
        '<div class="scripted"><div id="tradeoff-chart" class="chart"></div>',
        '<p id="setting-said" class="unseen" role="status"></p>',
        '<div id="setting" class="panel"></div></div>',
        _shown(_best(findings), element="front-table"),
    )


def _best(findings: Findings) -> Table:
    results = findings.results
    table = front_table(results) if len(results.objectives) > 1 else top_table(results, 10)
    asked = (findings.objectives, findings.constraints)
    if asked == (results.objectives, results.constraints or findings.constraints):
        return table
    note = "This table follows the config's own objectives and constraints, not those asked for."
    return replace(table, notes=(*table.notes, note))


def _curves(findings: Findings, shown: Sequence[str]) -> str:
    curves, notes = findings.curves
    said = "".join(f"<p>{html_text(note)}</p>" for note in notes)
    if not curves:
        return _section("curves", "Exact curves", said or "<p>There are none.</p>")
    return _section(
        "curves",
        "Exact curves",
        "<p>Every value of one knob, not only those that were tried: between two steps no figure "
        "changes. The other knobs stay as they are.</p>",
        said,
        _left_out(findings, shown),
        _NEEDS_SCRIPT,
        _controls(
            _select("curve-knob", "Along"),
            _select("curve-metric", "Metric"),
            _select("curve-base", "Other knobs as"),
        ),
        '<div class="side scripted"><div><div id="curve-chart" class="chart"></div>',
        '<label class="quiet">Read the figures at <input id="curve-at" type="range"></label>',
        '<p id="curve-notes" class="quiet"></p></div>',
        '<div id="curve-reading" class="panel"></div></div>',
    )


def _questions() -> str:
    return _section(
        "questions",
        "Questions",
        '<p id="questions-setting"></p>',
        _NEEDS_SCRIPT,
        _controls(
            '<label>Search<input id="search" type="search"></label>',
            _select("filter-slice", "Slice"),
            _select("filter-change", "Change", _CHANGES),
        ),
        '<p id="questions-count" class="quiet scripted" role="status"></p>',
        '<div class="scroll scripted" tabindex="0" role="region" aria-label="All questions">',
        "<table>",
        "<caption>Where each question's first expected row stands. Those with a button are "
        "explained below.</caption>",
        '<thead><tr id="questions-head"></tr></thead><tbody id="questions-body"></tbody></table>',
        "</div>",
        '<p class="scripted"><button type="button" id="questions-more" hidden></button></p>',
    )


def _explained(findings: Findings) -> str:
    results = findings.results
    if not findings.explanations:
        why = "The engine shows no candidates."
        if results.replayable:
            compared = findings.comparison is not None
            why = "No question moves." if compared else "Every question is answered first today."
        return _section("explained", "One question explained", f"<p>{why}</p>")
    example = html_text(shlex.quote(findings.explanations[0][1].query.query_id))
    address = html_text(shlex.quote(results.address))
    return _section(
        "explained",
        "One question explained",
        "<p>Why each row stands where it stands. For any other question and setting: "
        f"<code>sweep explain {address} {example} --trial NUMBER</code></p>",
        _NEEDS_SCRIPT,
        _controls(_select("explained-question", "Question")),
        '<div id="explained-answer" class="scripted"></div>',
    )


def _tables(findings: Findings) -> str:
    tables = result_tables(findings.results)
    front = _best(findings).title
    kept = [table for table in tables if table.title != front]
    return _section("tables", "Tables of the sweep", *(_shown(table) for table in kept))


def _provenance(findings: Findings, licences: str) -> str:
    manifest = findings.results.manifest
    pool = manifest["pool"]
    facts = {
        "sweep": findings.results.address,
        "status": manifest["status"],
        "started (UTC)": str(manifest["started"])[:16].replace("T", " "),
        "config": manifest.get("config_path"),
        "golden set": _source(manifest["golden"]),
        "corpus": _source(manifest["corpus"]),
        "candidates": f"{pool['digest'][:16]}, depth {pool['depth']}" if pool["file"] else "none",
        "engine": pool["provenance"].get("fingerprint") or manifest["spec"].get("engine"),
        "ages measured from": pool["provenance"].get("as_of"),
        "commit": manifest.get("git_commit"),
        "versions": ", ".join(
            f"{name} {text}" for name, text in manifest.get("versions", {}).items()
        ),
        "spec": manifest["spec_hash"],
    }
    rows = "".join(
        f"<dt>{html_text(name)}</dt><dd>{html_text(value)}</dd>"
        for name, value in facts.items()
        if value is not None
    )
    config = yaml.safe_dump(manifest["spec"]["config"], sort_keys=False, allow_unicode=True)
    return _section(
        "provenance",
        "Provenance",
        f"<dl>{rows}</dl>",
        f"<details><summary>The config as it ran</summary><pre>{_lines(config)}</pre></details>",
        f"<details><summary>Licences</summary><pre>{_lines(licences)}</pre></details>",
    )


def _source(facts: Mapping[str, Any]) -> str | None:
    """Return where questions or a corpus came from, with the start of its digest."""
    digest = facts.get("digest")
    if not digest:
        return facts.get("path")
    return f"{facts['path']} ({digest[:16]})" if facts.get("path") else str(digest[:16])


def _lines(text: str) -> str:
    """Return text of several lines as HTML shows it."""
    return html.escape(plain(text, keep="\n"))
