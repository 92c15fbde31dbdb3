"""``sweep capture``: ask the engine for the candidates of a sweep, and run no trial."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a key of the config.", metavar="KEY=VALUE"),
    ] = None,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Capture the candidates of a sweep, and run no trial.

    What was captured is not asked again; the sweep goes on from there. With --out, others can sweep
    it without the engine (engine: {kind: pool, file: FILE}).
    For example: sweep capture configs/recency.yaml --out harbor.pool.parquet
    """
    from sweeper.config import load_config
    from sweeper.formats.values import counted
    from sweeper.opening import open_sweep
    from sweeper.poolfile import write_pool
    from sweeper.sweep import address_of, planned

    if out is not None and out.exists() and not force:
        raise InputError(f"{out}: already there. Add --force to overwrite.")
    loaded = load_config(config, overrides or ())
    with reporting() as progress, open_sweep(loaded, root=results) as opened:
        if opened.black_box:
            raise InputError(
                f"{config}: the engine shows no candidates, so there is nothing to capture. "
                "sweep run asks it every setting."
            )
        trials = planned(loaded, opened.engine.channels).trials
        captures = opened.captures_of(trial.settings for trial in trials)
        if out is not None and len(captures) > 1:
            raise InputError(
                f"--out: this sweep captures {len(captures)} times, and one file holds one. Leave "
                "--out out: where each is kept is printed, in the order of the table."
            )
        owner = address_of(opened)
        found: list[dict[str, Any]] = []
        for item in captures:
            pool, asked = opened.pool(item, owner=owner, progress=progress)
            found.append(
                {
                    "capture": item.name or "today",
                    "asked": asked,
                    "questions": len(pool),
                    "questions_not_all_shown": len(pool.provenance.get("live_questions", ())),
                    "channels": pool.channels,
                    "depth": pool.depth,
                    "rows": pool.n_rows,
                    "digest": pool.digest,
                    "file": opened.pool_path(item, owner=owner),
                }
            )
            if out is not None:
                write_pool(out, pool)
                found[-1]["file"] = out
    if json:
        console.print_json("sweep.capture/1", {"sweep": owner, "captures": found})
        return
    columns = (
        console.Column("capture"),
        console.Column("questions", "right"),
        console.Column("rows", "right"),
        console.Column("depth", "right"),
    )
    console.print_table(columns, [[row[column.header] for column in columns] for row in found])
    console.emit()
    for row in found:
        console.emit(f"  {row['file']}")
    kept = sum(not row["asked"] for row in found)
    if kept:
        console.note(f"{kept} of {len(found)} had been captured before.")
    for row in found:
        if row["questions_not_all_shown"]:
            console.note(
                f"{row['file']}: the engine did not show all candidates of "
                f"{counted(row['questions_not_all_shown'], 'question')}; sweep run searches those "
                "live."
            )
