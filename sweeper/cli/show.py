"""``sweep show``: the tables of a finished sweep again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import ResultsFolder, opened
from sweeper.cli.run import print_results, print_tables, run_document, table_document
from sweeper.errors import InputError, did_you_mean

__all__ = ["show"]

_LONGEST_HORIZON = 36_500.0


def show(
    sweep: Annotated[
        str, typer.Argument(help="A folder, a name (its latest), name/id, or name/id#7.")
    ],
    trial: Annotated[
        str | None, typer.Option(help="One trial: its number, its id, an arm, or current.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--slice", help="One slice of the trial.", metavar="SLICE")
    ] = None,
    queries: Annotated[
        bool, typer.Option("--queries", help="List the trial's questions and their positions.")
    ] = False,
    top: Annotated[
        int | None, typer.Option(help="List so many settings, best first objective first.")
    ] = None,
    knob: Annotated[
        str | None, typer.Option(help="The knob of the first table.", metavar="KNOB")
    ] = None,
    ties: Annotated[
        bool, typer.Option("--ties", help="How far each figure hangs on the order of tied rows.")
    ] = False,
    horizon: Annotated[
        list[float] | None,
        typer.Option(help="What is left after some days of unchanged content.", metavar="DAYS"),
    ] = None,
    judging: Annotated[
        bool,
        typer.Option("--judging", help="Ceilings, what to label, what the ranges cannot show."),
    ] = False,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    csv: Annotated[
        bool,
        typer.Option(
            "--csv", help="Print CSV in full precision: every trial, or what is asked for."
        ),
    ] = False,
) -> None:
    """Show a finished sweep: its tables, or any one trial.

    For example: sweep show recency, or: sweep show recency --trial 12 --queries
    """
    from sweeper.bounds import expiry_table, judging_of, judging_table, labels_table, ties_table
    from sweeper.knobs import knob_name
    from sweeper.result_tables import (
        line_table,
        queries_table,
        slice_table,
        top_table,
        trials_table,
    )

    address, _, number = sweep.partition("#")
    found = opened(address, results)
    chosen = trial or number or None
    if top is not None and top < 1:
        raise InputError(f"--top: must be at least 1, got {top}.")
    if chosen is None and (group is not None or queries):
        chosen = "current"
    knob = None if knob is None else knob_name(knob)
    if knob is not None and knob not in found.varied_knobs:
        raise InputError(f'--knob: "{knob}" did not vary. {did_you_mean(knob, found.varied_knobs)}')
    if group is not None and group not in set(found.figures["slice"]):
        known = list(dict.fromkeys(found.figures["slice"]))
        raise InputError(f'--slice: no slice "{group}". {did_you_mean(group, known)}')
    if sum([ties, horizon is not None, judging, queries, top is not None, knob is not None]) > 1:
        raise InputError(
            "--ties, --horizon, --judging, --queries, --top and --knob: one at a time."
        )
    for day in horizon or ():
        if not 0 <= day <= _LONGEST_HORIZON:
            raise InputError(
                f"--horizon: must be a number of days from 0 to {_LONGEST_HORIZON:g}, got {day:g}."
            )
    base = found.settings[found.trial(chosen or "current")]
    if ties:
        tables = [ties_table(found, base)]
    elif horizon is not None:
        tables = [expiry_table(found, base, horizon)]
    elif judging:
        pool = judging_of(found, base)
        tables = [labels_table(found, pool) if csv else judging_table(found, base, pool)]
        if json:
            tables.append(labels_table(found, pool))
    elif chosen is not None:
        place = found.trial(chosen)
        tables = [
            queries_table(found, place, group) if queries else slice_table(found, place, group)
        ]
    elif top is not None:
        tables = [top_table(found, top)]
    elif knob is not None:
        tables = [line_table(found, knob)]
    elif json:
        console.print_json("sweep.show/1", run_document(found, []))
        return
    elif csv:
        tables = [trials_table(found)]
    else:
        print_results(found, markdown=markdown)
        return
    if json:
        current = found.trial("current")
        rows = [row for table in tables for row in table_document(table, current)]
        console.print_json("sweep.rows/1", {"sweep": found.address, "rows": rows})
    else:
        print_tables(tables, markdown=markdown, csv=csv)
