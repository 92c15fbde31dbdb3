"""Usage logs from and to files: what was offered for a question, and what of it was cited.

| noun | spellings (case, spaces and hyphens do not matter) |
| --- | --- |
| question | ``question query``, else ``text q query_text`` |
| offered | ``offered shown``, else ``pages`` |
| cited | ``cited used citations`` |
| time | ``time at timestamp`` |

What a log means stands in ``prior``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from sweeper.corpus import parse_instant
from sweeper.errors import InputError, Problem, Problems
from sweeper.files import read_text, write_atomically
from sweeper.formats.records import FORMATS, parse_source
from sweeper.formats.spellings import Columns, Field, find_rows, number_rows
from sweeper.formats.values import Record, Value, WrongValue, as_text, describe, listed, quoted
from sweeper.golden import Key
from sweeper.prior import Interaction, UsageLog

__all__ = ["USAGE_FIELDS", "read_usage", "write_usage"]

USAGE_FIELDS = (
    Field("question", ("question", "query"), weak=("text", "q", "query_text"), required=True),
    Field("offered", ("offered", "shown"), weak=("pages",), required=True),
    Field("cited", ("cited", "used", "citations"), required=True),
    Field("time", ("time", "at", "timestamp"), required=True),
)

_WRAPPER = "interactions"
_REMEDIES = {
    "question": "Give the question as it was asked.",
    "offered": "Give the pages that were shown, the first position first, or [] for none.",
    "cited": "Give the offered pages that were used, or [] for none.",
    "time": "Give the time at which it was asked.",
}


def read_usage(
    path: str | Path,
    *,
    fields: Mapping[str, str] | None = None,
    name: str = "NAME",
    written: str | None = None,
) -> UsageLog:
    """Read a usage log: rows of ``{"question", "offered", "cited", "time"}``.

    ``offered`` and ``cited`` are lists of keys (one key may stand alone), ``time`` is ISO 8601 or
    Unix seconds; without a time zone it is UTC. Rows may stand in any order. Fields that look like
    nothing known are left alone. Unlike a golden set, a log may be empty: nobody has asked yet, and
    an empty file, or one without rows, is the empty log.

    Parameters
    ----------
    path
        JSONL, or JSON: a list, bare or under ``"interactions"``.
    fields
        Noun (``question``, ``offered``, ...) to the name of the field that holds it.
    name, written
        What a config calls the log, and its path there: for messages.

    Raises
    ------
    InputError
        With every problem of the file, each with its line and remedy.
    """
    text = read_text(path, allow_empty=True)
    if not text.strip():
        return UsageLog()
    source = parse_source(text, path)
    if source.format not in ("jsonl", "json"):
        raise InputError(_wrong_format(path))
    if source.data in ([], {_WRAPPER: []}):
        return UsageLog()
    spellings = {name for field in USAGE_FIELDS for name in (*field.spellings, *field.weak)}
    rows = find_rows(
        source.data,
        (_WRAPPER,),
        path=source.path,
        holds=_WRAPPER,
        row_fields=spellings | set((fields or {}).values()),
    )
    columns = Columns(
        rows,
        USAGE_FIELDS,
        explicit=fields,
        path=source.path,
        role=f"usage.{name}",
        written=written,
    )
    return _Reader(columns).log(rows)


def _wrong_format(path: str | Path) -> Problem:
    return Problem("a usage log is JSONL or JSON. Convert it, and call it .jsonl.", str(path))


class _Reader:
    """Reads rows one by one, collecting problems."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.problems = Problems(columns.path)

    def log(self, rows: Sequence[Record]) -> UsageLog:
        self.columns.report_conflicts(rows, self.problems)
        self.misspelt = self.columns.report_typos(rows, self.problems)
        self.places = number_rows(rows)
        interactions = [found for row in rows if (found := self.interaction(row)) is not None]
        self.problems.raise_if_any()
        return UsageLog(tuple(interactions))

    def interaction(self, row: Record) -> Interaction | None:
        question = self.text(row, "question")
        offered = self.pages(row, "offered")
        cited = self.cited(row, offered)
        at = self.time(row)
        if question is None or offered is None or cited is None or at is None:
            return None
        return Interaction(question, offered, cited, at)

    def add(self, row: Record, noun: str, message: str) -> None:
        self.problems.add(
            f"{self.columns.label(noun)} {message}", line=row.line, where=self.places.get(id(row))
        )

    def value(self, row: Record, noun: str) -> Value:
        """Return a row's value; ``None`` where it is absent, which is reported unless misspelt."""
        value = self.columns.get(row, noun)
        if value is None and (id(row), noun) not in self.misspelt:
            self.add(row, noun, f"is missing. {_REMEDIES[noun]}")
        return value

    def text(self, row: Record, noun: str) -> str | None:
        value = self.value(row, noun)
        if value is None:
            return None
        try:
            if isinstance(value, str) and not value.strip():
                raise WrongValue(f"is empty. {_REMEDIES[noun]}")
            return as_text(value)
        except WrongValue as error:
            self.add(row, noun, str(error))
            return None

    def pages(self, row: Record, noun: str) -> tuple[Key, ...] | None:
        value = self.value(row, noun)
        if value is None:
            return None
        try:
            return _keys(value, _REMEDIES[noun])
        except WrongValue as error:
            self.add(row, noun, str(error))
            return None

    def cited(self, row: Record, offered: Sequence[Key] | None) -> tuple[Key, ...] | None:
        keys = self.pages(row, "cited")
        if keys is None or offered is None:
            return None
        strangers = [quoted(key) for key in keys if key not in offered]
        if not strangers:
            return keys
        be = "was" if len(strangers) == 1 else "were"
        self.add(
            row,
            "cited",
            f"names {listed(strangers)}, which {be} not offered. Correct the key, or add it to "
            f"{self.columns.label('offered')} where it stood.",
        )
        return None

    def time(self, row: Record) -> datetime | None:
        text = self.text(row, "time")
        if text is None:
            return None
        instant = parse_instant(text)
        if instant is None:
            self.add(
                row,
                "time",
                f"must be an ISO 8601 date or time, e.g. 2026-11-01T09:30:00Z, or Unix seconds, "
                f"got {quoted(text)}.",
            )
        return instant


