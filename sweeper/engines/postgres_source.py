"""What the PostgreSQL engine searches: an existing database's tables, or a corpus to load.

Values only; the statements over them are in ``postgres_sql`` and ``postgres_search``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from sweeper.corpus import Chunking, Corpus, Store
from sweeper.pools import LEXICAL, VECTOR

__all__ = ["CHANNELS", "Existing", "Hnsw", "Match", "Recipe", "Scratch", "Table"]

CHANNELS = (VECTOR, LEXICAL)

Match: TypeAlias = Literal["any", "all"]
"""``any``: rows with any token of the query; ``all``: what ``websearch_to_tsquery`` asks for."""


@dataclass(frozen=True, slots=True)
class Hnsw:
    """Approximate neighbours: rows beyond ``ef_search`` need the iterative scan (pgvector 0.8)."""

    ef_search: int = 40
    iterative_scan: Literal["off", "strict_order", "relaxed_order"] = "relaxed_order"


@dataclass(frozen=True, slots=True)
class Table:
    """Where the rows of one store are: a table or view, and what its columns are called.

    ``name`` may have a schema before a dot. ``text`` is tokenised as it is searched, ``tsvector``
    is ready. ``updated_at`` is a date or a time, ``age_days`` a number. ``tags`` is a jsonb object,
    ``tag_columns`` maps a filter's name to a column of its own. ``principals`` is an array of the
    names that may see a row: NULL is everybody, an empty one nobody. ``where`` maps a column to the
    text that all rows of the store have in it. ``prefix`` stands before ids and keys, so that two
    tables that both count from 1 stay apart. ``order`` breaks ties and is unique.
    """

    name: str
    item_id: str
    key: str
    order: str
    embedding: str
    text: str | None = None
    tsvector: str | None = None
    updated_at: str | None = None
    age_days: str | None = None
    tags: str | None = None
    tag_columns: Mapping[str, str] = field(default_factory=dict)
    path: str | None = None
    principals: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""

    @property
    def columns(self) -> dict[str, str]:
        """What each column is for: purpose to name, those that are set."""
        plain = ("item_id", "key", "order", "embedding", "text", "tsvector", "updated_at")
        others = ("age_days", "tags", "path", "principals")
        found = {name: getattr(self, name) for name in (*plain, *others)}
        found |= {f"tag_columns.{name}": column for name, column in self.tag_columns.items()}
        found |= {f"where.{column}": column for column in self.where}
        return {purpose: column for purpose, column in found.items() if column is not None}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How every question is asked: the tables and what decides which rows are found."""

    tables: Mapping[Store, Table]
    text_search: str
    match: Match
    hnsw: Hnsw | None
    as_of: datetime


@dataclass(frozen=True, slots=True)
class Existing:
    """A database that is only read: how libpq reaches it, and where each store's rows are."""

    conninfo: str = field(repr=False)
    tables: Mapping[Store, Table]


@dataclass(frozen=True, slots=True)
class Scratch:
    """A corpus to load, into a schema that is dropped in the end.

    Without ``conninfo`` a server is started for it, otherwise the schema is made in that database.
    """

    corpus: Corpus = field(repr=False)
    chunking: Chunking = field(default_factory=Chunking)
    conninfo: str | None = field(default=None, repr=False)
