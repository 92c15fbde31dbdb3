"""The report of a sweep: its tables as Markdown, and its plots beside them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sweeper.arms import arms_table, moves_of, moves_tables, verdict_table
from sweeper.files import write_atomically
from sweeper.knobs import knob
from sweeper.result_tables import Table, front_table, line_table
from sweeper.results import Results
from sweeper.tables import figure_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # noqa: TID251 (for an annotation alone)

__all__ = ["facts_of", "file_stem", "markdown_report", "result_tables", "write_report"]


def result_tables(results: Results) -> list[Table]:
    """Return what ``sweep run`` shows: the arms, a knob through today's setting, the front.

    A sweep that has no space shows its arms alone.
    """
    arms = arms_table(results)
    tables = []
    if arms is not None:
        moves = moves_of(results)
        tables = [arms, *moves_tables(results, moves), verdict_table(results, moves)]
    if not arms or len(results.line()) > 1:
        tables.append(line_table(results))
    if not arms or results.manifest["spec"]["config"].get("space"):
        tables.append(front_table(results))
    return tables


def markdown_report(results: Results, images: Sequence[tuple[str, str]] = ()) -> str:
    """Return the report of a sweep.

    Parameters
    ----------
    results
        A finished sweep.
    images
        Caption and file name of each plot, relative to the report.
    """
    manifest = results.manifest
    facts = facts_of(results)
    parts = [f"# {manifest['name']}", "".join(f"- {fact}\n" for fact in facts)]
    parts += [table.markdown() for table in result_tables(results)]
    parts += [f"![{caption}]({name})" for caption, name in images]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def facts_of(results: Results) -> list[str]:
    """Say in short what was swept, with what the embedder can show."""
    manifest = results.manifest
    provenance = manifest["pool"]["provenance"]
    engine = provenance.get("engine", {})
    n_entries = manifest["corpus"]["n_entries"]
    facts = [
        f"{len(results.trials)} settings, {manifest['golden']['n_queries']} questions"
        + (f", {n_entries} entries" if n_entries else ""),
        f"current: {results.current_settings.text}",
    ]
    if "embedder" in engine:
        facts.append(f"embedder: {engine['embedder']}")
    if "as_of" in provenance:
        facts.append(f"ages measured from {provenance['as_of']}")
    if str(engine.get("embedder", "")).startswith("hash"):
        facts.append(
            "The embedder is lexical: it proves that a change regresses nothing and cannot show "
            "what a real model gains."
        )
    return facts


def write_report(results: Results) -> list[Path]:
    """Draw the sweep's plots and write ``report.md`` beside them.

    Returns
    -------
    list of Path
        Every file written, the report first.
    """
    from sweeper.plots import save

    folder = results.folder / "plots"
    written: list[Path] = []
    images: list[tuple[str, str]] = []
    for caption, stem, draw in _plots(results):
        paths = save(draw(), folder / stem)
        written += paths
        image = next(path for path in paths if path.suffix == ".png")
        images.append((caption, f"plots/{image.name}"))
    path = results.folder / "report.md"
    write_atomically(path, markdown_report(results, images))
    return [path, *written]


def _plots(results: Results) -> Iterator[tuple[str, str, Callable[[], Axes]]]:
    """Yield caption, file stem and how to draw it, for each plot that the sweep has."""
    for plot in results.manifest["plots"]:
        x, y = plot["x"], plot["y"]
        caption = f"{figure_label(y)} against {figure_label(x)}"
        yield caption, file_stem("tradeoff", y, x), partial(results.plot_tradeoff, x, y)
    name = results.manifest["table"]["knob"]
    first = results.objectives[0].address
    if name is not None and len(results.line(name)) > 1:
        metric = first.rpartition(".")[2]
        yield (
            f"{metric} along {knob(name).label}",
            file_stem("curve", name, metric),
            partial(results.plot_knob_curve, metric, name=name),
        )
    counts = {n: len(results.line(n)) for n in results.varied_knobs}
    widest = sorted((n for n in counts if counts[n] > 1), key=lambda n: -counts[n])[:2]
    # Named settings alone are two lines that cross, and no plane.
    if len(widest) == 2 and len(results.plane(*widest)) > sum(counts[n] for n in widest) - 1:
        columns, rows = widest
        caption = f"{figure_label(first)} over {knob(rows).label} and {knob(columns).label}"
        yield (
            caption,
            file_stem("heatmap", first, rows, columns),
            partial(results.plot_heatmap, first, rows=rows, columns=columns),
        )


def file_stem(*parts: str) -> str:
    """Return a file name that any system accepts, distinct for distinct parts."""
    text = "_".join(re.sub(r"[^A-Za-z0-9.-]+", "-", part).strip("-") for part in parts)
    exact = "_".join(parts).replace("@", "-").replace("_", "-")
    if text.replace("_", "-") != exact or len(text) > 100:
        text = f"{text[:90]}-{hashlib.sha256(exact.encode()).hexdigest()[:6]}"
    return text
