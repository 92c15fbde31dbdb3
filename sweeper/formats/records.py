"""Any JSON, JSONL, CSV, TSV or YAML file as located records. What a record means is in ``formats``.

| format | extensions | values |
| --- | --- | --- |
| JSON | ``.json`` | one document; numbers keep the text that was typed |
| JSONL | ``.jsonl .ndjson .jl`` | an object a line; blank, ``#`` and ``//`` lines skipped |
| CSV, TSV | ``.csv .tsv .tab`` | a header, then rows as written; see below for what is skipped |
| Parquet | ``.parquet .pq`` | as JSONL, see ``parquet``; a line is a row |
| YAML | ``.yaml .yml`` | one document; scalars keep the text that was typed |

Any other extension: the content decides. Of a table are skipped: empty rows, ``sep=;``, columns
without a name that are empty (Excel) or number the rows from 0 (the index of a data frame), and
the blank after each delimiter where the header has one too.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from sweeper.errors import InputError, Problem, Problems
from sweeper.files import MAX_LINE_BYTES, read_text
from sweeper.formats.json_text import JsonLines, parse_json
from sweeper.formats.parquet import PARQUET, is_parquet, parquet_lines
from sweeper.formats.values import Bare, Malformed, Record, Value, describe, quoted
from sweeper.formats.yaml_text import YamlDocument, load_yaml

__all__ = [
    "FORMATS",
    "Format",
    "Source",
    "YamlDocument",
    "load_yaml",
    "parse_source",
    "read_source",
    "source_text",
]

Format: TypeAlias = Literal["json", "jsonl", "csv", "tsv", "yaml"]

FORMATS: dict[str, Format] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jl": "jsonl",
    **dict.fromkeys(PARQUET, "jsonl"),
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".yaml": "yaml",
    ".yml": "yaml",
}
"""File extension (lower case) to format."""


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed file. ``data`` is a list of records for JSONL, CSV and TSV, else the document."""

    path: str
    format: Format
    data: Value

    @property
    def is_table(self) -> bool:
        """Whether values are cells: one text that may have to hold a list."""
        return self.format in ("csv", "tsv")


def read_source(path: str | Path) -> Source:
    """Read and parse a data file.

    Parameters
    ----------
    path
        Its extension tells the format; see the table at the top of this module.

    Raises
    ------
    InputError
        If the file cannot be read or parsed: every broken line of a JSONL, CSV or TSV file, the
        first fault of any other, each with its line and remedy.
    """
    return parse_source(source_text(path), path)


