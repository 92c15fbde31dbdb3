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
    groups: dict[object, list[int]] = {}
    for place, (_, query) in enumerate(read):
        groups.setdefault(query.query_id if by_id else _asked(query), []).append(place)
    found: dict[int, Query] = {}
    n_added = 0
    for places in groups.values():
        first = read[places[0]][1]
        if not by_id and all(_same(read[place][1], first) for place in places):
            found.update((place, read[place][1]) for place in places)
            continue
        together = _Together(first)
        for row, query in (read[place] for place in places[1:]):
            problem = together.add(query)
            if problem is not None:
                report(row, problem)
            else:
                n_added += 1
        found[places[0]] = together.query()
    return [found[place] for place in sorted(found)], n_added


def _asked(query: Query) -> object:
    return query.text, query.slice, query.user, tuple(sorted(query.filter.items())), query.label


def _same(a: Query, b: Query) -> bool:
    return set(a.expected) == set(b.expected) and a.grades == b.grades and a.judged == b.judged


class _Together:
    """What the rows of one question say together."""

    def __init__(self, first: Query) -> None:
        self.first = first
        self.worth = _worth(first)
        self.grades = dict(first.grades)

    def add(self, query: Query) -> str | None:
        """Add what a further row says; return instead what contradicts the rows above it."""
        name = f"the question {quoted(self.first.query_id)}"
        if _asked(self.first) != _asked(query):
            return (
                f"{name} has another slice, user, filter or class in a row above. Keep one of them."
            )
        if bool(self.first.expected) != bool(query.expected):
            return f"{name} expects nothing in one row and something in another. Keep one of them."
        worth = _worth(query)
        for key, grade in worth.items():
            if self.worth.get(key, grade) != grade:
                return f"{name} grades {quoted(key)} otherwise in a row above. Keep one of them."
        self.worth.update(worth)
        self.grades.update(query.grades)
        return None

    def query(self) -> Query:
        return replace(
            self.first,
            expected=tuple(key for key, grade in self.worth.items() if grade > 0),
            grades=self.grades,
            judged=tuple(key for key, grade in self.worth.items() if grade <= 0),
        )


def _worth(query: Query) -> dict[Key, float]:
    """Return the grade of each key; 0 where it is judged and not expected."""
    return {
        **{key: query.grades.get(key, 1.0) for key in query.expected},
        **dict.fromkeys(query.judged, 0.0),
    }


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
