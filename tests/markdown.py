"""Markdown that is written by programs: tables, and pages with marked places for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["filled", "table"]


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int | None = None
) -> str:
    """Return a Markdown table whose cells are Markdown already.

    Parameters
    ----------
    header, rows
        Texts.
    numbers
        Columns from this one on hold numbers and go to the right.
    """
    left = len(header) if numbers is None else numbers
    rule = ["---" if place < left else "--:" for place in range(len(header))]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in (header, rule, *rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def filled(page: str, parts: Mapping[str, str]) -> str:
    """Return a page with its marked places filled; each part has one, and each place a part.

    A place begins with ``<!-- generated: name -->`` and ends with ``<!-- end of generated -->``.
    """
    start, end = "<!-- generated: {} -->\n", "<!-- end of generated -->"
    for name, text in parts.items():
        before, mark, rest = page.partition(start.format(name))
        _, stop, after = rest.partition(end)
        if not mark or not stop:
            raise ValueError(f"the page has no marked place for {name!r}")
        page = f"{before}{mark}\n{text}\n{stop}{after}"
    if page.count(end) != len(parts):
        raise ValueError(f"the page has {page.count(end)} marked places for {len(parts)} parts")
    return page