def source_text(path: str | Path) -> str:
    """Return the text of a data file, that of Parquet as JSON lines.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    return parquet_lines(path) if is_parquet(path) else read_text(path)


def parse_source(text: str, path: str | Path) -> Source:
    """Parse the text of a data file; ``path`` gives the format and the name in messages.

    Raises
    ------
    InputError
        See ``read_source``.
    """
    kind = FORMATS.get(Path(path).suffix.lower()) or _sniff(text, path)
    if kind == "jsonl":
        return Source(str(path), kind, _parse_jsonl(text, path))
    if kind in ("csv", "tsv"):
        return Source(str(path), kind, _parse_table(text, path, _delimiter(text, kind)))
    if kind == "yaml":
        return Source(str(path), kind, load_yaml(text, path).value)
    try:
        return Source(str(path), kind, parse_json(text))
    except Malformed as error:
        raise InputError(Problem(error.message, str(path), error.line)) from error


def _sniff(text: str, path: str | Path) -> Format:
    lines = [line.strip() for line in text.split("\n", 100)[:100]]
    lines = [line for line in lines if line and not line.startswith(_COMMENTS)]
    first = lines[0] if lines else ""
    if first.startswith("{") and first.endswith("}") and len(lines) > 1:
        return "jsonl"
    if first.startswith(("{", "[")):
        return "json"
    if re.match(r"---$|- |[\w-]+:(?: |$)", first):
        return "yaml"
    if "\t" in first:
        return "tsv"
    if "," in first or ";" in first:
        return "csv"
    known = " ".join(FORMATS)
    raise InputError(
        Problem(f"its format cannot be told. Use one of these extensions: {known}.", str(path))
    )


_COMMENTS = ("#", "//")


def _parse_jsonl(text: str, path: str | Path) -> list[Value]:
    problems = Problems(path)
    parser = JsonLines()
    rows: list[Value] = []
    # Not splitlines(): it would also cut at U+2028 and others, which may stand inside a JSON text.
    for line, content in enumerate(text.split("\n"), start=1):
        content = content.strip(" \t\r")
        if not content or content.startswith(_COMMENTS):
            continue
        try:
            row = parser.parse(content, line)
        except Malformed as error:
            if not rows and _is_one_document(text):
                raise InputError(
                    Problem("is one JSON document, not rows. Call it .json.", str(path), line)
                ) from error
            if not rows and not problems and _is_spread(text):
                raise InputError(Problem(_SPREAD, str(path), line)) from error
            problems.add(_without_commas(error.message, content), line=line)
            continue
        if isinstance(row, Record):
            rows.append(row)
        else:
            problems.add(
                f"expected an object ({{...}}) on each line, got {describe(row)}.", line=line
            )
    problems.raise_if_any()
    return rows


_SPREAD = (
    "this object is spread over several lines, and JSONL has one on each. Write each on a line of "
    "its own (jq -c . does)."
)


def _is_spread(text: str) -> bool:
    """Whether a JSONL file holds objects that were printed with indentation."""
    _, brace, rest = text.partition("{")
    return bool(brace) and bool(re.match(r"[ \t\r]*\n\s*\"", rest))


def _is_one_document(text: str) -> bool:
    try:
        parse_json(text)
    except Malformed:
        return False
    return True


def _without_commas(message: str, content: str) -> str:
    if content.endswith(("},", "[", "]")):
        return "expected one object on each line. Remove the commas and brackets between rows."
    return message


_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
"""What Excel puts above a CSV to say its delimiter: ``sep=;``."""


def _delimiter(text: str, kind: Format) -> str:
    if kind == "tsv":
        return "\t"
    stated = _SEPARATOR_LINE.match(text)
    if stated:
        return stated[1]
    header = re.sub(r'"[^"]*"', "", text.split("\n", 1)[0])
    # The first of equals wins, so a header of one column is comma-separated.
    return max(",;\t|", key=header.count)


def _parse_table(text: str, path: str | Path, delimiter: str) -> list[Value]:
    # The limit is csv's guard against runaway quotes (128 KB); pages of text are longer. It is
    # global to the process, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    problems = Problems(path)
    header: list[str] = []
    # newline="": line ends inside quotes stay as they are.
    content = io.StringIO(text, newline="")
    line = first_line = header_line = 1
    separator = _SEPARATOR_LINE.match(text)
    if separator:
        content.readline()
        line = first_line = 2
    spaced = _is_spaced(text[separator.end() :] if separator else text, delimiter)
    reader = csv.reader(content, delimiter=delimiter, strict=True, skipinitialspace=spaced)
    table: list[tuple[int, list[str]]] = []
    uneven = 0
    try:
        for cells in reader:
            if not any(cells):
                pass  # a blank line, or the empty rows that spreadsheets append
            elif not header:
                header = cells
                header_line = line
            elif len(cells) != len(header):
                problems.add(_wrong_length(len(cells), len(header)), line=line)
                uneven += 1
            else:
                table.append((line, cells))
            line = reader.line_num + first_line
    except csv.Error as error:
        problems.add(_csv_message(error), line=line)
    n_names = sum(bool(name.strip()) for name in header)
    if n_names == 1 and (
        uneven
        if len(header) == 1 and not table
        else table and header[0].strip() and len(header) > 1
    ):
        raise InputError(Problem(_NO_HEADER, str(path), header_line))
    header = _without_nameless(header, table)
    if header:
        _check_header(header, header_line, problems)
    problems.raise_if_any()
    return [Record(line, zip(header, map(Bare, cells), strict=True)) for line, cells in table]


_NO_HEADER = (
    "the first line holds one cell and the rows hold more. It is taken for the header, which names "
    "the columns: remove what stands above the header."
)


def _is_spaced(text: str, delimiter: str) -> bool:
    """Whether a blank follows every delimiter of the header: ``id, query, expected``."""
    header = next((line for line in text.split("\n", 10) if delimiter in line), "")
    cells = header.split(delimiter)[1:]
    return delimiter in ",;|" and all(cell.startswith(" ") for cell in cells)


def _without_nameless(header: list[str], table: list[tuple[int, list[str]]]) -> list[str]:
    """Drop the columns without a name that hold nothing, or the index of a data frame."""
    gone = [
        at
        for at, name in enumerate(header)
        if not name.strip()
        and table
        and (
            not any(cells[at].strip() for _, cells in table)
            or (at == 0 and _are_row_numbers([cells[0] for _, cells in table]))
        )
    ]
    for at in reversed(gone):
        for _, cells in table:
            del cells[at]
    return [name for at, name in enumerate(header) if at not in gone]


def _are_row_numbers(cells: list[str]) -> bool:
    """Whether cells may be the index of a data frame, of which rows may have been dropped."""
    return all(cell.isdecimal() for cell in cells) and len(set(cells)) == len(cells)


def _check_header(header: list[str], line: int, problems: Problems) -> None:
    for number, name in enumerate(header, start=1):
        if not name.strip():
            remedy = "Name it, or remove it."
            if number == 1:
                remedy += " Of a data frame it is the index: write it with index=False."
            problems.add(f"column {number} has no name. {remedy}", line=line)
    for name in dict.fromkeys(name for name in header if name and header.count(name) > 1):
        problems.add(f"two columns are called {quoted(name)}. Rename one.", line=line)


def _wrong_length(n_cells: int, n_columns: int) -> str:
    remedy = "Quote a cell that holds the delimiter." if n_cells > n_columns else "Add the rest."
    cells = "1 cell" if n_cells == 1 else f"{n_cells} cells"
    return f"this row has {cells}, the header has {n_columns}. {remedy}"


def _csv_message(error: csv.Error) -> str:
    if "unexpected end of data" in str(error):
        return 'a quote that opens in this row is never closed. Close it, or write "" for a quote.'
    return f'this row is not valid CSV: {error}. Write "" for a quote inside a quoted cell.'
