"""``sweep explain``: why each row stands where it stands, for one question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import Assignments, ResultsFolder, changed, opened

if TYPE_CHECKING:
    from sweeper.explain import Explanation
    from sweeper.graph import Evidence

__all__ = ["explain"]

_SHOWN_FACTS = 3
"""Facts of a row that are printed; ``--json`` has all."""


def explain(
    sweep: Annotated[str, typer.Argument(help="A folder, a name (its latest), or name/id.")],
    query: Annotated[str, typer.Argument(help="Id of a question.")],
    trial: Annotated[
        str, typer.Option(help="The trial to explain it under: number, id, arm, or current.")
    ] = "current",
    settings: Assignments = None,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Explain one question: every row, and what would help.

    With question classes it says what its class changes; with typed facts, what led to each row.
    For example: sweep explain recency fresh-05
    """
    from sweeper.wording import explanation_sentences, explanation_table

    found = opened(sweep, results)
    base = changed(found, trial, settings)
    answer = found.explain(query, settings=base)
    if json:
        console.print_json("sweep.explain/1", _document(answer))
        return
    console.emit(f"{query} ({answer.query.slice}): {answer.query.text}")
    console.emit(f"expected: {', '.join(answer.query.expected) or 'nothing; it has no answer'}")
    if answer.query.user is not None:
        console.emit(f"as: {answer.query.user}")
    console.emit(f"under: {base.text}")
    for line in _class_lines(answer):
        console.emit(line)
    console.emit()
    table = explanation_table(answer)
    console.print_table(table.columns, table.rows, markdown=markdown)
    for note in table.notes:
        console.emit(note)
    for line in explanation_sentences(answer):
        console.emit(line)
    _print_evidence(answer, markdown)


def _class_lines(answer: Explanation) -> Iterator[str]:
    """Say by which class a question is routed, and what holds for it."""
    from sweeper.knobs import TRIPLES

    route, label = answer.query.route, answer.query.label
    own, alike = answer.own, answer.settings.for_class(None)
    if route is not None:
        said = f"class: {console.plain(route.query_class)} (rule: {console.plain(route.rule)})"
        if label not in (None, route.query_class):
            said += f"; its row says {console.plain(label)}"
        yield said
    if route is not None or TRIPLES in answer.weights:
        texts = []
        for channel, weight in answer.weights.items():
            notes = ["safe"] if channel == TRIPLES and TRIPLES not in own.weights else []
            if weight != alike.weight(channel):
                notes.append(f"{alike.weight(channel):.6g} without routing")
            texts.append(f"{channel} {weight:.6g}" + (f" ({', '.join(notes)})" if notes else ""))
        yield f"weights: {', '.join(texts)}"
    if route is not None:
        budget = "none" if answer.budget is None else f"{answer.budget}"
        yield f"budget: {budget} (limit {answer.settings.limit})"


def _print_evidence(answer: Explanation, markdown: bool) -> None:
    """Quote the facts behind rows. Their text is of whoever wrote the pages."""
    if not answer.evidence:
        return
    shown = {name: facts[:_SHOWN_FACTS] for name, facts in answer.evidence.items()}
    console.emit()
    console.emit("Facts that led to rows:")
    if markdown:
        console.emit()
        heads = ("row", "fact", "hop", "from", "page", "sentence")
        console.print_table(
            [console.Column(head, "right" if head == "hop" else "left") for head in heads],
            [(name, *_cells(fact)) for name, facts in shown.items() for fact in facts],
            markdown=True,
        )
    for name, facts in shown.items():
        if not markdown:
            console.emit(f"  {_line(name)}")
            for said, hop, entity, page, sentence in map(_cells, facts):
                console.emit(f"    {said} (hop {hop}, from {entity})")
                console.emit(f'      {page}: "{sentence}"')
        if not facts:
            console.emit(f"{_line(name)}: its facts were not kept." if markdown else "    not kept")
    n_facts, n_shown = (sum(map(len, by.values())) for by in (answer.evidence, shown))
    if n_shown < n_facts:
        console.emit(
            f"{n_shown} of {n_facts} facts, the first {_SHOWN_FACTS} of a row; --json has all."
        )


def _cells(fact: Evidence) -> tuple[str, int, str, str, str]:
    triple = fact.triple
    said = " - ".join(map(_line, (triple.subject, triple.predicate, triple.object)))
    return said, fact.hop, _line(fact.entity), _line(triple.page), _line(triple.sentence)


def _line(text: str) -> str:
    """Return text on one line, so that none can look like a line of ours."""
    return console.plain(" ".join(text.split()))


def _fact(fact: Evidence) -> dict[str, object]:
    return {**asdict(fact.triple), "hop": fact.hop, "entity": fact.entity}


def _document(answer: Explanation) -> dict[str, object]:
    return {
        "query": answer.query.query_id,
        "slice": answer.query.slice,
        "text": answer.query.text,
        "user": answer.query.user,
        "expected": answer.query.expected,
        "settings": answer.settings.as_dict(),
        "first_position": answer.first_position,
        "rows": answer.rows,
        "missing": answer.missing,
        "remedies": answer.remedies,
        "untried": answer.untried,
        "class": answer.query.query_class,
        "rule": None if answer.query.route is None else answer.query.route.rule,
        "label": answer.query.label,
        "weights": answer.weights,
        "budget": answer.budget,
        "evidence": {
            name: [_fact(fact) for fact in facts] for name, facts in answer.evidence.items()
        },
    }
