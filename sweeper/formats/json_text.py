"""JSON with lines: strict, every object located, every number as it was typed.

The standard decoder tells neither where an object starts nor that a key came twice, so documents
are read by a small recursive parser that borrows its strings. ``JsonLines`` takes the fast standard
decoder and falls back to that parser for the message.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from sweeper.formats.values import MAX_DEPTH, Bare, Malformed, Record, Value, quoted

__all__ = ["JsonLines", "parse_json"]

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[\w.+-]+")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_CONSTANTS = {"true": True, "false": False, "null": None}
_NOT_FINITE = ("NaN", "Infinity", "-Infinity", "nan", "inf", "-inf", "+Infinity")
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_string = json.JSONDecoder().raw_decode


def parse_json(text: str, *, first_line: int = 1) -> Value:
    """Parse one JSON document.

    Parameters
    ----------
    text
        All of it, or one line of a file.
    first_line
        The line of the file on which ``text`` starts, for messages and ``Record.line``.

    Raises
    ------
    Malformed
        With the line and the remedy: bad syntax, NaN or Infinity, a key that comes twice, half a
        surrogate pair, or more than ``MAX_DEPTH`` levels.
    """
    return _Parser(text, first_line).document()


class JsonLines:
    """Parses the lines of a JSONL file one by one. Same results and errors as ``parse_json``.

    The standard decoder does the work, and the slower parser finds the words when it fails.
    """

    def __init__(self) -> None:
        self._line = 0
        # Made once: a decoder costs more than a short line does.
        self._decode = json.JSONDecoder(
            object_pairs_hook=self._record,
            parse_int=Bare,
            parse_float=Bare,
            parse_constant=_refuse,
        ).decode

    def parse(self, text: str, line: int) -> Value:
        """Parse one line, which is line ``line`` of its file."""
        if _SURROGATE.search(text):
            return parse_json(text, first_line=line)
        self._line = line
        try:
            value: Value = self._decode(text)
        except (ValueError, RecursionError):
            return parse_json(text, first_line=line)
        return value

    def _record(self, pairs: list[tuple[str, Value]]) -> Record:
        made = Record(self._line, pairs)
        if len(made) != len(pairs):
            raise ValueError
        return made


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


class _Parser:
    """Recursive descent over one text; offsets become lines only where a line is wanted."""

    def __init__(self, text: str, first_line: int) -> None:
        self.text = text
        self.may_hold_surrogates = _SURROGATE.search(text) is not None
        # Objects are met in order, so each newline is counted once.
        self.counted_to = 0
        self.line = first_line

    def document(self) -> Value:
        value, at = self.value(self.skip(0), 0)
        at = self.skip(at)
        if at < len(self.text):
            self.fail(
                at,
                f"{self.word(at)} follows the end of the value. One JSON value is expected here; "
                "a file with one row on each line is called .jsonl and has no commas between rows.",
            )
        return value

    def value(self, at: int, depth: int) -> tuple[Value, int]:
        if depth > MAX_DEPTH:
            self.fail(at, f"nested more than {MAX_DEPTH} levels deep. Flatten it.")
        first = self.text[at : at + 1]
        if first == "{":
            return self.object(at, depth)
        if first == "[":
            return self.array(at, depth)
        if first == '"':
            return self.string(at)
        return self.scalar(at)

    def object(self, start: int, depth: int) -> tuple[Record, int]:
        record = Record(self.line_of(start))
        at = self.skip(start + 1)
        if self.text[at : at + 1] == "}":
            return record, at + 1
        while True:
            if self.text[at : at + 1] != '"':
                self.fail(
                    at, self.expected("a name in double quotes", at, after_comma=bool(record))
                )
            key_at = at
            key, at = self.string(at)
            if key in record:
                self.fail(key_at, f"{quoted(key)} comes twice in one object. Keep one of them.")
            at = self.skip(at)
            if self.text[at : at + 1] != ":":
                self.fail(at, self.expected(f'":" after {quoted(key)}', at))
            record[key], at = self.value(self.skip(at + 1), depth + 1)
            at = self.skip(at)
            following = self.text[at : at + 1]
            if following == "}":
                return record, at + 1
            if following != ",":
                self.fail(at, self.expected('"," or "}"', at, opened=record.line))
            at = self.skip(at + 1)

    def array(self, start: int, depth: int) -> tuple[list[Value], int]:
        items: list[Value] = []
        opened = self.line_of(start)
        at = self.skip(start + 1)
        if self.text[at : at + 1] == "]":
            return items, at + 1
        while True:
            if self.text[at : at + 1] == "]":
                self.fail(at, self.expected("a value", at, after_comma=True))
            item, at = self.value(at, depth + 1)
            items.append(item)
            at = self.skip(at)
            following = self.text[at : at + 1]
            if following == "]":
                return items, at + 1
            if following != ",":
                self.fail(at, self.expected('"," or "]"', at, opened=opened))
            at = self.skip(at + 1)

    def string(self, at: int) -> tuple[str, int]:
        try:
            text, end = _string(self.text, at)
        except json.JSONDecodeError as error:
            what = error.msg.removesuffix(" at").removesuffix(" starting").lower()
            self.fail(
                error.pos,
                f"is not valid JSON: {what}. A text stands in double quotes on one line; "
                'write \\n for a line break, \\" for a quote, \\\\ for a backslash.',
            )
        if self.may_hold_surrogates:
            try:
                text.encode()
            except UnicodeEncodeError:
                self.fail(
                    at, "half a surrogate pair (\\ud800 to \\udfff) is no character. Remove it."
                )
        return text, end

    def scalar(self, at: int) -> tuple[Value, int]:
        found = _WORD.match(self.text, at)
        word = found[0] if found else ""
        if word in _CONSTANTS:
            return _CONSTANTS[word], at + len(word)
        if _NUMBER.fullmatch(word):
            return Bare(word), at + len(word)
        if word in _NOT_FINITE:
            self.fail(at, f"{word} is no JSON number and cannot be compared. Give a finite number.")
        if word in _PYTHON:
            self.fail(at, f"{word} is Python, not JSON. Write {_PYTHON[word]}.")
        if word[:1].isdigit() or word[:1] in ("-", "+", "."):
            self.fail(at, f"{quoted(word)} is no JSON number. Put an id in double quotes.")
        return self.fail(at, self.expected("a value", at))

    def skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def expected(
        self, what: str, at: int, *, opened: int | None = None, after_comma: bool = False
    ) -> str:
        message = f"is not valid JSON: expected {what}, got {self.word(at)}."
        if after_comma and self.text[at : at + 1] in ("}", "]"):
            return message + " Remove the comma before it."
        if self.text[at : at + 1] == "'":
            return message + " JSON uses double quotes."
        if at >= len(self.text) and opened is not None:
            return message + f" What opens on line {opened} is not closed."
        return message

    def word(self, at: int) -> str:
        if at >= len(self.text):
            return "the end of the text"
        found = _WORD.match(self.text, at)
        return quoted(found[0] if found else self.text[at])

    def line_of(self, at: int) -> int:
        if at < self.counted_to:
            return self.line - self.text.count("\n", at, self.counted_to)
        self.line += self.text.count("\n", self.counted_to, at)
        self.counted_to = at
        return self.line

    def fail(self, at: int, message: str) -> NoReturn:
        raise Malformed(message, self.line_of(at))
