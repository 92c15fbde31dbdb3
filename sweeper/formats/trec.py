"""TREC runs: ranked lists in six columns, read as trec_eval reads them, written so that it can.

A line is ``query Q0 document rank score tag``. Judgments (qrels) are in ``qrels``, the questions
themselves in ``topics``.

JSON by query and document, ``{query: {document: score}}``, is a run too: pytrec_eval, ranx and BEIR
hold theirs so.

Reading: any run of blanks separates columns; empty lines and lines that start with ``#`` are
skipped. The score alone orders rows, as in trec_eval; the rank column may count from 0, from 1 or
be anything. Rows of equal score stay in the order of the file (trec_eval puts the higher document
id first). Of a document that a query has twice, the better row counts.

Writing: scores are n, n - 1, ..., 1. They say nothing but the order, and say it to any reader:
trec_eval keeps 32-bit floats, in which close scores of a fusion would be ties.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeAlias
from urllib.parse import quote

from sweeper.errors import InputError, Problem, Problems
from sweeper.files import read_text
from sweeper.formats.json_text import parse_json
from sweeper.formats.values import Bare, Malformed, Record, counted, quoted
from sweeper.golden import Key, QueryId

__all__ = [
    "TREC_NUMBER",
    "Row",
    "TrecRun",
    "columns_of",
    "encode_id",
    "looks_like_run",
    "parse_run",
    "read_run",
    "refuse_as",
    "run_text",
    "trec_id_problem",
]

Row: TypeAlias = tuple[Key, float]

TREC_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
"""What is read as a score or a grade: a decimal number, all of it."""

_N_COLUMNS = 6
_COLUMN = re.compile(r"[^ \t\r\f\v]+")  # parted by what isspace() of C knows, as in trec_eval
_RANK = re.compile(r"[0-9]{1,9}")
_EXACT_IN_32_BITS = 2**24


@dataclass(frozen=True, slots=True)
class TrecRun:
    """One run file.

    Attributes
    ----------
    rows
        Per query, documents with their scores, best first; a document is there once.
    n_repeated
        Rows left out because their query has the document with a better score.
    n_tied
        Rows whose score equals that of the row before them: their order is the file's.
    n_contradicted
        Queries in which the rank column orders rows otherwise than the score does.
    digest
        SHA-256 of the content.
    """

    rows: Mapping[QueryId, tuple[Row, ...]]
    n_repeated: int
    n_tied: int
    n_contradicted: int
    digest: str

    @property
    def n_rows(self) -> int:
        return sum(map(len, self.rows.values()))


def read_run(path: str | Path) -> TrecRun:
    """Read a TREC run file.

    Raises
    ------
    InputError
        If it cannot be read or is another kind of file; else with every line at fault.
    """
    return parse_run(read_text(path), path)


def parse_run(text: str, path: str | Path) -> TrecRun:
    """Parse the text of a run; ``path`` only names it in messages.

    Raises
    ------
    InputError
        As ``read_run`` does.
    """
    problems = Problems(path)
    found: dict[QueryId, list[Row]] = {}
    ranks: dict[QueryId, list[str]] = {}
    for line, columns in _by_document(text, path) or columns_of(text):
        if len(columns) != _N_COLUMNS:
            if not found and not problems and len(columns) not in (_N_COLUMNS - 1, _N_COLUMNS + 1):
                refuse_as("a TREC run", "query Q0 document rank score tag", text, path)
            problems.add(_wrong_length(len(columns)), line=line)
            continue
        query_id, _, key, rank, score, _ = columns
        number = float(score) if TREC_NUMBER.fullmatch(score) else math.nan
        if not math.isfinite(number):
            problems.add(
                f"the score {quoted(score)} is no finite number. "
                "The fifth column orders the rows: give each one a number.",
                line=line,
            )
            continue
        found.setdefault(query_id, []).append((key, number))
        ranks.setdefault(query_id, []).append(rank)
    if not found and not problems:
        problems.add("has no rows: every line is empty or a comment. Give at least one.")
    problems.raise_if_any()
    ordered = {query_id: _best_first(rows) for query_id, rows in found.items()}
    return TrecRun(
        rows=ordered,
        n_repeated=sum(len(rows) - len(ordered[q]) for q, rows in found.items()),
        n_tied=sum(a == b for rows in ordered.values() for (_, a), (_, b) in _pairs(rows)),
        n_contradicted=sum(_contradicts(ranks[q], rows) for q, rows in found.items()),
        digest=hashlib.sha256(text.encode()).hexdigest(),
    )


def _by_document(text: str, path: str | Path) -> list[tuple[int, list[str]]] | None:
    """Return the rows of a run that JSON holds by query and document; ``None`` for other files."""
    if not re.match(r"\s*\{\s*\"(?:[^\"\\]|\\.)*\"\s*:\s*\{", text):
        return None
    try:
        data = parse_json(text)
    except Malformed as error:
        raise InputError(Problem(error.message, str(path), error.line)) from error
    rows: list[tuple[int, list[str]]] = []
    for query_id, results in data.items() if isinstance(data, Record) else ():
        if not isinstance(results, Record):
            return None
        for key, score in results.items():
            if not isinstance(score, Bare):
                return None
            rows.append((results.line, [query_id, "Q0", key, "", score, ""]))
    return rows


def columns_of(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and columns of each line that is neither empty nor a ``#`` comment."""
    for line, content in enumerate(text.split("\n"), start=1):
        columns = _COLUMN.findall(content)
        if columns and not columns[0].startswith("#"):
            yield line, columns


