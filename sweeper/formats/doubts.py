"""What looks wrong in a golden set and may be meant: it is warned of, and read as it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sweeper.formats.values import counted, listed, quoted
from sweeper.golden import Key, Query

__all__ = ["asked_again", "odd_keys"]


def asked_again(queries: Sequence[Query]) -> str | None:
    """Return a note if questions are those of rows above but for what they expect.

    Spreadsheets and joins write a question and one of its documents per row. As questions of their
    own, each misses what the others expect.
    """
    expected: dict[object, list[frozenset[Key]]] = {}
    for query in queries:
        asked = query.text, query.slice, query.user, tuple(sorted(query.filter.items()))
        expected.setdefault(asked, []).append(frozenset(query.expected))
    n_again = sum(len(found) - 1 for found in expected.values() if len(set(found)) > 1)
    if not n_again:
        return None
    return (
        f"{counted(n_again, 'row')} with the question of a row above and other expected keys, each "
        "read as a question of its own. If they are one question, write all its keys in one row."
    )


_BLANK = r"[\s\u200b\ufeff]"
_DOUBTS = {
    "begin or end with a blank": re.compile(rf"{_BLANK}.*|.*{_BLANK}", re.DOTALL),
    "a spreadsheet has rounded": re.compile(r"[0-9](?:[.,][0-9]+)?[eE]\+[0-9]{2,}"),
    "a data frame has made fractions (7.0 for 7)": re.compile(r"[0-9]+\.0"),
    "look like texts, not like ids of documents": re.compile(r"(?:\S+\s+){4,}\S+"),
    "hold a line break": re.compile(r".*\n.*", re.DOTALL),
    "stand in single quotes": re.compile(r"'.*'", re.DOTALL),
}
_LIST = {"look like lists (| parts the keys of a cell)": re.compile(r"[^\s,]+(?:, ?[^\s,]+)+")}


def odd_keys(queries: Sequence[Query], *, is_table: bool) -> list[str]:
    """Return a note for each way in which expected keys look wrong that no corpus confirms."""
    keys = list(dict.fromkeys(key for query in queries for key in query.expected))
    notes = []
    for what, shape in {**_DOUBTS, **(_LIST if is_table else {})}.items():
        found = [quoted(key, limit=40) for key in keys if shape.fullmatch(key)]
        if found:
            shown = listed(found, limit=3)
            notes.append(f"expected keys that {what}, {len(found)} of {len(keys)}: {shown}.")
    return notes
