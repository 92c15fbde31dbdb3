"""Triples from a file: facts, each with the sentence of the page that says so.

| field | spellings (case, spaces and hyphens do not matter) |
| --- | --- |
| subject | ``subject`` |
| predicate | ``predicate relation`` |
| object | ``object`` |
| sentence | ``sentence quote`` |
| page | ``page source`` |

``[row, ...]``, ``{"triples": [row, ...]}`` or a row a line; what a triple is stands in ``triples``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from sweeper.errors import Problems, did_you_mean
from sweeper.formats.records import read_source
from sweeper.formats.spellings import Field, canonical, field_names, find_rows, number_rows
from sweeper.formats.values import BareNull, Record, WrongValue, as_text, quoted
from sweeper.golden import Key
from sweeper.graph import folded_name
from sweeper.triples import Triple, misquoted

__all__ = ["TRIPLE_FIELDS", "read_triples"]

TRIPLE_FIELDS = (
    Field("subject", ("subject",), required=True),
    Field("predicate", ("predicate", "relation"), required=True),
    Field("object", ("object",), required=True),
    Field("sentence", ("sentence", "quote"), required=True),
    Field("page", ("page", "source"), required=True),
)
_NOUN_OF = {spelling: field.name for field in TRIPLE_FIELDS for spelling in field.spellings}
_GIVES = {
    "subject": "Say who or what the fact is about.",
    "predicate": 'Say how the subject stands to the object, such as "depends on".',
    "object": "Say to whom or what the subject stands so.",
    "sentence": "Quote the sentence of the page that says so.",
    "page": "Give the key of the page that says so.",
}

# Comparing with every key costs, so a file full of wrong pages gets the first suggestions alone.
_MAX_SUGGESTIONS = 20
_MAX_SEARCHED = 10_000


def read_triples(path: str | Path, pages: Mapping[Key, str] | None) -> tuple[Triple, ...]:
    """Read triples, in the order of the file.

    Every one of the five has to be given in every row. Where one is missing and another field looks
    like it, that is reported as misspelt; all other fields are left alone.

    Parameters
    ----------
    path
        JSON, JSONL, YAML, CSV or TSV; the extension tells which.
    pages
        Key of a page to its text. Each sentence has to stand on its page, where runs of white space
        count as one space. ``None`` checks neither pages nor sentences.

    Raises
    ------
    InputError
        With every problem of the file, each with its line and remedy.
    """
    source = read_source(path)
    rows = find_rows(
        source.data, ("triples",), path=source.path, holds="triples", row_fields=set(_NOUN_OF)
    )
    reader = _Reader(rows, source.path)
    read = [(row, triple) for row in rows if (triple := reader.triple(row)) is not None]
    if pages is not None:
        reader.check_quotes(read, pages)
    reader.problems.raise_if_any()
    return tuple(triple for _, triple in read)


class _Reader:
    """Reads rows one by one, collecting problems."""

    def __init__(self, rows: Sequence[Record], path: str) -> None:
        self.problems = Problems(path)
        self.places = number_rows(rows)
        self.misspelt = self._report_typos(rows)

    def triple(self, row: Record) -> Triple | None:
        before = len(self.problems)
        found = [self.text(row, field.name) for field in TRIPLE_FIELDS]
        if len(self.problems) > before or "" in found:
            return None
        subject, predicate, object_, sentence, page = found
        for noun, name in (("subject", subject), ("object", object_)):
            if not folded_name(name):
                self.add(row, f"{noun} {quoted(name)} names nothing. Write the name of an entity.")
                return None
        return Triple(subject, predicate, object_, sentence, page)

    def text(self, row: Record, noun: str) -> str:
        """Return what a row gives for a noun; nothing where a problem was reported."""
        given = {
            name: value
            for name, value in row.items()
            if _NOUN_OF.get(canonical(name)) == noun
            and value is not None
            and not isinstance(value, BareNull)
        }
        if not given:
            if (id(row), noun) not in self.misspelt:
                self.add(row, f"{quoted(noun)} is missing. {_GIVES[noun]}")
            return ""
        label, value = next(iter(given.items()))
        other = next((name for name in given if given[name] != value), None)
        try:
            if other is not None:
                raise WrongValue(f"and {quoted(other)} are both given and differ. Keep one.")
            return as_text(value)
        except WrongValue as error:
            self.add(row, f"{quoted(label)} {error}")
            return ""

    def check_quotes(self, read: Sequence[tuple[Record, Triple]], pages: Mapping[Key, str]) -> None:
        """Report each triple whose page is not there or does not hold its sentence."""
        n_searched = 0
        for number, reason in misquoted((triple for _, triple in read), pages):
            row, triple = read[number]
            remedy = "Quote it as it stands there, word for word."
            if triple.page not in pages:
                remedy = "Correct the key, or add the page."
                if n_searched < _MAX_SUGGESTIONS and len(pages) <= _MAX_SEARCHED:
                    n_searched += 1
                    close = did_you_mean(triple.page, pages)
                    remedy = f"{close} {remedy}" if close.startswith("Did") else remedy
            self.add(row, f"{reason}. {remedy}")

    def add(self, row: Record, message: str) -> None:
        self.problems.add(message, line=row.line, where=self.places.get(id(row)))

    def _report_typos(self, rows: Sequence[Record]) -> set[tuple[int, str]]:
        """Report each misspelt field once; return ``(id(row), noun)`` of what they explain."""
        explained: set[tuple[int, str]] = set()
        for name in field_names(rows):
            meant = _meant(name)
            if meant is None:
                continue
            noun = _NOUN_OF[meant]
            lacking = [
                row
                for row in rows
                if name in row and all(_NOUN_OF.get(canonical(known)) != noun for known in row)
            ]
            if lacking:
                more = f" ({len(lacking)} rows)" if len(lacking) > 1 else ""
                self.problems.add(
                    f"unknown field {quoted(name)}{more}. Did you mean {quoted(meant)}? Rename it.",
                    line=lacking[0].line,
                )
                explained |= {(id(row), noun) for row in lacking}
        return explained


def _meant(name: str) -> str | None:
    """Return the spelling of which a field's name is a slip, if it is one."""
    if canonical(name) in _NOUN_OF:
        return None
    # 0.8 as for the fields of other files: one slip in a word of five letters.
    close = difflib.get_close_matches(canonical(name), _NOUN_OF, n=1, cutoff=0.8)
    return close[0] if close else None
