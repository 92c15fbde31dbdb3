"""``sweep compare``: two trials, two sweeps, or a trial and a baseline file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import ResultsFolder, opened
from sweeper.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from sweeper.comparison import Comparison, Side

__all__ = ["compare"]


def compare(
    baseline: Annotated[
        str,
        typer.Argument(help="A trial (name#7, name/id#current, name#ARM) or a baseline.json."),
    ],
    challenger: Annotated[str, typer.Argument(help="A trial; a sweep alone means its current.")],
    group: Annotated[
        str | None, typer.Option("--slice", help="One slice.", metavar="SLICE")
    ] = None,
    top: Annotated[int, typer.Option(help="Questions to list.")] = 10,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Compare two settings per slice and per question.

    For example: sweep compare recency#current recency#61
    """
    from sweeper.baseline import read_baseline
    from sweeper.comparison import compare_trials, compare_with_baseline

    if top < 0:
        raise InputError(f"--top: must be at least 0, got {top}.")
    second = side(challenger, results)
    if baseline.endswith(".json"):
        found = compare_with_baseline(read_baseline(baseline), baseline, second)
        title = f"{found.baseline} against {second.title}"
    else:
        first = side(baseline, results)
        found = compare_trials(first, second)
        title = f"{first.title} against {second.title}"
    slices = list(dict.fromkeys(item.slice for item in found.differences))
    if group is not None and group not in slices:
        raise InputError(f'--slice: no slice "{group}". {did_you_mean(group, slices)}')
    if json:
        console.print_json("sweep.compare/1", _document(found))
        return
    _print(found, title, group, top, markdown, tested=not baseline.endswith(".json"))


def side(text: str, root: Path) -> Side:
    """Return the trial that a text such as ``recency#7`` names; a sweep alone means its current."""
    from sweeper.comparison import Side

    address, _, number = text.partition("#")
    found = opened(address, root)
    return Side(found, found.trial(number or "current"))


def _print(
    found: Comparison, title: str, group: str | None, top: int, markdown: bool, *, tested: bool
) -> None:
    from sweeper.wording import comparison_table

    for text in found.changed:
        console.emit(f"Note: {text}.")
    if found.missing:
        named = ", ".join(found.missing[:5])
        console.emit(f"Note: {len(found.missing)} questions are on one side only: {named}.")
    table = comparison_table(found, group)
    console.print_table(table.columns, table.rows, title=title, markdown=markdown)
    if tested:
        for line in _legend(found, group):
            console.emit(line)
    moved = [item for item in found.moved if group in (None, item.slice)]
    if not moved or not top:
        return
    console.emit()
    console.print_table(
        (
            console.Column("question"),
            console.Column("slice"),
            console.Column("from", "right", _position),
            console.Column("to", "right", _position),
            console.Column("expected"),
            console.Column("now before it"),
        ),
        [
            (
                item.query_id,
                item.slice,
                item.before,
                item.after,
                ", ".join(item.expected[:2]),
                ", ".join(item.overtook[:2]) + (" ..." if len(item.overtook) > 2 else ""),
            )
            for item in moved[:top]
        ],
        title=f"Questions that moved most ({len(moved)} moved)",
        markdown=markdown,
    )


def _legend(found: Comparison, group: str | None) -> list[str]:
    from sweeper.compare import RESOLVED
    from sweeper.paired import fewest_to_differ

    lines = [
        "p is corrected, 95% is not; unclear: p > 0.05; unresolvable: under "
        f"{fewest_to_differ()} differ."
    ]
    shown = [item for item in found.differences if group in (None, item.slice)]
    needed = [item for item in shown if item.needed is not None and item.finding != "same"]
    if needed:
        least = min(needed, key=lambda item: item.needed or 0)
        most = max(needed, key=lambda item: item.needed or 0)
        lines.append(
            f"A difference of {RESOLVED:g} would take about {least.needed} "
            f"({least.slice}.{least.metric}) to {most.needed} ({most.slice}.{most.metric}) "
            "questions."
        )
    return lines


def _position(value: int) -> str:
    return str(value) if value else "-"


def _document(found: Comparison) -> dict[str, object]:
    return {
        "baseline": found.baseline,
        "challenger": found.challenger,
        "changed": found.changed,
        "missing": found.missing,
        "differences": found.differences,
        "moved": found.moved,
    }