def _keys(value: Value, remedy: str) -> tuple[Key, ...]:
    keys: list[Key] = []
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, str):
            raise WrongValue(f"must hold keys (text), got {describe(item)}. {remedy}")
        if not item.strip():
            raise WrongValue(f"holds an empty key. {remedy}")
        keys.append(str(item))
    twice = [key for key in dict.fromkeys(keys) if keys.count(key) > 1]
    if twice:
        raise WrongValue(f"names {listed([quoted(key) for key in twice])} twice. Name a page once.")
    return tuple(keys)


def write_usage(log: UsageLog, path: str | Path) -> None:
    """Write a usage log that ``read_usage`` reads back equal. Replaces the file atomically.

    Parameters
    ----------
    log
        What to write; times are written in UTC.
    path
        A list if it ends in ``.json``, else JSONL.

    Raises
    ------
    InputError, StorageError
        If the file cannot be written, or its name is of another format.
    """
    kind = FORMATS.get(Path(path).suffix.lower(), "jsonl")
    rows = [json.dumps(_row(each), ensure_ascii=False) for each in log.interactions]
    if kind == "jsonl":
        write_atomically(path, "".join(row + "\n" for row in rows))
    elif kind == "json":
        write_atomically(path, "[\n" + ",\n".join("  " + row for row in rows) + "\n]\n")
    else:
        raise InputError(_wrong_format(path))


def _row(interaction: Interaction) -> dict[str, object]:
    return {
        "question": interaction.question,
        "offered": interaction.offered,
        "cited": interaction.cited,
        "time": interaction.at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    }
