"""Rows of a golden set that state one question together, and keys that may be none.

Spreadsheets and joins write a question and one of its documents per row. Read as questions of their
own, each would miss what the others expect. Rows are one question where they have the same id and
text; without ids, where text, slice, user and filter are the same and the expected keys are not. A
question that is asked again with the same keys stays as often as it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from sweeper.formats.values import Record, listed, quoted
from sweeper.golden import Key, Query

__all__ = ["doubts", "merge_repeats"]

_Report = Callable[[Record, str], None]


def merge_repeats(
    read: Sequence[tuple[Record, Query]], *, by_id: bool, report: _Report
) -> tuple[list[Query], int]:
    """Put rows of one question together.

    Parameters
    ----------
    read
        Each row with the question that it states alone, in file order.
    by_id
        Whether the file has ids. If not, the questions that are left are to be numbered anew.
    report
        Called with a row and what contradicts the rows above it.

    Returns
    -------
    tuple of list of Query and count
        The questions in the order of their first rows, and how many rows were added to others.
    """
    groups: dict[object, list[tuple[Record, Query]]] = {}
    for row, query in read:
        groups.setdefault(query.query_id if by_id else _asked(query), []).append((row, query))
    found: list[Query] = []
    n_added = 0
    for group in groups.values():
        first = group[0][1]
        if not by_id and all(_same(query, first) for _, query in group):
            found += [query for _, query in group]
            continue
        for row, query in group[1:]:
            problem = _contradiction(first, query)
            if problem is not None:
                report(row, problem)
            else:
                first = _together(first, query)
                n_added += 1
        found.append(first)
    return found, n_added


def _asked(query: Query) -> object:
    return query.text, query.slice, query.user, tuple(sorted(query.filter.items())), query.label


def _same(a: Query, b: Query) -> bool:
    return set(a.expected) == set(b.expected) and a.grades == b.grades and a.judged == b.judged


def _contradiction(first: Query, query: Query) -> str | None:
    name = f"the question {quoted(first.query_id)}"
    if _asked(first) != _asked(query):
        return f"{name} has another slice, user, filter or class in a row above. Keep one of them."
    if not first.expected or not query.expected:
        return f"{name} expects nothing in one row and something in another. Keep one of them."
    for key in (*query.expected, *query.judged):
        before, here = _worth(first, key), _worth(query, key)
        if before is not None and before != here:
            return f"{name} grades {quoted(key)} otherwise in a row above. Keep one of them."
    return None


def _worth(query: Query, key: Key) -> float | None:
    """Return the grade of a key; 0 where it is judged and not expected, ``None`` where unknown."""
    if key in query.judged:
        return 0.0
    return query.grades.get(key, 1.0) if key in query.expected else None


def _together(first: Query, query: Query) -> Query:
    return replace(
        first,
        expected=tuple(dict.fromkeys((*first.expected, *query.expected))),
        grades={**first.grades, **query.grades},
        judged=tuple(dict.fromkeys((*first.judged, *query.judged))),
    )


_BLANK = r"[\s\u200b\ufeff]"
_DOUBTS = {
    "begin or end with a blank": re.compile(rf"{_BLANK}.*|.*{_BLANK}", re.DOTALL),
    "a spreadsheet has rounded": re.compile(r"[0-9](?:[.,][0-9]+)?E\+[0-9]{2,}"),
    "a data frame has made fractions (7.0 for 7)": re.compile(r"[0-9]+\.0"),
    "look like texts, not like ids of documents": re.compile(r"(?:\S+\s+){4,}\S+"),
    "stand in single quotes": re.compile(r"'.*'", re.DOTALL),
}
_LIST = {"look like lists (| parts the keys of a cell)": re.compile(r"[^\s,]+(?:, ?[^\s,]+)+")}


def doubts(queries: Sequence[Query], *, is_table: bool) -> list[str]:
    """Return what looks wrong of expected keys that no corpus can confirm."""
    keys = list(dict.fromkeys(key for query in queries for key in query.expected))
    notes = []
    for what, shape in {**_DOUBTS, **(_LIST if is_table else {})}.items():
        found = [quoted(key, limit=40) for key in keys if shape.fullmatch(key)]
        if found:
            shown = listed(found, limit=3)
            notes.append(f"expected keys that {what}, {len(found)} of {len(keys)}: {shown}.")
    return notes
