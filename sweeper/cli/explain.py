"""``sweep explain``: why each row stands where it stands, for one question."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import Assignments, ResultsFolder, assigned, captured, opened
from sweeper.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from sweeper.explain import Explanation, Missing, Remedy

__all__ = ["explain"]


def explain(
    sweep: Annotated[str, typer.Argument(help="A folder, a name (its latest), or name/id.")],
    query: Annotated[str, typer.Argument(help="Id of a question.")],
    trial: Annotated[
        str, typer.Option(help="The trial to explain it under: number, id, or current.")
    ] = "current",
    settings: Assignments = None,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Explain one question: every row, and what would help.

    For example: sweep explain recency fresh-05
    """
    from sweeper.explain import explain as explain_query

    found = opened(sweep, results)
    base = captured(found, assigned(found.settings[found.trial(trial)], settings or []))
    try:
        answer = explain_query(found.replay, query, base)
    except KeyError:
        hint = did_you_mean(query, found.golden.query_ids)
        raise InputError(f'{found.address} has no question "{query}". {hint}') from None
    if json:
        console.print_json("sweep.explain/1", _document(answer))
        return
    channels = found.replay.of(base).pool.channels
    console.emit(f"{query} ({answer.query.slice}): {answer.query.text}")
    console.emit(f"expected: {', '.join(answer.query.expected) or 'nothing; it has no answer'}")
    console.emit(f"under: {base.text}")
    console.emit()
    columns = [
        console.Column("", "right", key="position"),
        console.Column("row", key="item_id"),
        *(console.Column(name, key=f"{name}_rank") for name in channels),
        console.Column("age", "right", _days, key="age_days"),
        console.Column("factor", "right"),
        console.Column("score", "right", console.decimals(6)),
    ]
    rows = []
    for row in answer.rows:
        cells = [
            f"#{row.ranks[name]} ({row.values[name]:.3f})" if name in row.ranks else "-"
            for name in channels
        ]
        mark = "*" if row.key in answer.query.expected else ""
        age = row.age_days if row.store == "memory" else None
        rows.append((f"{mark}{row.position}", row.item_id, *cells, age, row.factor, row.score))
    console.print_table(columns, rows, markdown=markdown)
    console.emit("* expected. Per channel: rank and the channel's own value.")
    for item in answer.missing:
        console.emit(_missing_text(item, base.min_similarity))
    for remedy in answer.remedies:
        console.emit(_remedy_text(remedy))
    if answer.query.answerable and answer.first_position != 1 and not answer.remedies:
        console.emit("No single knob improves this question.")


def _days(value: float | None) -> str:
    if value is None:
        return "-"
    return "unknown" if value != value else f"{value:.1f} d"


def _missing_text(item: Missing, floor: float | None) -> str:
    if item.reason == "position":
        return f"{item.key} stands at {item.position}, beyond the limit."
    if item.reason == "floor":
        return (
            f"{item.key} is cut by the floor of {floor:g}: its cosine is {item.cosine:.4f}. "
            "A floor of at most that keeps it."
        )
    return f"{item.key} is retrieved by no channel within depth: mend retrieval, not knobs."


def _remedy_text(remedy: Remedy) -> str:
    place = "first" if remedy.position == 1 else f"at {remedy.position}"
    if remedy.low is None or remedy.high is None or remedy.at is None:
        return f"{remedy.knob} switched off: an expected row is {place}."
    who = remedy.item_id or "an expected row"
    unit = " days" if remedy.knob == "recency_half_life_days" else ""
    high = "any longer" if math.isinf(remedy.high) else f"{remedy.high:.6g}"
    text = f"{remedy.knob} from {remedy.low:.6g} to {high}: {who} is {place}"
    if remedy.other_id:
        text += f"; it overtakes {remedy.other_id} at {remedy.at:.6g}{unit}"
    return f"{text}."


def _document(answer: Explanation) -> dict[str, object]:
    return {
        "query": answer.query.query_id,
        "slice": answer.query.slice,
        "text": answer.query.text,
        "expected": answer.query.expected,
        "settings": answer.settings.as_dict(),
        "first_position": answer.first_position,
        "rows": answer.rows,
        "missing": answer.missing,
        "remedies": answer.remedies,
    }
