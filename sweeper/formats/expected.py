"""What a row of a golden set says is expected: keys, objects with grades, grades beside keys."""

from __future__ import annotations

import re
from typing import NamedTuple

from sweeper.formats.spellings import canonical
from sweeper.formats.values import (
    BareNull,
    Record,
    Value,
    WrongValue,
    as_number,
    as_optional_text,
    describe,
    quoted,
)
from sweeper.golden import Key

__all__ = [
    "MISSING_EXPECTED",
    "Judgment",
    "is_absent",
    "judgments_of",
    "unread_names",
    "with_grades",
    "without_repeats",
]

MISSING_EXPECTED = "Give a key, a list of keys, or [] for a question without an answer."
_KEY_NAMES = (
    *("key", "id", "_id", "doc_id", "document_id", "entry_id", "memory_id", "page_id", "page"),
    *("docid", "docno", "corpus_id", "passage_id", "pid", "chunk_id", "node_id"),
)
_UNREAD_NAMES = frozenset({"score", "label", "relevance_score"})
"""What may be a grade beside a key, and as often what a search or a model said of it."""
_GRADE_NAMES = ("grade", "relevance", "rel", "rating", "gain")


class Judgment(NamedTuple):
    """An expected key; its grade and the store that it is said to be in, where they are given."""

    key: Key
    grade: float | None = None
    store: str | None = None


def with_grades(stated: list[Judgment] | None, grades: Value) -> list[Judgment]:
    """Put a row's grades on what it states; keys that are only judged join them."""
    judgments = stated or []
    if is_absent(grades) or isinstance(grades, BareNull):
        return judgments
    if not isinstance(grades, Record):
        return _with_parallel_grades(judgments, grades)
    worth = {_key(key): as_number(grade) for key, grade in grades.items()}
    graded = [_graded(judgment, worth.pop(judgment.key, None)) for judgment in judgments]
    for key, grade in worth.items():
        if grade > 0 and stated is not None:
            raise WrongValue(
                f"gives {quoted(key)} the grade {grade:g}, but it is not expected. "
                "Add it to the expected keys, or grade it 0."
            )
    return graded + [Judgment(key, grade) for key, grade in worth.items()]


def judgments_of(value: Value) -> list[Judgment]:
    """Return what a value states; a mapping without a key of its own is key to grade."""
    if isinstance(value, list):
        return [_judgment(_alone(item)) for item in value]
    if isinstance(value, Record) and not any(canonical(name) in _KEY_NAMES for name in value):
        if not value:
            raise WrongValue(f"is an empty object. {MISSING_EXPECTED}")
        if any(isinstance(grade, list | Record) for grade in value.values()):
            return [_judgment(value)]  # which says that it has no key
        return [Judgment(_key(key), as_number(grade)) for key, grade in value.items()]
    return [_judgment(value)]


def unread_names(value: Value) -> set[str]:
    """Return names beside expected keys under which grades may stand, if there is no grade."""
    found = set()
    for item in value if isinstance(value, list) else [value]:
        names = {canonical(name) for name in item} if isinstance(item, Record) else set()
        if names.isdisjoint(_GRADE_NAMES) and not names.isdisjoint(_KEY_NAMES):
            found |= names & _UNREAD_NAMES
    return found


def _alone(item: Value) -> Value:
    """Take a list of one for its item; several would be alternatives, which are not known here."""
    if not isinstance(item, list) or not item:
        return item
    if len(item) > 1:
        raise WrongValue(
            "holds a list within the list, as AutoRAG writes alternatives. Here every expected key "
            "counts: write one list, or keep one key of each inner list."
        )
    return item[0]


def _judgment(value: Value) -> Judgment:
    if not isinstance(value, Record):
        return Judgment(_key(value))
    named = {canonical(name): content for name, content in value.items()}
    key = next((named[name] for name in _KEY_NAMES if name in named), None)
    if key is None:
        found = ", ".join(value) or "none"
        raise WrongValue(f'holds an object without a key (fields: {found}). Call it "key".')
    grade = next((named[name] for name in _GRADE_NAMES if name in named), None)
    store = as_optional_text(named.get("source_type"))
    return Judgment(_key(key), None if grade is None else as_number(grade), store)


_SPREADSHEET_ERROR = re.compile(r"#(?:N/A|REF!|NAME\?|VALUE!|DIV/0!|NULL!|NUM!|SPILL!|CALC!)")


def _key(value: Value) -> Key:
    if isinstance(value, str) and _SPREADSHEET_ERROR.fullmatch(value):
        raise WrongValue(f"holds {value}, the error of a spreadsheet. Mend its formula.")
    if isinstance(value, str) and value.strip():
        return str(value)
    if isinstance(value, str):
        raise WrongValue(f"holds an empty key. {MISSING_EXPECTED}")
    raise WrongValue(f"must hold keys (text), got {describe(value)}.")


def _with_parallel_grades(judgments: list[Judgment], grades: Value) -> list[Judgment]:
    parallel = grades if isinstance(grades, list) else [grades]
    if len(parallel) != len(judgments):
        raise WrongValue(
            f"has {len(parallel)} grades for {len(judgments)} expected keys. "
            "Give one for each, or an object of key to grade."
        )
    return [
        _graded(judgment, as_number(grade))
        for judgment, grade in zip(judgments, parallel, strict=True)
    ]


def _graded(judgment: Judgment, grade: float | None) -> Judgment:
    if grade is None:
        return judgment
    if judgment.grade not in (None, grade):
        raise WrongValue(
            f"grades {quoted(judgment.key)} both {judgment.grade:g} and {grade:g}. Keep one."
        )
    return judgment._replace(grade=grade)


def without_repeats(judgments: list[Judgment]) -> list[Judgment]:
    """Return each key once; grades that differ are refused."""
    kept: dict[Key, Judgment] = {}
    for judgment in judgments:
        first = kept.setdefault(judgment.key, judgment)
        if first.grade != judgment.grade:
            raise WrongValue(f"names {quoted(judgment.key)} twice with different grades. Keep one.")
    return list(kept.values())


def is_absent(value: Value) -> bool:
    """Whether nothing stands in a field."""
    return value is None or value == ""
