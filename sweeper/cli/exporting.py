"""``sweep export``: a trial's ranked lists and the golden set, for other tools."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import ResultsFolder, opened
from sweeper.errors import InputError

__all__ = ["export"]


class Format(enum.StrEnum):
    """What is written."""

    trec_run = "trec-run"
    qrels = "qrels"
    golden = "golden"


def export(
    sweep: Annotated[
        str, typer.Argument(help="A folder, a name (its latest), name/id, or name/id#7.")
    ],
    trial: Annotated[
        str | None, typer.Option(help="The trial of a run: its number, its id, an arm, or current.")
    ] = None,
    kind: Annotated[
        Format,
        typer.Option(
            "--format", help="A trial's ranked lists, the judgments, or the golden set (JSONL)."
        ),
    ] = Format.trec_run,
    out: Annotated[
        str, typer.Option("--out", "-o", help="File to write; - is stdout.", metavar="FILE")
    ] = "-",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    tag: Annotated[
        str | None, typer.Option(help="Last column of a run; sweep and trial id unless given.")
    ] = None,
    encode_ids: Annotated[
        bool, typer.Option("--encode-ids", help="Write white space in ids as %20 and so on.")
    ] = False,
    results: ResultsFolder = Path("results"),
) -> None:
    """Write a trial as a TREC run, or the golden set as qrels or JSONL.

    trec_eval orders the run exactly as the sweep did: scores fall from row to row.
    For example: sweep export recency --trial 12 --out trial-12.run
    """
    from sweeper.export import export_golden, export_qrels, export_run
    from sweeper.files import write_atomically

    address, _, number = sweep.partition("#")
    if kind is not Format.trec_run and (trial is not None or number or tag is not None):
        raise InputError(f"--trial and --tag go with --format trec-run, not {kind.value}.")
    if out != "-" and Path(out).exists() and not force:
        raise InputError(f"{out}: already there. Add --force to overwrite.")
    found = opened(address, results)
    if kind is Format.trec_run:
        done = export_run(found, trial or number or "current", tag=tag, encode_ids=encode_ids)
    elif kind is Format.qrels:
        done = export_qrels(found.golden, encode_ids=encode_ids)
    else:
        done = export_golden(found.golden)
    if out == "-":
        console.emit_file(done.text)
    else:
        write_atomically(out, done.text)
        console.note(f"{out}: {done.n_lines} lines")
    for note in done.notes:
        console.note(note)
