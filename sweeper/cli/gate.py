"""``sweep gate``: do today's figures hold against a committed baseline?"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import Assignments, assigned
from sweeper.cli.run import reporting
from sweeper.errors import GateError, InputError, UndecidedError

if TYPE_CHECKING:
    from sweeper.gates import Line, Verdict
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
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="Metric whose fall fails; repeatable.",
            show_default="recall@10 and mrr",
        ),
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
    """Score the current setting against a baseline.

    Exit code 3 on a regression, 5 if undecided.

    For example: sweep gate configs/recency.yaml --baseline baseline.json
    """
    from sweeper.baseline import GATED, read_baseline
    from sweeper.config import load_config
    from sweeper.gates import judge
    from sweeper.gating import measure

    allowed = _tolerances(tolerance, policy)
    named = _gated(metric or [], policy)
    if previous is not None and policy is not Policy.direction:
        raise InputError("--previous goes with --policy direction.")
    loaded = load_config(config, overrides or ())
    chosen = assigned(loaded.current, settings or [])
    if chosen.capture != loaded.current.capture:
        raise InputError(
            "--settings: a key of the engine is no setting of one capture. Change it with --set: "
            "--set engine.lexical.match=all"
        )
    against = previous if policy is Policy.direction else baseline
    before = None if update_baseline or against is None else read_baseline(against, gated=named)
    _check_slices(allowed, () if before is None else tuple(before.figures))
    with reporting() as progress:
        now = measure(loaded, chosen, gated=named, pool=pool, progress=progress)
    if update_baseline:
        if now.outdated:
            raise InputError(
                f"{pool}: these are the candidates of another corpus or engine. Leave --pool out "
                "to write today's figures."
            )
        for item in named:
            if not any(item in table for table in now.figures.figures.values()):
                raise InputError(f"--metric: no question here has a {item}. Name another metric.")
        _update(baseline, now, json=json, markdown=markdown)
        return
    verdict = judge(
        before,
        now.figures,
        n_queries=now.n_queries,
        policy=policy.value,
        tolerance=allowed,
        slices=now.slices,
        spread=now.spread,
        unstable=now.unstable,
        gated=named or GATED,
    )
    if json:
        console.print_json("sweep.gate/1", _document(verdict, against))
    else:
        _print(verdict, now, named or GATED, markdown)
    if report_only or verdict.outcome == "pass":
        return
    text = "\n".join(f"  {reason}" for reason in verdict.reasons)
    if verdict.outcome == "undecided":
        raise UndecidedError(f"the gate is undecided:\n{text}")
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
            raise InputError(
                f'--tolerance: must be a number from 0 to 1, or slice=number, got "{text}".'
            )
        each[name] = value
    if "" in each and len(each) > 1:
        raise InputError("--tolerance: give one number for all slices, or one per slice.")
    return each.get("", each)


def _gated(texts: list[str], policy: Policy) -> tuple[str, ...]:
    from sweeper.gates import can_be_tested
    from sweeper.metrics import parse_metrics

    try:
        metrics = parse_metrics(texts) if texts else ()
    except ValueError as error:
        raise InputError(f"--metric: {error}") from error
    for item in metrics:
        if not item.larger_is_better:
            raise InputError(f"--metric: less {item} is better, and a gate fails what falls.")
        if policy is Policy.significant and not can_be_tested(str(item)):
            raise InputError(
                f"--metric: --policy significant tests mrr, recall@k and hit@k; for {item} take "
                "strict or tolerance."
            )
    return tuple(map(str, metrics))


def _check_slices(tolerance: dict[str, float] | float, known: tuple[str, ...]) -> None:
    from sweeper.errors import did_you_mean

    for name in tolerance if isinstance(tolerance, dict) else ():
        if name not in known:
            raise InputError(f'--tolerance: no slice "{name}". {did_you_mean(name, known)}')


def _update(path: Path, now: Measured, *, json: bool, markdown: bool) -> None:
    """Rewrite the baseline and show what changes in it."""
    from sweeper.baseline import GATED, read_baseline, render_baseline
    from sweeper.files import write_atomically

    if not any(metric in GATED for table in now.figures.figures.values() for metric in table):
        raise InputError(
            "no question has an answer, so there is nothing to compare or to write. Say what one "
            "of them should find."
        )
    text = render_baseline(now.figures)
    old = {}
    unchanged = path.is_file() and path.read_bytes() == text.encode()
    if path.exists():
        try:
            old = dict(read_baseline(path).figures)
        except InputError as error:
            console.note(f"the old file could not be read: {error}")
    if not unchanged:
        write_atomically(path, text)
    new = read_baseline(path).figures
    rows = [
        (group, metric, old.get(group, {}).get(metric), new.get(group, {}).get(metric))
        for group in dict.fromkeys([*old, *new])
        for metric in dict.fromkeys([*old.get(group, {}), *new.get(group, {})])
    ]
    changed = [row for row in rows if row[2] != row[3]]
    if json:
        names = ("slice", "metric", "before", "after")
        document = [dict(zip(names, row, strict=True)) for row in changed]
        console.print_json(
            "sweep.baseline/1", {"file": path, "written": not unchanged, "changed": document}
        )
        return
    if unchanged:
        console.emit(f"{path}: unchanged")
        return
    if changed:
        console.print_table(
            (
                console.Column("slice"),
                console.Column("metric"),
                console.Column("before", "right"),
                console.Column("after", "right"),
            ),
            changed,
            markdown=markdown,
        )
    else:
        console.emit("No figure changes.")
    console.emit(f"{path}: written; review it as a diff and commit it")


def _print(verdict: Verdict, now: Measured, gated: Sequence[str], markdown: bool) -> None:
    for text in verdict.changed:
        console.emit(f"Note: {text}.")
    if verdict.changed and markdown:
        console.emit()
    shown = console.decimals(2 if markdown else 4)
    rows = [
        (
            item.slice,
            item.metric,
            item.baseline,
            item.now,
            item.difference,
            _word(item),
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
            console.Column("change", "right", shown, key="difference"),
            console.Column("verdict"),
            console.Column("1 question", "right", shown, key="one_question"),
        ),
        rows,
        title=f"Gate: {verdict.outcome} ({verdict.policy})",
        markdown=markdown,
    )
    if any(item.metric not in gated for item in verdict.lines):
        console.emit(
            ("\n" if markdown else "") + f"gated: {' and '.join(gated)}; other figures are reported"
        )
    if verdict.lost:
        console.emit()
    bullet = "- " if markdown else ""
    for query, before, after in verdict.lost[:10]:
        place = f"now at {after}" if after else "now not returned"
        console.emit(f"{bullet}{query}: was at {before}, {place}{_behind(now, query)}")
    if len(verdict.lost) > 10:
        console.emit(f"{bullet}and {len(verdict.lost) - 10} more answers stand lower")


def _word(line: Line) -> str:
    return "FAIL" if line.outcome in {"worse", "vanished"} else line.outcome


def _behind(now: Measured, query_id: str) -> str:
    """Say what stands before the answer now."""
    ahead: list[str] = []
    for key in now.returned(query_id):
        if key in now.expected[query_id]:
            break
        ahead.append(key)
    if not ahead:
        return ""
    return f", behind {', '.join(ahead[:2])}" + (" ..." if len(ahead) > 2 else "")


def _document(verdict: Verdict, baseline: Path | None) -> dict[str, object]:
    return {
        "baseline": baseline,
        "changed": verdict.changed,
        "outcome": verdict.outcome,
        "policy": verdict.policy,
        "reasons": verdict.reasons,
        "lines": verdict.lines,
        "lost": [
            {"query_id": query, "before": before, "after": after}
            for query, before, after in verdict.lost
        ],
    }
