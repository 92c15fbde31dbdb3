"""``sweep plot``: one plot of a finished sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import ResultsFolder, opened
from sweeper.errors import InputError, did_you_mean

__all__ = ["plot"]


def plot(
    sweep: Annotated[str, typer.Argument(help="A folder, a name (its latest), or name/id.")],
    x: Annotated[
        str | None, typer.Option(help="Figure on the x axis, e.g. entity.recall@10.")
    ] = None,
    y: Annotated[str | None, typer.Option(help="Figure on the y axis, e.g. freshness.mrr.")] = None,
    knob: Annotated[
        str | None, typer.Option(help="Draw one knob's curve per slice instead.", metavar="KNOB")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="With --knob: draw a heat map over both knobs.", metavar="KNOB"),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="With --knob: the metric (mrr), or with --by the figure (overall.mrr)."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File name without ending; .png and .svg are written."),
    ] = None,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Draw one plot as PNG and SVG.

    For example: sweep plot recency --x entity.recall@10 --y freshness.mrr
    """
    from sweeper.knobs import knob_name
    from sweeper.plots import save
    from sweeper.report import file_stem

    found = opened(sweep, results)
    knob, by = (None if name is None else knob_name(name) for name in (knob, by))
    for option, name in (("--knob", knob), ("--by", by)):
        if name is not None and name not in found.varied_knobs:
            hint = did_you_mean(name, found.varied_knobs)
            raise InputError(f'{option}: "{name}" did not vary. {hint}')
    if by is not None and by == knob:
        raise InputError(f"--by: give another knob than {knob}.")
    objective = found.objectives[0].address
    if knob is None:
        if by is not None or metric is not None:
            raise InputError("--by and --metric go with --knob.")
        planned = [*found.manifest["plots"], {"x": x, "y": y}][0]
        x, y = x or planned["x"], y or planned["y"]
        if x is None or y is None:
            raise InputError(
                "give --x and --y, for example --x entity.recall@10 --y freshness.mrr."
            )
        ax = found.plot_tradeoff(x, y)
        stem = file_stem("tradeoff", y, x)
    elif x is not None or y is not None:
        raise InputError("give either --x and --y, or --knob.")
    elif by is None:
        metric = metric or objective.rpartition(".")[2]
        ax = found.plot_knob_curve(metric, name=knob)
        stem = file_stem("curve", knob, metric)
    else:
        metric = metric or objective
        ax = found.plot_heatmap(metric, rows=by, columns=knob)
        stem = file_stem("heatmap", metric, by, knob)
    paths = save(ax, out if out is not None else found.folder / "plots" / stem)
    if json:
        console.print_json("sweep.plot/1", {"sweep": found.address, "files": paths})
        return
    for path in paths:
        console.emit(str(path))
