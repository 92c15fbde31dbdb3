"""Tables drawn for people, on a terminal of any width and encoding."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Sequence
from typing import TextIO

from rich.box import SIMPLE_HEAD, Box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sweeper.cli.console import encodable, fits, no_color
from sweeper.tables import Column, plain

__all__ = ["drawn_table"]

_ASCII_HEAD = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


def drawn_table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[object]],
    stream: TextIO,
    width: int | None = None,
) -> str:
    """Return a table as lines of text that suit a stream, or are as wide where it does not say.

    Where a cell takes several lines, the others of its row stand on the first.
    """
    headers = [encodable(plain(column.header), stream) for column in columns]
    cells = [
        [encodable(c.text(value), stream) for c, value in zip(columns, row, strict=True)]
        for row in rows
    ]
    encoding = getattr(stream, "encoding", None) or "utf-8"
    available = _width(stream, width)
    widths, gap = _column_widths(columns, headers, cells, available)
    table = Table(
        box=SIMPLE_HEAD if fits("\u2500", encoding) else _ASCII_HEAD,
        padding=(0, gap - 2, 0, 1) if gap > 1 else 0,
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    for column, header, own in zip(columns, headers, widths, strict=True):
        table.add_column(
            Text(header), justify=column.justify, overflow="fold", width=own, vertical="bottom"
        )
    for line in cells:
        table.add_row(*(_Cell(cell) for cell in line))
    styled = stream.isatty() and not no_color() and os.environ.get("TERM") != "dumb"
    out = io.StringIO()
    Console(
        file=out,
        width=max(available, sum(widths) + gap * len(widths)),
        force_terminal=styled,
        color_system="standard" if styled else None,
        legacy_windows=False,
        _environ={},
    ).print(table, crop=False)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


class _Cell(Text):
    """Text that stands at the top of its row, while headers stand at the bottom."""

    vertical = "top"


_NO_LIMIT = 10_000
_GAPS = (3, 2)  # between two columns, where there is room and where there is not
_NARROWEST = 12


def _width(stream: TextIO, wanted: int | None) -> int:
    if stream.isatty():
        return max(40, shutil.get_terminal_size().columns)
    columns = os.environ.get("COLUMNS", "")
    return max(40, int(columns)) if columns.isdecimal() else wanted or _NO_LIMIT


def _column_widths(
    columns: Sequence[Column], headers: list[str], cells: list[list[str]], available: int
) -> tuple[list[int], int]:
    """Return the width of each column, and of the gap between two.

    Where there is little room headers break between words, then text folds. A number never breaks,
    nor does a word of a header: a line that is too long is better.
    """
    widest = [
        max((cell_len(line[place]) for line in cells), default=0) for place in range(len(columns))
    ]
    wanted = [max(own, cell_len(head)) for own, head in zip(widest, headers, strict=True)]
    least = [
        max(own, *(cell_len(word) for word in head.split() or [""]))
        for own, head in zip(widest, headers, strict=True)
    ]
    for widths in (wanted, least):
        for gap in _GAPS:
            if sum(widths) + gap * (len(columns) - 1) <= available:
                return widths, gap
    long = [
        place
        for place, column in enumerate(columns)
        if column.justify == "left" and least[place] > _NARROWEST and not column.whole
    ]
    gap = _GAPS[-1]
    taken = sum(least) - sum(least[place] for place in long) + gap * (len(columns) - 1)
    for place in sorted(long, key=lambda place: least[place]):  # what a short one leaves is shared
        share = max(_NARROWEST, (available - taken) // len(long))
        least[place] = min(least[place], share)
        taken += least[place]
        long = long[1:]
    return least, gap
