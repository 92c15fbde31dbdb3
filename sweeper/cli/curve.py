"""``sweep curve``: the exact curve of one knob, every step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import Assignments, ResultsFolder, changed, opened
from sweeper.cli.run import print_tables, table_document
from sweeper.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from sweeper.results import Results

__all__ = ["curve"]


def curve(
    sweep: Annotated[str, typer.Argument(help="A folder, a name (its latest), or name/id.")],
    knob: Annotated[
        str, typer.Option(help="rrf_k, min_similarity, recency_half_life_days, or weights.CHANNEL.")
    ] = "recency_half_life_days",
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric, or figure such as entity.recall@10, that is shown and drawn; by default "
            "the objectives, and the first one's metric."
        ),
    ] = None,
    trial: Annotated[
        str, typer.Option(help="The trial that gives the other knobs: number, id, arm, or current.")
    ] = "current",
    settings: Assignments = None,
    plot: Annotated[bool, typer.Option(help="Draw the staircase.")] = True,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File name of the plot, without ending.")
    ] = None,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print every step as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print every step as CSV.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Compute every figure along one knob exactly: no step is missed.

    For example: sweep curve recency --knob recency_half_life_days
    """
    from sweeper.curves import asked_curve, margin_sentences, plateau_table, steps_table
    from sweeper.knobs import knob_name
    from sweeper.margins import margins_of
    from sweeper.report import file_stem

    found, knob = opened(sweep, results), knob_name(knob)
    base = changed(found, trial, settings)
    shown = _shown(found, metric)
    try:
        line = asked_curve(found, knob, base)
        margins = margins_of(line, found.replay, base.on_axis(knob))
    except InputError as error:
        raise InputError(f"--knob: {error}") from error
    except ValueError as error:
        raise InputError(f"--knob: {error}.") from error
    sentences = margin_sentences(margins, knob)
    if json:
        console.print_json(
            "sweep.curve/1",
            {
                "sweep": found.address,
                "knob": knob,
                "settings": base.as_dict(),
                "underflow": line.underflow,
                "unsettled": [found.golden.queries[q].query_id for q in line.unsettled],
                "margins": margins,
                "steps": table_document(steps_table(line, []), found.trial("current")),
            },
        )
        return
    if csv:
        table = steps_table(line, [])
        console.print_table(table.columns, table.rows, csv=True)
        return
    console.emit("\n".join([sentences[0] + ":", *(f"  {text}" for text in sentences[1:])]))
    console.emit()
    tables = [plateau_table(line, address) for address in shown]
    print_tables(tables, markdown=markdown)
    console.emit()
    console.emit(f"{len(line.edges)} steps; --csv or --json prints them all.")
    if plot:
        from sweeper.pictures import draw_staircase
        from sweeper.plots import save

        chosen = shown[0].rpartition(".")[2]
        ax = draw_staircase(found, line, chosen)
        if out is None:
            today = found.settings[found.trial("current")]
            other = [] if base == today else [base.trial_id[:6]]  # or today's would be overwritten
            out = found.folder / "plots" / file_stem("exact", knob, chosen, *other)
        for path in save(ax, out):
            console.emit(str(path))


def _shown(found: Results, metric: str | None) -> list[str]:
    """Return the figures whose plateaus are printed; the first one's metric is drawn."""
    objectives = [item.address for item in found.objectives]
    if metric is None:
        return list(dict.fromkeys(objectives))
    figures = [str(address) for address in found.wide().columns]
    if metric in figures:
        return [metric]
    metrics = [str(item) for item in found.metrics]
    if metric in metrics:
        return list(dict.fromkeys(f"{item.rpartition('.')[0]}.{metric}" for item in objectives))
    hint = did_you_mean(metric, figures if "." in metric else metrics)
    raise InputError(f'--metric: "{metric}" was not recorded. {hint}')
