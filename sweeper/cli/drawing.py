"""Tables drawn for people, on a terminal of any width and encoding."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Sequence
from typing import TextIO

from rich.box import SIMPLE_HEAD, Box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sweeper.cli.console import encodable, fits, no_color
from sweeper.tables import Column, plain

__all__ = ["drawn_table"]

_ASCII_HEAD = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


def drawn_table(columns: Sequence[Column], rows: Sequence[Sequence[object]], stream: TextIO) -> str:
    """Return a table as lines of text that suit a stream."""
    headers = [encodable(plain(column.header), stream) for column in columns]
    cells = [
        [encodable(c.text(value), stream) for c, value in zip(columns, row, strict=True)]
        for row in rows
    ]
    encoding = getattr(stream, "encoding", None) or "utf-8"
    table = Table(
        box=SIMPLE_HEAD if fits("\u2500", encoding) else _ASCII_HEAD,
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    width = _width(stream)
    limits = _column_limits(columns, headers, cells, width)
    for column, header, limit in zip(columns, headers, limits, strict=True):
        table.add_column(
            Text(header),
            justify=column.justify,
            overflow="fold",
            max_width=limit,
            vertical="bottom",
        )
    for line in cells:
        table.add_row(*(Text(cell) for cell in line))
    styled = stream.isatty() and not no_color() and os.environ.get("TERM") != "dumb"
    out = io.StringIO()
    Console(
        file=out,
        width=width,
        force_terminal=styled,
        color_system="standard" if styled else None,
        legacy_windows=False,
        _environ={},
    ).print(table, crop=False)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


_NO_LIMIT = 10_000
_GAP = 3  # between two columns of the box in use
_NARROWEST = 12


def _width(stream: TextIO) -> int:
    if stream.isatty():
        return max(40, shutil.get_terminal_size().columns)
    columns = os.environ.get("COLUMNS", "")
    return max(40, int(columns)) if columns.isdecimal() else _NO_LIMIT


def _column_limits(
    columns: Sequence[Column], headers: list[str], cells: list[list[str]], width: int
) -> list[int | None]:
    """Return how wide each column may be, so that numbers never break and long words fold."""
    longest = []
    for place, header in enumerate(headers):
        words = header.split() + [word for line in cells for word in line[place].split()]
        longest.append(max((len(word) for word in words), default=1))
    text = [place for place, column in enumerate(columns) if column.justify == "left"]
    taken = sum(longest) - sum(longest[place] for place in text) + _GAP * (len(columns) - 1)
    share = max(_NARROWEST, (width - taken) // max(1, len(text)))
    return [
        share if place in text and longest[place] > share else None for place in range(len(columns))
    ]
