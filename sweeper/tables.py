"""Tables as text: what a column is, Markdown and HTML for reading, CSV for programs.

Drawing on a terminal is in ``cli``.
"""

from __future__ import annotations

import csv as csv_format
import html
import io
import math
import numbers
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "UNSAFE",
    "Column",
    "csv_table",
    "decimals",
    "figure_label",
    "html_table",
    "html_text",
    "markdown_table",
    "metric_label",
    "plain",
    "signed",
]

# Control characters (C0, DEL, C1), line separators, bidirectional overrides and lone surrogates.
UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What could steer a terminal or hide text, if it were printed."""


def plain(text: object, *, keep: str = "") -> str:
    r"""Return text in which whatever could steer a terminal is written out.

    Parameters
    ----------
    text
        Anything; its ``str`` is taken.
    keep
        Control characters that may stay, such as a newline in a message of several lines.

    Examples
    --------
    >>> plain("a\x1b[31mred")
    'a\\x1b[31mred'
    """

    def escape(match: re.Match[str]) -> str:
        found = match[0]
        return found if found in keep else ascii(found)[1:-1]

    return UNSAFE.sub(escape, str(text))


def figure_label(address: str) -> str:
    """Return the address of a figure, or a metric's name alone, as people write it.

    Examples
    --------
    >>> figure_label("entity.recall@10"), figure_label("freshness.mrr"), figure_label("ndcg@5")
    ('entity recall@10', 'freshness MRR', 'nDCG@5')
    """
    group, dot, metric = address.rpartition(".")
    return f"{group}{' ' if dot else ''}{metric_label(metric)}"


_SPELLINGS = {"mrr": "MRR", "ndcg": "nDCG", "ap": "AP"}


def metric_label(metric: str) -> str:
    """Return a metric's name as people write it.

    Examples
    --------
    >>> metric_label("ndcg@5"), metric_label("citation_precision")
    ('nDCG@5', 'citation precision')
    """
    name, at, cutoff = metric.partition("@")
    return f"{_SPELLINGS.get(name, name.replace('_', ' '))}{at}{cutoff}"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    header
        Shown to people.
    justify
        Numbers go to the right.
    format
        Turns a value into text; by default floats have four decimals and what is missing is "-".
    key
        The header in CSV, where ``header`` is not a good name.
    whole
        Whether its text is never folded, such as names that people look for.
    """

    header: str
    justify: Literal["left", "right"] = "left"
    format: Callable[[Any], str] | None = None
    key: str = ""
    whole: bool = False

    def text(self, value: object) -> str:
        """Return the cell as people read it, on one line."""
        return plain(_shown(value) if self.format is None else self.format(value))


def decimals(places: int) -> Callable[[Any], str]:
    """Return a format for numbers with so many decimals; what is missing is "-".

    Examples
    --------
    >>> decimals(2)(0.666), decimals(2)(float("nan")), decimals(2)(-0.001)
    ('0.67', '-', '0.00')
    """

    def text(value: Any) -> str:
        if _missing(value):
            return "-"
        shown = f"{float(value):.{places}f}"
        return shown.removeprefix("-") if float(shown) == 0 else shown

    return text


_four_decimals = decimals(4)


def signed(value: Any) -> str:
    """Return a difference with its sign and four decimals.

    Examples
    --------
    >>> signed(0.25), signed(-0.25), signed(0.00001)
    ('+0.2500', '-0.2500', '0.0000')
    """
    text = _four_decimals(value)
    return f"+{text}" if text != "-" and float(text) > 0 else text


def _missing(value: Any) -> bool:
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, numbers.Real) and math.isnan(value)


def _shown(value: Any) -> str:
    if _missing(value):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return _four_decimals(value)
    return str(value)


def csv_table(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV: full precision, empty where a value is missing."""
    out = io.StringIO()
    writer = csv_format.writer(out, lineterminator="\n")
    writer.writerow([column.key or column.header for column in columns])
    for row in rows:
        writer.writerow([_raw(value) for value in row])
    return out.getvalue()


def _raw(value: Any) -> object:
    if _missing(value):
        return ""
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return float(value)
    return value


def markdown_table(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a table as Markdown; text is escaped, so that it shows as it is.

    Examples
    --------
    >>> print(markdown_table([Column("id"), Column("n", "right")], [("a|b", 3)]), end="")
    | id | n |
    | --- | --: |
    | a\|b | 3 |
    """
    lines = [[_escape_markdown(column.header) for column in columns]]
    lines.append(["--:" if column.justify == "right" else "---" for column in columns])
    for row in rows:
        cells = zip(columns, row, strict=True)
        lines.append([_escape_markdown(column.text(value)) for column, value in cells])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


# An underscore inside a word is not emphasis, so the many snake_case names stay readable.
_MARKDOWN = re.compile(r"[\\`*\[\]<&|~]|(?<![^\W_])_|_(?![^\W_])")


def _escape_markdown(text: str) -> str:
    return _MARKDOWN.sub(lambda match: "\\" + match[0], text)


def html_text(text: object) -> str:
    r"""Return text as HTML shows it: nothing in it is markup, and nothing steers or hides.

    Examples
    --------
    >>> html_text('<b> & "c"\x1b')
    '&lt;b&gt; &amp; &quot;c&quot;\\x1b'
    """
    return html.escape(plain(text))


def html_table(
    columns: Sequence[Column], rows: Iterable[Sequence[object]], *, caption: str | None = None
) -> str:
    """Return a table as HTML without colours, sizes or scripts; text is escaped.

    Parameters
    ----------
    columns
        Headers and cells of those that go to the right have the class ``right``; those of columns
        that are never folded have the class ``whole``.
    rows
        One value per column.
    caption
        Shown with the table, if given.

    Examples
    --------
    >>> print(html_table([Column("id"), Column("n", "right")], [("a<b", 3)]), end="")
    <table>
    <thead>
    <tr><th scope="col">id</th><th scope="col" class="right">n</th></tr>
    </thead>
    <tbody>
    <tr><td>a&lt;b</td><td class="right">3</td></tr>
    </tbody>
    </table>
    """
    heads = [
        f'<th scope="col"{_html_class(column)}>{html_text(column.header)}</th>'
        for column in columns
    ]
    lines = ["<table>"]
    if caption is not None:
        lines.append(f"<caption>{html_text(caption)}</caption>")
    lines += ["<thead>", f"<tr>{''.join(heads)}</tr>", "</thead>", "<tbody>"]
    for row in rows:
        cells = [
            f"<td{_html_class(column)}>{html_text(column.text(value))}</td>"
            for column, value in zip(columns, row, strict=True)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    lines += ["</tbody>", "</table>"]
    return "".join(f"{line}\n" for line in lines)


def _html_class(column: Column) -> str:
    names = [
        *(["right"] if column.justify == "right" else []),
        *(["whole"] if column.whole else []),
    ]
    return f' class="{" ".join(names)}"' if names else ""
