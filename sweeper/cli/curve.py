"""``sweep curve``: the exact curve of one knob, every step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.cli.run import ResultsFolder, print_tables, table_document
from sweeper.errors import InputError, Problem, did_you_mean

if TYPE_CHECKING:
    from sweeper.knobs import Settings, Value

__all__ = ["assigned", "curve"]

Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--settings", help="Change a knob of the setting: rrf_k=20.", metavar="KNOB=VALUE"
    ),
]


def curve(
    sweep: Annotated[str, typer.Argument(help="A folder, a name (its latest), or name/id.")],
    knob: Annotated[
        str, typer.Option(help="rrf_k, min_similarity, recency_half_life_days, or weights.CHANNEL.")
    ] = "recency_half_life_days",
    metric: Annotated[
        str | None, typer.Option(help="What is drawn; the first objective's metric by default.")
    ] = None,
    trial: Annotated[
        str, typer.Option(help="The trial that gives the other knobs: number, id, or current.")
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
    from sweeper.curves import cells_frame, curve_of, margin_sentences, plateau_table, steps_table
    from sweeper.margins import margins_of
    from sweeper.report import file_stem
    from sweeper.results import load

    found = load(sweep, root=results)
    base = assigned(found.settings[found.trial(trial)], settings or [])
    texts = [str(item) for item in found.metrics]
    chosen = metric or found.objectives[0].address.rpartition(".")[2]
    if chosen not in texts:
        raise InputError(f'--metric: "{chosen}" was not recorded. {did_you_mean(chosen, texts)}')
    known = ["rrf_k", "min_similarity", "recency_half_life_days"]
    known += [f"weights.{channel}" for channel in found.replay.of(base).pool.channels]
    if knob not in known:
        raise InputError(f'--knob: "{knob}" has no exact curve. {did_you_mean(knob, known)}')
    try:
        line = curve_of(found, knob, base)
        margins = margins_of(line, found.replay, base.get(knob))
    except ValueError as error:
        raise InputError(f"--knob {knob}: {error}.") from error
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
    tables = [plateau_table(line, item.address) for item in found.objectives]
    print_tables(tables, markdown=markdown)
    console.emit()
    console.emit(f"{len(line.edges)} steps; --csv or --json prints them all.")
    if plot:
        from sweeper.plots import plot_staircase, save

        frame = cells_frame(line, found.replay, chosen)
        shape = line.knob
        ax = plot_staircase(frame, knob=shape, metric=chosen, current=base.get(knob))
        stem = out if out is not None else found.folder / "plots" / file_stem("exact", knob, chosen)
        for path in save(ax, stem):
            console.emit(str(path))


def assigned(base: Settings, texts: list[str]) -> Settings:
    """Return settings with some knobs changed by texts such as ``rrf_k=20``."""
    from sweeper.knobs import knob

    values: dict[str, Value] = {}
    for text in texts:
        name, sign, raw = text.partition("=")
        if not sign:
            raise InputError(f'--settings "{text}": write knob=value, for example rrf_k=20.')
        try:
            values[name.strip()] = knob(name.strip()).parse(raw)
        except KeyError as error:
            raise InputError(Problem(str(error.args[0]), where="--settings")) from error
        except ValueError as error:
            raise InputError(Problem(str(error), where=f"--settings {name.strip()}")) from error
    return base.with_values(values)
