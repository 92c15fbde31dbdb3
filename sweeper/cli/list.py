"""``sweep list``: past sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sweeper.cli import console
from sweeper.cli.options import ResultsFolder

__all__ = ["list_sweeps"]


def list_sweeps(
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """List the sweeps under the results folder, the latest last."""
    from sweeper.store import past_sweeps

    rows = [
        (
            f"{m.get('name', folder.parent.name)}/{folder.name}",
            _state(folder, m),
            m.get("n_trials"),
            m.get("golden", {}).get("n_queries"),
            str(m.get("started", ""))[:16].replace("T", " "),
        )
        for folder, m in past_sweeps(results)
    ]
    if json:
        keys = ("sweep", "status", "n_trials", "n_queries", "started")
        document = [dict(zip(keys, row, strict=True)) for row in rows]
        console.print_json("sweep.list/1", {"sweeps": document})
    elif not rows and not csv:
        console.note(f"There are no sweeps under {results} yet. Start with: sweep run CONFIG")
    else:
        console.print_table(_COLUMNS, rows, markdown=markdown, csv=csv)


def _state(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Return a sweep's status; one that nobody runs any more was interrupted."""
    from sweeper.store import is_locked

    status = str(manifest.get("status", "unreadable"))
    return "interrupted" if status == "running" and not is_locked(folder) else status


_COLUMNS = (
    console.Column("sweep"),
    console.Column("status"),
    console.Column("settings", "right", key="n_trials"),
    console.Column("questions", "right", key="n_queries"),
    console.Column("started (UTC)", key="started"),
)
