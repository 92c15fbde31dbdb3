"""``sweep capture``: ask the engine for the candidates of a sweep, and run no trial."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import ResultsFolder
from sweeper.cli.run import reporting
from sweeper.errors import InputError

__all__ = ["capture"]


def capture(
    config: Annotated[Path, typer.Argument(help="A config, such as configs/recency.yaml.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the pool here, too.", metavar="FILE"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing pool.")] = False,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a key of the config.", metavar="KEY=VALUE"),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ask again for what was captured before.")
    ] = False,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Capture the candidates of a sweep, and run no trial.

    What was captured is not asked again; the sweep goes on from there. With --out, others can sweep
    it without the engine (engine: {kind: pool, file: FILE}).
    For example: sweep capture configs/recency.yaml --out harbor.pool.parquet
    """
    from sweeper.capturing import capture_sweep
    from sweeper.config import load_config
    from sweeper.formats.values import counted

    if str(out) == "-":
        raise InputError("--out: a pool is no text. Name a file.")
    if out is not None and out.exists() and not force:
        raise InputError(f"{out}: already there. Add --force to overwrite.")
    loaded = load_config(config, overrides or ())
    with reporting() as progress:
        sweep, found = capture_sweep(loaded, root=results, out=out, fresh=fresh, progress=progress)
    rows = [
        {
            "capture": item.name or "current",
            "is_new": item.is_new,
            "questions": len(item.pool),
            "not_all_shown": len(item.not_all_shown),
            "channels": item.pool.channels,
            "depth": item.pool.depth,
            "rows": item.pool.n_rows,
            "digest": item.pool.digest,
            "file": out or item.path,
        }
        for item in found
    ]
    if json:
        console.print_json("sweep.capture/1", {"sweep": sweep, "captures": rows})
        return
    columns = (
        console.Column("capture"),
        console.Column("questions", "right"),
        console.Column("rows", "right"),
        console.Column("depth", "right"),
    )
    console.print_table(columns, [[row[column.header] for column in columns] for row in rows])
    console.emit()
    for row in rows:
        console.emit(f"  {row['file']}")
    n_kept = sum(not item.is_new for item in found)
    if n_kept:
        console.note(
            f"{n_kept} of {len(found)} had been captured before (ages as of "
            f"{found[0].pool.provenance.get('as_of') or 'no instant'}). --fresh asks again."
        )
    for item in found:
        if item.not_all_shown:
            console.note(
                f"{item.path}: the engine did not show all candidates of "
                f"{counted(len(item.not_all_shown), 'question')}; sweep run searches those live."
            )
