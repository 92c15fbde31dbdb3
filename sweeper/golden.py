"""The golden set: judged queries, grouped in slices. Reading files is in ``formats``.

The rules that a golden set obeys (``check_golden``) live here, so that every reader, importer and
engine applies the same ones.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

__all__ = ["CLASS_NAME", "OVERALL", "GoldenSet", "ItemId", "Key", "Query", "QueryId", "Route"]

QueryId: TypeAlias = str
ItemId: TypeAlias = str  # a chunk (``<document id>@<index>``) or a memory
Key: TypeAlias = str  # what a golden set names: a document (all its chunks) or a memory

OVERALL = "overall"
"""Name of the figure over all queries; no slice may be called so."""

CLASS_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""Of a question class; it stands in names of knobs, such as ``routing.lookup.budget``."""


class Route(NamedTuple):
    """The class by which a question is routed, and what decided it."""

    query_class: str
    rule: str


@dataclass(frozen=True, slots=True)
class Query:
    """One judged question.

    ``expected`` holds distinct keys in the order of the file; empty marks an unanswerable query.
    ``grades`` maps an expected key to its worth and lists only keys that were graded (others are
    worth 1). ``judged`` are keys that were judged and found irrelevant (a grade of 0 or less).
    ``filter`` restricts the candidates: tag name to value, plus ``path`` (a prefix) and ``store``.
    ``user`` is the user or group as whom it is asked; without one it finds public rows alone.
    ``label`` is what the row gives as its class, ``route`` the class it is routed by.
    """

    query_id: QueryId
    slice: str
    text: str
    expected: tuple[Key, ...]
    grades: Mapping[Key, float] = field(default_factory=dict)
    judged: tuple[Key, ...] = ()
    filter: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    label: str | None = None
    route: Route | None = None

    @property
    def query_class(self) -> str | None:
        """The class whose weights and budget hold; ``None`` where questions have no classes."""
        return None if self.route is None else self.route.query_class

    def grade(self, key: Key) -> float:
        """Return the worth of an expected key: its grade, or 1 if ungraded."""
        return self.grades.get(key, 1.0)

    @property
    def answerable(self) -> bool:
        return bool(self.expected)


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """Judged queries in file order. Build it with ``GoldenSet(queries)``; ids must be distinct."""

    queries: tuple[Query, ...]

    def __post_init__(self) -> None:
        ids = [query.query_id for query in self.queries]
        if len(set(ids)) != len(ids):
            raise ValueError("query ids must be distinct")
        if any(query.slice == OVERALL for query in self.queries):
            raise ValueError(f"a slice may not be called {OVERALL!r}")

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def query_ids(self) -> tuple[QueryId, ...]:
        return tuple(query.query_id for query in self.queries)

    @property
    def slices(self) -> tuple[str, ...]:
        """Slice names in the order in which they first appear."""
        return tuple(dict.fromkeys(query.slice for query in self.queries))

    def dangling(self, keys: Iterable[Key]) -> list[tuple[Query, Key]]:
        """Return each expected key that is not among ``keys``, with its query."""
        known = set(keys)
        return [(q, key) for q in self.queries for key in q.expected if key not in known]

    @property
    def digest(self) -> str:
        """SHA-256 over the content, independent of file format and spelling."""
        rows = [_canonical(query) for query in self.queries]
        text = json.dumps(rows, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _canonical(query: Query) -> Sequence[object]:
    classes = (query.label, query.query_class)
    return (
        query.query_id,
        query.slice,
        query.text,
        query.expected,
        sorted(query.grades.items()),
        query.judged,
        sorted(query.filter.items()),
        query.user,
        *(() if query.route is None else classes),
    )
