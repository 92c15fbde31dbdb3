"""Which field of a file holds what: common spellings, explicit names, typos, unknown shapes.

``Columns`` decides it once for all rows of a file. What the values mean is not known here.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NoReturn

from sweeper.errors import InputError, Problem, Problems, did_you_mean
from sweeper.formats.values import Bare, BareNull, Record, Value, describe, is_number, quoted

__all__ = [
    "Columns",
    "Field",
    "canonical",
    "field_names",
    "find_rows",
    "number_rows",
    "texts_by_id",
]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Field:
    """A noun and the names under which files give it, compared by ``canonical``.

    ``weak`` names count only in a file that uses none of ``spellings``: they often mean something
    else. A name that is close to one that is not ``guessed`` is no typo.
    """

    name: str
    spellings: tuple[str, ...]
    weak: tuple[str, ...] = ()
    required: bool = False
    guessed: bool = True


def field_names(rows: Iterable[Record]) -> list[str]:
    """Return the distinct field names of rows in the order in which they first appear."""
    return list(dict.fromkeys(chain.from_iterable(rows)))


def canonical(name: str) -> str:
    """Return a field name without its style: ``Expected IDs`` and ``expectedIds`` alike.

    Examples
    --------
    >>> canonical("expectedIds"), canonical(" Expected-IDs ")
    ('expected_ids', 'expected_ids')
    """
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-]+", "_", name).lower()


class Columns:
    """The fields of one file's rows.

    Parameters
    ----------
    rows
        All rows of the file.
    table
        The nouns that may occur.
    explicit
        Noun to field name, as the user wrote it in ``fields``. Such a noun has no other spelling.
    path, role
        Name the file, and what it is in a config (``golden``, ``usage.clicks``), in messages.
    written
        The path as the config has it, for what a message advises to write there; ``path`` unless
        given.

    Raises
    ------
    InputError
        If ``explicit`` names a noun or a field that does not exist, or if no row has a required
        noun.
    """

    def __init__(
        self,
        rows: Sequence[Record],
        table: Sequence[Field],
        *,
        explicit: Mapping[str, str] | None,
        path: str,
        role: str,
        written: str | None = None,
    ) -> None:
        self.path = path
        self.role = role
        self._written = path if written is None else written
        self.table = table
        self.explicit = dict(explicit or {})
        self.found = field_names(rows)
        self._check_explicit()
        self._names = {field.name: self._spellings(field) for field in table}
        claimed = {name for names in self._names.values() for name in names}
        self._typos = self._close_names(name for name in self.found if name not in claimed)
        self._check_shape(rows)
        alone = [name for name in self.found if name not in claimed]
        _LOG.info(
            "%s: read are %s; left alone: %s.",
            path,
            ", ".join(
                f"{name} as {noun}" if canonical(name) != noun else name
                for noun, names in self._names.items()
                for name in names
            ),
            ", ".join(alone[:30]) or "none",
        )

    def has(self, noun: str) -> bool:
        """Whether any row of the file has the noun."""
        return bool(self._names[noun])

    def is_weak(self, noun: str) -> bool:
        """Whether the noun was found under a name that often means something else."""
        strong = next(field.spellings for field in self.table if field.name == noun)
        names = self._names[noun]
        return noun not in self.explicit and any(canonical(name) not in strong for name in names)

    def label(self, noun: str) -> str:
        """The noun's field name in this file, quoted, for messages."""
        names = self._names[noun]
        return quoted(names[0] if len(names) == 1 else noun)

    def get(self, row: Record, noun: str) -> Value:
        """Return a row's value: ``None`` where it is absent or null, ``""`` where it is empty."""
        names = self._names[noun]
        if len(names) < 2:
            return row.get(names[0]) if names else None
        given = [row[name] for name in names if name in row]
        return next((value for value in given if not _is_blank(value)), given[0] if given else None)

    def report_conflicts(self, rows: Iterable[Record], problems: Problems) -> None:
        """Report rows that give one noun under two names with different values."""
        doubled = {noun: names for noun, names in self._names.items() if len(names) > 1}
        for row in rows if doubled else ():
            for noun, names in doubled.items():
                filled = [name for name in names if not _is_blank(row.get(name))]
                other = next((n for n in filled if row[n] != row[filled[0]]), None)
                if other is not None:
                    problems.add(
                        f"{quoted(filled[0])} and {quoted(other)} are both given and differ. "
                        f"Say which one counts: {self._option({noun: filled[0]})}.",
                        line=row.line,
                    )

    def report_typos(self, rows: Iterable[Record], problems: Problems) -> set[tuple[int, str]]:
        """Report each misspelt field once; return ``(id(row), noun)`` of what they explain."""
        lines: dict[str, list[int]] = {}
        explained: set[tuple[int, str]] = set()
        for row in rows if self._typos else ():
            for name, (noun, _) in self._typos.items():
                if name in row and not any(known in row for known in self._names[noun]):
                    lines.setdefault(name, []).append(row.line)
                    explained.add((id(row), noun))
        for name, found in lines.items():
            more = f" ({len(found)} rows)" if len(found) > 1 else ""
            noun, meant = self._typos[name]
            problems.add(
                f"unknown field {quoted(name)}{more}. Did you mean {quoted(meant)}? "
                f"If so, rename it; if not, name the right field: {self._option({noun: '...'})}.",
                line=found[0],
            )
        return explained

    def _check_explicit(self) -> None:
        nouns = [field.name for field in self.table]
        problems = Problems(self.path)
        for noun, name in self.explicit.items():
            where = f"{self.role}.fields.{noun}"
            if noun not in nouns:
                problems.add(f"is no field that is read. {did_you_mean(noun, nouns)}", where=where)
            elif name not in self.found:
                problems.add(
                    f"no row has a field {quoted(name)}. Fields found: {self._listed()}.",
                    where=where,
                )
        problems.raise_if_any()

    def _spellings(self, field: Field) -> list[str]:
        if field.name in self.explicit:
            return [self.explicit[field.name]]
        taken = set(self.explicit.values())
        free = [name for name in self.found if name not in taken]
        for spellings in (field.spellings, field.weak):
            names = [name for name in free if canonical(name) in spellings]
            if names:
                return sorted(names, key=lambda name: spellings.index(canonical(name)))
        return []

    def _close_names(self, unclaimed: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Map a field name that looks like a typo to its noun and the spelling that was meant."""
        meanings = {
            spelling: field.name
            for field in self.table
            if field.guessed and field.name not in self.explicit
            for spelling in field.spellings
            if len(spelling) > 3  # every short name is close to some other short name
        }
        typos: dict[str, tuple[str, str]] = {}
        for name in unclaimed:
            # 0.8: one slip in a word of five letters (qurey), none in one of four (test, text).
            close = difflib.get_close_matches(canonical(name), meanings, n=1, cutoff=0.8)
            if close:
                typos[name] = (meanings[close[0]], close[0])
        return typos

    def _check_shape(self, rows: Sequence[Record]) -> None:
        misspelt = {noun for noun, _ in self._typos.values()}
        missing = [
            field.name
            for field in self.table
            if field.required and not self._names[field.name] and field.name not in misspelt
        ]
        if not missing or not rows:
            return
        claimed = {name for names in self._names.values() for name in names}
        free = [name for name in self.found if name not in claimed]
        example = {noun: free[i] if i < len(free) else "..." for i, noun in enumerate(missing)}
        nouns = " and ".join(quoted(noun) for noun in missing)
        remark = ""
        if not claimed and all(isinstance(value, Bare) for value in rows[0].values()):
            remark = " If these are a row, put a line above it that names the columns."
            example = dict.fromkeys(missing, "...")
        elif "expected" in missing:
            remark = " What is expected are ids of documents, not texts."
        raise InputError(
            Problem(
                f"no field is known as {nouns}. Fields found: {self._listed()}.{remark} "
                f"Name yours, for example: {self._option(example)}.",
                self.path,
                rows[0].line,
            )
        )

    def _listed(self) -> str:
        return ", ".join(self.found[:30]) or "none"

    def _option(self, fields: Mapping[str, str]) -> str:
        shown = ", ".join(
            f"{noun}: {name}" for noun, name in (self.explicit | dict(fields)).items()
        )
        *outer, own = self.role.split(".", 1)
        text = f"{own}: {{path: {self._written}, fields: {{{shown}}}}}"
        return f"{outer[0]}: {{{text}}}" if outer else text


def find_rows(
    data: Value, wrappers: Sequence[str], *, path: str, holds: str, row_fields: Collection[str]
) -> list[Record]:
    """Return the rows of a document: bare, wrapped, by id, or a single one.

    Parameters
    ----------
    data
        ``[row, ...]``, ``{wrapper: ...}``, ``{id: row, ...}`` or one row.
    wrappers
        Names under which rows may stand, the most telling one first.
    path, holds
        The file, and what its rows are (``questions``), for messages.
    row_fields
        Names of which at least one stands in a row; tells a row from a wrapper.

    Raises
    ------
    InputError
        If there are no rows, or something else stands where they belong.
    """
    if isinstance(data, list):
        return _checked_rows(data, path, holds)
    if not isinstance(data, Record):
        _refuse(f"expected a list of {holds}, got {describe(data)}.", path)
    wrapped = sorted(
        (name for name in data if canonical(name) in wrappers),
        key=lambda name: wrappers.index(canonical(name)),
    )
    for name in wrapped:
        inner = data[name]
        if isinstance(inner, list | Record):
            return find_rows(inner, wrappers, path=path, holds=holds, row_fields=row_fields)
    if data and all(isinstance(row, Record) for row in data.values()):
        return _rows_by_id(data, path)
    if any(canonical(name) in row_fields for name in data):
        return [data]
    if wrapped:
        what = describe(data[wrapped[0]])
        _refuse(f"{quoted(wrapped[0])} is {what}. Give a list of {holds}.", path, data.line)
    found = ", ".join(data) or "none"
    return _refuse(
        f"no {holds} found. Put them under {quoted(wrappers[0])}, or in a list. "
        f"Fields found: {found}.",
        path,
        data.line,
    )


def texts_by_id(data: Value, names: Collection[str]) -> Record | None:
    """Return a document that maps ids to texts; ``None`` if it is another.

    Parameters
    ----------
    data
        The document.
    names
        Names of fields and wrappers. With one of them it is a row, or holds rows.
    """
    if not isinstance(data, Record) or not data or any(canonical(name) in names for name in data):
        return None
    return data if all(_is_text(text) for text in data.values()) else None


def _is_text(value: Value) -> bool:
    """Whether a value is a text, quoted or (in YAML) not, and no number."""
    if isinstance(value, BareNull) or not isinstance(value, str):
        return False
    return not is_number(value)


def number_rows(rows: Sequence[Record]) -> dict[int, str]:
    """Return ``id(row)`` to ``row 3`` for a file with several rows on one line, else nothing."""
    if len({row.line for row in rows}) == len(rows):
        return {}
    return {id(row): f"row {number}" for number, row in enumerate(rows, start=1)}


def _checked_rows(items: list[Value], path: str, holds: str) -> list[Record]:
    problems = Problems(path)
    rows: list[Record] = []
    for number, item in enumerate(items, start=1):
        if isinstance(item, Record):
            rows.append(item)
        else:
            line = rows[-1].line if rows else None
            problems.add(
                f"row {number} is {describe(item)}. Each row is an object with named fields.",
                line=line,
            )
    problems.raise_if_any()
    if not rows:
        _refuse(f"holds no {holds}. Give at least one.", path)
    return rows


def _rows_by_id(data: Record, path: str) -> list[Record]:
    """Turn ``{id: row}`` into rows that carry their id."""
    rows: list[Record] = []
    for key, row in data.items():
        assert isinstance(row, Record)
        own = next((value for name, value in row.items() if canonical(name) == "id"), None)
        if own is not None and own != key:
            _refuse(
                f"the row under {quoted(key)} has the id {describe(own)}. Keep one of them.",
                path,
                row.line,
            )
        rows.append(Record(row.line, {**row, "id": key}.items()))
    return rows


def _refuse(message: str, path: str, line: int | None = None) -> NoReturn:
    raise InputError(Problem(message, path, line))


def _is_blank(value: Value) -> bool:
    return value is None or value == ""
