"""What a data file holds before anyone says what it means: text, lists and located records.

Parsers (``json_text``, ``yaml_text``, ``records``) make these; ``formats`` gives them meaning.
Nothing here touches files.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

__all__ = [
    "MAX_DEPTH",
    "Bare",
    "BareNull",
    "Malformed",
    "Record",
    "Value",
    "WrongValue",
    "as_number",
    "as_optional_text",
    "as_text",
    "counted",
    "describe",
    "is_number",
    "listed",
    "no_text",
    "quoted",
]

MAX_DEPTH = 100
"""Deepest nesting of lists and objects that is read. Real files have fewer than ten levels."""

Value: TypeAlias = "str | bool | list[Value] | Record | None"
"""Any value of a file. Numbers are ``Bare`` text, so that ids keep their spelling."""


class Bare(str):
    """Text without quotes, exactly as written: a JSON number, a plain YAML scalar, a CSV cell.

    It is an id where an id belongs (``001``, ``1e5``) and a number where a number belongs.
    """

    __slots__ = ()


class BareNull(Bare):
    """A plain YAML scalar that YAML reads as null (``null``, ``~``, nothing at all)."""

    __slots__ = ()


class Record(dict[str, Value]):
    """A row, an object or a mapping, with the 1-based line of the file where it starts."""

    __slots__ = ("line",)

    def __init__(self, line: int, fields: Iterable[tuple[str, Value]] = ()) -> None:
        super().__init__(fields)
        self.line = line


class Malformed(ValueError):
    """A syntax error. ``line`` is 1-based; the message says what is wrong and how to mend it."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class WrongValue(ValueError):
    """A value that cannot be what its field holds. The message completes ``"field" ...``."""


def as_text(value: Value) -> str:
    """Return a text or a number as it was written.

    Raises
    ------
    WrongValue
        If it is anything else, or blank.
    """
    if not isinstance(value, str):
        raise no_text(value)
    if not value.strip():
        raise WrongValue("is empty. Give it a text.")
    return str(value)


def as_optional_text(value: Value) -> str | None:
    """Return text as ``as_text`` does; ``None`` where it is null, absent or empty.

    Raises
    ------
    WrongValue
        If it is no text.
    """
    if value is None or value == "" or isinstance(value, BareNull):
        return None
    if not isinstance(value, str):
        raise no_text(value)
    return str(value)


def no_text(value: Value) -> WrongValue:
    """Return the error for a value that stands where a text belongs."""
    remedy = "Give one text" if isinstance(value, list | Record) else "Put it in quotes"
    return WrongValue(f"must be text, got {describe(value)}. {remedy}.")


_NUMBER = re.compile(r"\s*[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\s*")


def is_number(value: Value) -> bool:
    """Whether a value is a number, written without quotes."""
    return isinstance(value, Bare) and _NUMBER.fullmatch(value) is not None


def as_number(value: Value) -> float:
    """Return a finite number that was written without quotes.

    Raises
    ------
    WrongValue
        If it is anything else.
    """
    if isinstance(value, Bare) and is_number(value):
        number = float(value) + 0.0  # -0.0 becomes 0.0, which is equal but hashes otherwise
        if math.isfinite(number):
            return number
    remedy = ""
    if isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]+,[0-9]+", value.strip()):
        remedy = f" Write {value.strip().replace(',', '.')}, with a point."
    raise WrongValue(f"must be a finite number without quotes, got {describe(value)}.{remedy}")


def quoted(text: str, *, limit: int = 60) -> str:
    """Return text in double quotes for a message, cut off where it is long.

    Examples
    --------
    >>> quoted("001")
    '"001"'
    """
    return json.dumps(text if len(text) <= limit else text[: limit - 3] + "...", ensure_ascii=False)


def listed(ids: Sequence[str], *, limit: int = 10) -> str:
    """Return the first ids of many for a message, and how many more there are.

    Examples
    --------
    >>> listed(["q1", "q2", "q3"], limit=2)
    'q1, q2 and 1 more'
    """
    more = f" and {len(ids) - limit} more" if len(ids) > limit else ""
    return ", ".join(ids[:limit]) + more


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "query", "queries")
    ('1 row', '2 queries')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def describe(value: Value) -> str:
    """Return a value in words, for a message that says what stood where something else belongs.

    Examples
    --------
    >>> describe(True), describe([]), describe("x")
    ('true', 'a list', '"x"')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Bare):
        return value if 0 < len(value) <= 60 else quoted(value)
    if isinstance(value, str):
        return quoted(value)
    return "a list" if isinstance(value, list) else "an object"
