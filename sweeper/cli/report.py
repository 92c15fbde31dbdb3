"""``sweep report``: a finished sweep as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import (
    Horizon,
    Maximize,
    PickPolicy,
    Policy,
    ResultsFolder,
    SubjectTo,
    opened,
)
from sweeper.errors import InfeasibleError

__all__ = ["report"]


def report(
    sweep: Annotated[str, typer.Argument(help="A folder, a name (its latest), or name/id.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Where to write it; report.html of the sweep unless given."
        ),
    ] = None,
    maximize: Maximize = None,
    subject_to: SubjectTo = None,
    policy: PickPolicy = Policy.supported,
    horizon: Horizon = 90.0,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a report that any browser opens: the recommendation, trade-offs, every question.

    It is one HTML file that needs no network. For example: sweep report recency
    """
    from sweeper.page import require_room, write_html_report

    found = opened(sweep, results)
    require_room(found)  # before what takes long
    with console.progress("Writing the report"):
        try:
            answer = found.pick(
                objectives=maximize,
                constraints=subject_to,
                policy=policy.value,
                horizon_days=horizon,
            )
        except InfeasibleError as error:
            console.warn(f"no recommendation: {error}")
            path = write_html_report(found, problem=str(error), path=out)
        else:
            path = write_html_report(found, answer, path=out)
    if json:
        document = {"sweep": found.address, "file": path, "bytes": path.stat().st_size}
        console.print_json("sweep.report/1", document)
        return
    console.emit(str(path))