def looks_like_run(text: str) -> bool:
    """Return whether the first rows of a text are those of a run."""
    head = list(itertools.islice(columns_of(text), 5))
    return bool(head) and all(
        len(columns) == _N_COLUMNS and TREC_NUMBER.fullmatch(columns[4]) for _, columns in head
    )


def refuse_as(wanted: str, shape: str, text: str, path: str | Path) -> NoReturn:
    """Refuse a file that is no such thing, saying what it looks like."""
    line, columns = next(columns_of(text))
    first = text.split("\n")[line - 1].strip()
    raise InputError(
        Problem(
            f"is not {wanted}: this line has {counted(len(columns), 'column')} and looks like "
            f"{_resemblance(first, columns)}. Give a file whose lines are: {shape}.",
            str(path),
            line,
        )
    )


def run_text(results: Mapping[QueryId, Iterable[Key]], tag: str) -> str:
    """Write ranked lists as a run that every reader orders as they stand.

    Parameters
    ----------
    results
        Per query, keys best first. A key that comes again is left out: a run has a document once.
    tag
        Names the run in the last column.

    Raises
    ------
    ValueError
        If an id or the tag cannot stand in a column, or a query has more than 16,777,216 rows.
    """
    lines = []
    for text in (tag, *results):
        _check_id(text)
    for query_id, keys in results.items():
        distinct = dict.fromkeys(keys)
        if len(distinct) > _EXACT_IN_32_BITS:
            raise ValueError(f"query {query_id!r} has more than {_EXACT_IN_32_BITS} rows")
        for place, key in enumerate(distinct):
            _check_id(key)
            lines.append(f"{query_id} Q0 {key} {place + 1} {len(distinct) - place} {tag}\n")
    return "".join(lines)


def trec_id_problem(text: str) -> str | None:
    """Return why a text cannot be an id of a TREC file; ``None`` if it can.

    Examples
    --------
    >>> trec_id_problem("a b"), trec_id_problem("docs/a")
    ('it holds white space', None)
    """
    if not text:
        return "it is empty"
    if re.search(r"[\s\0]", text):
        return "it holds white space"
    if text.startswith("#"):
        return "a line that starts with # is a comment"
    return None


def encode_id(text: str) -> str:
    """Return an id that may stand in a TREC file: white space, ``%`` and a first ``#`` as ``%XX``.

    Examples
    --------
    >>> encode_id("my notes/50% off"), encode_id("#1")
    ('my%20notes/50%25%20off', '%231')
    """
    return re.sub(r"[\s\0%]|^#", lambda found: quote(found[0], safe=""), text)


def _check_id(text: str) -> None:
    problem = trec_id_problem(text)
    if problem is not None:
        raise ValueError(f"{text!r} cannot stand in a TREC file: {problem}")


def _wrong_length(n_columns: int) -> str:
    remedy = (
        "Replace the spaces within an id or a tag."
        if n_columns > _N_COLUMNS
        else "Is a column missing, the tag say?"
    )
    return (
        f"this line has {counted(n_columns, 'column')}, a run has six: "
        f"query Q0 document rank score tag. {remedy}"
    )


def _best_first(rows: Sequence[Row]) -> tuple[Row, ...]:
    best: dict[Key, float] = {}
    for key, score in sorted(rows, key=lambda row: -row[1]):  # stable: ties as in the file
        best.setdefault(key, score)
    return tuple(best.items())


def _contradicts(ranks: Sequence[str], rows: Sequence[Row]) -> bool:
    """Return whether rows ordered by their ranks have ascending scores; False without ranks."""
    if not all(_RANK.fullmatch(rank) for rank in ranks):
        return False
    by_rank = sorted(zip(map(int, ranks), (score for _, score in rows), strict=True))
    return any(a < b for (r, a), (s, b) in itertools.pairwise(by_rank) if r < s)


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    return itertools.pairwise(rows)


def _resemblance(line: str, columns: Sequence[str]) -> str:
    if line.startswith(("{", "[")):
        return "JSON (understood is {query: {document: score}})"
    if line.startswith("<"):
        return "TREC topics, or another markup"
    n_columns = len(columns)
    if n_columns == _N_COLUMNS and TREC_NUMBER.fullmatch(columns[4]):
        return "a TREC run (query Q0 document rank score tag)"
    if n_columns == 4 and TREC_NUMBER.fullmatch(columns[3]):
        return "qrels (query iteration document grade)"
    if n_columns == 3 and columns[2].isdecimal():
        return "qrels without the iteration, or a ranking without scores"
    if "," in line or ";" in line:
        return "CSV"
    if n_columns == 3 and "id" in columns[0]:
        return "BEIR's qrels, with a header"
    return "text"
