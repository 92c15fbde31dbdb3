"""``sweep run``: capture what is missing, replay what is missing, show what every setting costs."""

from __future__ import annotations

import contextlib
import enum
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sweeper.cli import console
from sweeper.cli.options import ResultsFolder
from sweeper.errors import IncompleteError, InputError

if TYPE_CHECKING:
    from sweeper.config import Config
    from sweeper.opening import Progress
    from sweeper.result_tables import Table
    from sweeper.results import Results
    from sweeper.sweep import Summary

__all__ = ["run"]

_FAILURES_NAMED = 20
"""Failed settings that a message names."""


class Backend(enum.StrEnum):
    """Where settings are replayed."""

    auto = "auto"
    sequential = "sequential"
    threading = "threading"
    loky = "loky"
    dask = "dask"


def run(
    config: Annotated[Path, typer.Argument(help="A config, such as configs/recency.yaml.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a key: space.rrf_k=[5,20,60].", metavar="KEY=VALUE"),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Worker processes; -1 takes every core.")
    ] = 1,
    backend: Annotated[
        Backend,
        typer.Option(help="Where settings are replayed; auto takes processes where they win."),
    ] = Backend.auto,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler.", metavar="TCP://HOST:PORT"),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", help="Longest time for one setting.", metavar="SECONDS"),
    ] = None,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first setting that fails.")
    ] = False,
    results: ResultsFolder = Path("results"),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Repeat a finished sweep under a new id.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    plots: Annotated[bool, typer.Option(help="Draw plots and write the report.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Carry out a sweep and print what every setting costs each slice.

    A finished sweep is shown again; one that was interrupted is completed: settings that failed
    are tried again, and nothing runs twice.
    For example: sweep run configs/recency.yaml
    """
    from sweeper.config import load_config
    from sweeper.fanout import Fanout
    from sweeper.report import write_report
    from sweeper.sweep import run_sweep

    if jobs == 0 or jobs < -1:
        raise InputError(f"--jobs: must be at least 1, or -1 for every core, got {jobs}.")
    if timeout is not None and not 0 < timeout < math.inf:
        raise InputError(f"--timeout: must be a number of seconds above 0, got {timeout:g}.")
    loaded = load_config(config, overrides or ())
    if dry_run:
        _print_outlook(loaded, results, fresh, json, markdown)
        return
    fanout = Fanout(backend.value, jobs, timeout, scheduler)
    try:
        with reporting() as progress:
            summary = run_sweep(
                loaded,
                root=results,
                fanout=fanout,
                fresh=fresh,
                fail_fast=fail_fast,
                progress=progress,
            )
    except KeyboardInterrupt:
        console.note("Finished settings are kept; the same command goes on from there.")
        raise
    for text in summary.notes:
        console.note(text)
    found = summary.results
    console.detail(
        f"{summary.n_run} settings replayed, {summary.n_kept} kept from before, "
        f"{summary.n_processes} processes."
    )
    failure = _failure(summary)
    if failure is not None and any(item.trial.is_current for item in summary.failed):
        raise failure
    written = write_report(found) if plots else []
    if json:
        console.print_json("sweep.run/1", run_document(found, written))
    else:
        print_results(found, markdown=markdown)
        if not markdown:
            _print_files(found, written)
    if failure is not None:
        raise failure


def _failure(summary: Summary) -> IncompleteError | None:
    """Return the error that names the settings without figures, if there are any."""
    failed = summary.failed
    if not failed:
        return None
    lines = [f"  {item}" for item in failed[:_FAILURES_NAMED]]
    if len(failed) > len(lines):
        lines.append(f"  ... and {len(failed) - len(lines)} more; all are in trials.parquet.")
    total = len(summary.results.trials)
    return IncompleteError(
        "\n".join(
            [
                f"{len(failed)} of {total} settings have no figures. The same command tries them "
                "again:",
                *lines,
            ]
        )
    )


def _print_files(found: Results, written: list[Path]) -> None:
    console.emit()
    console.emit(f"{found.address}: {len(found.trials)} settings, {len(found.golden)} questions")
    for path in [found.folder / "trials.parquet", found.folder / "figures.parquet", *written]:
        console.emit(f"  {path}")


def _print_outlook(config: Config, results: Path, fresh: bool, json: bool, markdown: bool) -> None:
    from sweeper.dry_run import outlook

    found = outlook(config, root=results, fresh=fresh)
    document = {
        "sweep": found.sweep,
        "captures": found.n_captures,
        "requests": found.n_requests,
        "settings": found.n_settings,
        "settings_in_space": found.n_in_space,
        "settings_to_run": found.n_to_run,
        "questions": found.n_questions,
        "depth": found.depth,
        "capture_seconds": found.capture_seconds,
        "replay_seconds": found.replay_seconds,
    }
    if json:
        console.print_json("sweep.plan/1", document)
        return
    told = {
        **document,
        "settings_in_space": "endless" if found.n_in_space is None else found.n_in_space,
        "capture_seconds": _duration(found.capture_seconds),
        "replay_seconds": _duration(found.replay_seconds),
    }
    rows = [
        (name.replace("_seconds", " time").replace("_", " "), str(v)) for name, v in told.items()
    ]
    columns = (console.Column("what"), console.Column("value", "right"))
    console.print_table(columns, rows, markdown=markdown)


def _duration(seconds: float | None) -> str:
    """Return an estimate as a person says it."""
    if seconds is None:
        return "unknown: a live engine is not asked"
    if seconds < 1:
        return "under a second"
    if seconds < 120:
        return f"about {seconds:.0f} seconds"
    if seconds < 7200:
        return f"about {seconds / 60:.0f} minutes"
    return f"about {seconds / 3600:.0f} hours"


@contextlib.contextmanager
def reporting() -> Iterator[Progress]:
    """Yield a progress callback that draws one bar per step on stderr."""
    with contextlib.ExitStack() as stack:
        bars: dict[str, tuple[Any, list[int]]] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in bars:
                bar = stack.enter_context(console.progress(step, total))
                bars[step] = (bar, [0])
            advance, seen = bars[step]
            advance(done - seen[0])
            seen[0] = done

        yield report


def print_results(results: Results, *, markdown: bool = False) -> None:
    """Print the arms, the line through the current setting, and the front, as far as there are."""
    from sweeper.report import result_tables

    print_tables(result_tables(results), markdown=markdown)


def print_tables(tables: list[Table], *, markdown: bool = False, csv: bool = False) -> None:
    """Print tables one below the other."""
    for number, table in enumerate(tables):
        if number:
            console.emit()
        console.print_table(
            table.columns,
            table.rows,
            title=table.title,
            markdown=markdown,
            csv=csv,
            width=table.width,
        )
        if not csv:
            for text in table.notes:
                console.emit(("\n" if markdown else "") + text)


def run_document(results: Results, written: list[Path]) -> dict[str, object]:
    """Return what ``--json`` prints of a finished sweep."""
    from sweeper.arms import arms_table, moves_of
    from sweeper.result_tables import front_table, line_table

    arms = arms_table(results)
    current = results.trial("current")
    return {
        "sweep": results.address,
        "folder": results.folder,
        "n_trials": len(results.trials),
        "n_queries": len(results.golden),
        "current": current,
        "line": table_document(line_table(results), current),
        "front": table_document(front_table(results), current),
        "arms": [] if arms is None else table_document(arms, current),
        "moves": [{**move._asdict(), "verdict": move.verdict} for move in moves_of(results)],
        "files": written,
    }


def table_document(table: Table, current: int) -> list[dict[str, object]]:
    """Return a table's rows as objects; those of one trial each say which, and if it is today's."""
    keys = [column.key or column.header for column in table.columns]
    rows: list[dict[str, object]] = [dict(zip(keys, row, strict=True)) for row in table.rows]
    if not table.trials:
        return rows
    if not table.feasible:
        return [
            {"trial": number, "is_current": number == current, **row}
            for number, row in zip(table.trials, rows, strict=True)
        ]
    return [
        {"trial": number, "is_current": number == current, "feasible": fine, **row}
        for number, fine, row in zip(table.trials, table.feasible, rows, strict=True)
    ]
