"""``sweep gate``: do today's figures hold against a committed baseline?"""

from __future__ import annotations

import enum
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.cli.curve import Assignments, assigned
from sweeper.cli.run import reporting
from sweeper.errors import GateError, InputError, UndecidedError

if TYPE_CHECKING:
    from sweeper.gates import Baseline, Verdict
    from sweeper.gating import Measured

__all__ = ["gate"]


class Policy(enum.StrEnum):
    """What counts as a regression."""

    strict = "strict"
    tolerance = "tolerance"
    significant = "significant"
    direction = "direction"


def gate(
    config: Annotated[Path, typer.Argument(help="A config, such as configs/recency.yaml.")],
    baseline: Annotated[Path, typer.Option(help="The committed figures.", metavar="FILE")] = Path(
        "baseline.json"
    ),
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Rewrite the file with today's figures.")
    ] = False,
    policy: Annotated[
        Policy, typer.Option(help="What counts as a regression; see docs/gate.md.")
    ] = Policy.strict,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(help="Allowed fall: 0.02, or entity=0.05 per slice.", metavar="[SLICE=]X"),
    ] = None,
    settings: Assignments = None,
    pool: Annotated[
        Path | None,
        typer.Option(help="Use this kept pool instead of capturing afresh.", metavar="FILE"),
    ] = None,
    previous: Annotated[
        Path | None, typer.Option(help="Figures of the last deploy, for direction.", metavar="FILE")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a key of the config.", metavar="KEY=VALUE"),
    ] = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Exit 0 where the gate fails or cannot decide.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown for a pull request.")
    ] = False,
) -> None:
    """Score the current setting against a baseline: exit 3 on a regression, 5 if undecided.

    For example: sweep gate configs/recency.yaml --baseline baseline.json
    """
    from sweeper.config import load_config
    from sweeper.gates import judge, read_baseline
    from sweeper.gating import measure

    loaded = load_config(config, overrides or ())
    chosen = assigned(loaded.current, settings or [])
    allowed = _tolerances(tolerance, policy)
    if previous is not None and policy is not Policy.direction:
        raise InputError("--previous goes with --policy direction.")
    before = None if update_baseline else read_baseline(baseline)
    last = None if previous is None else read_baseline(previous)
    with reporting() as progress:
        now = measure(loaded, chosen, pool=pool, progress=progress)
    if update_baseline:
        _update(baseline, now, json=json)
        return
    assert before is not None
    verdict = judge(
        before,
        now.figures,
        n_queries=now.n_queries,
        policy=policy.value,
        tolerance=allowed,
        slices=now.slices,
        previous=last,
    )
    if json:
        console.print_json("sweep.gate/1", _document(verdict, baseline))
    else:
        _print(verdict, now, markdown)
    if report_only or verdict.outcome == "pass":
        return
    text = "\n".join(verdict.reasons)
    if verdict.outcome == "undecided":
        raise UndecidedError(f"undecided: {text}")
    raise GateError(f"the gate failed:\n{text}")


def _tolerances(texts: list[str] | None, policy: Policy) -> dict[str, float] | float:
    if texts and policy is not Policy.tolerance:
        raise InputError("--tolerance goes with --policy tolerance.")
    each: dict[str, float] = {}
    for text in texts or ():
        name, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not 0 <= value <= 1:
            raise InputError(f"--tolerance {text}: must be a number from 0 to 1, or slice=number.")
        each[name] = value
    if set(each) <= {""}:
        return each.get("", 0.0)
    return each


def _update(path: Path, now: Measured, *, json: bool) -> None:
    """Rewrite the baseline and show what changes in it."""
    from sweeper.files import write_atomically
    from sweeper.gates import read_baseline, render_baseline

    text = render_baseline(now.figures)
    before: Baseline | None = None
    if path.exists():
        if path.read_bytes() == text.encode():
            console.emit(f"{path}: unchanged")
            return
        try:
            before = read_baseline(path)
        except InputError as error:
            console.note(f"the old file could not be read: {error}")
    write_atomically(path, text)
    after = read_baseline(path)
    rows = [
        (
            group,
            metric,
            None if before is None else before.figures.get(group, {}).get(metric),
            value,
        )
        for group, table in after.figures.items()
        for metric, value in table.items()
    ]
    changed = [row for row in rows if row[2] != row[3]]
    if json:
        names = ("slice", "metric", "before", "after")
        rows_json = [dict(zip(names, row, strict=True)) for row in changed]
        console.print_json("sweep.baseline/1", {"file": path, "changed": rows_json})
        return
    console.print_table(
        (
            console.Column("slice"),
            console.Column("metric"),
            console.Column("before", "right"),
            console.Column("after", "right"),
        ),
        changed,
    )
    console.emit(f"{path}: written; review it as a diff and commit it")


def _print(verdict: Verdict, now: Measured, markdown: bool) -> None:
    for text in verdict.changed:
        console.emit(f"Note: {text}.")
    shown = console.decimals(2 if markdown else 4)
    rows = [
        (
            item.slice,
            item.metric,
            item.baseline,
            item.now,
            item.difference,
            "FAIL" if item.reason and item.outcome != "undecided" else item.outcome,
            1 / item.n_queries if item.n_queries else None,
        )
        for item in verdict.lines
    ]
    console.print_table(
        (
            console.Column("slice"),
            console.Column("metric"),
            console.Column("baseline", "right", shown),
            console.Column("now", "right", shown),
            console.Column("difference", "right", shown),
            console.Column("verdict"),
            console.Column("one question", "right", console.decimals(3)),
        ),
        rows,
        title=f"Gate: {verdict.outcome} ({verdict.policy})",
        markdown=markdown,
    )
    for query, before, after in verdict.lost[:10]:
        place = f"position {after}" if after else "not returned"
        console.emit(f"- {query}: was at {before}, now {place}{_instead(now, query)}")
    if len(verdict.lost) > 10:
        console.emit(f"- and {len(verdict.lost) - 10} more questions lower than before")


def _instead(now: Measured, query_id: str) -> str:
    """Say what stands first now."""
    from sweeper.ranking import rank

    pool = now.replay.pool
    candidates = pool.candidates(pool.query_ids.index(query_id))
    rows = rank(candidates, now.settings, channels=pool.channels)
    return f"; first is {rows[0].item_id}" if rows else ""


def _document(verdict: Verdict, baseline: Path) -> dict[str, object]:
    return {
        "baseline": baseline,
        "outcome": verdict.outcome,
        "policy": verdict.policy,
        "changed": verdict.changed,
        "reasons": verdict.reasons,
        "lines": verdict.lines,
        "lost": [
            {"query_id": query, "before": before, "after": after}
            for query, before, after in verdict.lost
        ],
    }
