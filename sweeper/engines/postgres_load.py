"""Loading a corpus into a schema of its own, for the PostgreSQL engine to search.

One table per store, rows numbered in corpus order, which is the order of equal values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import psycopg
from psycopg import sql

from sweeper.corpus import STORES, Item, Store, age_of
from sweeper.embedders import Vectors
from sweeper.engines.postgres_source import Hnsw, Table
from sweeper.engines.postgres_sql import sendable
from sweeper.errors import EngineError, InputError

__all__ = ["load"]

_ITEMS_PER_CALL = 2048  # embedded and sent at a time
_MOST_IN_PAGE = 1900  # dimensions of a vector that fits a page of 8 kB beside the other columns
_MOST_INDEXED = 2000  # dimensions that an HNSW index of pgvector can hold
_COLUMNS = (
    "place",
    "item_id",
    "key",
    "content",
    "embedding",
    "tags",
    "path",
    "age_days",
    "principals",
)
_TYPES = ("int8", "text", "text", "text", "vector", "jsonb", "text", "float8", "text[]")


def load(
    connection: psycopg.Connection[Any],
    schema: str,
    items: Sequence[Item],
    embed: Callable[[Sequence[str]], Vectors],
    *,
    as_of: datetime,
    text_search: str,
    hnsw: Hnsw | None,
) -> dict[Store, Table]:
    """Write items into new tables and index them.

    Parameters
    ----------
    connection
        Knows the type ``vector``; everything happens in one transaction of it.
    schema
        Made here; must not exist.
    items
        In corpus order.
    embed
        Makes their vectors.
    as_of
        The instant that ages are measured from.
    text_search
        Text search configuration of the tokens.
    hnsw
        Builds this index; ``None`` builds none.

    Raises
    ------
    InputError
        If an id, a principal or a text cannot be stored, or a vector cannot be indexed.
    """
    tables: dict[Store, Table] = {}
    restricted = any(item.entry.principals is not None for item in items)
    with connection.transaction():
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        for store in STORES:
            within = [item for item in items if item.store == store]
            if within:
                tables[store] = _table(f"{schema}.{store}", restricted)
                _fill(connection, schema, store, within, embed, as_of, text_search, hnsw)
                _index(connection, schema, store, hnsw)
    for store in tables:
        connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(schema, store)))
    return tables


def _table(name: str, restricted: bool) -> Table:
    return Table(
        name=name,
        item_id="item_id",
        key="key",
        order="place",
        embedding="embedding",
        tsvector="tokens",
        age_days="age_days",
        tags="tags",
        path="path",
        principals="principals" if restricted else None,  # a condition may cost an index its use
    )


def _fill(
    connection: psycopg.Connection[Any],
    schema: str,
    store: Store,
    items: Sequence[Item],
    embed: Callable[[Sequence[str]], Vectors],
    as_of: datetime,
    text_search: str,
    hnsw: Hnsw | None,
) -> None:
    table = sql.Identifier(schema, store)
    columns = sql.SQL(", ").join(sql.Identifier(name) for name in _COLUMNS)
    dimensions = 0
    for start in range(0, len(items), _ITEMS_PER_CALL):
        block = items[start : start + _ITEMS_PER_CALL]
        vectors = embed([item.text for item in block])
        if start == 0:
            dimensions = vectors.shape[1]
            if hnsw is not None and dimensions > _MOST_INDEXED:
                raise InputError(
                    f"an HNSW index holds vectors of at most {_MOST_INDEXED} dimensions, the "
                    f"embedder's have {dimensions}. Write index: exact, or choose another embedder."
                )
            _create(connection, table, dimensions, text_search)
        if vectors.shape[1] != dimensions:
            raise EngineError("the embedder's vectors differ in their dimensions.")
        copying = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(table, columns)
        rows = enumerate(zip(block, vectors, strict=True), start)
        try:
            with connection.cursor() as cursor, cursor.copy(copying) as copy:
                copy.set_types(_TYPES)
                for place, (item, vector) in rows:
                    copy.write_row(_row(place, item, vector, as_of))
        except psycopg.errors.ProgramLimitExceeded as error:
            raise InputError(
                f"a {store} is too long for the server's full text "
                f"({error.diag.message_primary}). Cut documents: chunking: {{kind: size}}."
            ) from error


def _row(place: int, item: Item, vector: Any, as_of: datetime) -> tuple[Any, ...]:
    entry = item.entry
    days = age_of(entry, as_of).days if item.store == "memory" else math.nan
    if sendable(item.item_id) != item.item_id:
        raise InputError(
            f"the id {item.item_id!r} holds a character that PostgreSQL cannot store. Rename it."
        )
    for name in entry.principals or ():
        if sendable(name) != name:  # made storable it could be somebody else's name
            raise InputError(
                f"{entry.entry_id!r}: the principal {name!r} holds a character that PostgreSQL "
                "cannot store. Rename it."
            )
    return (
        place,
        item.item_id,
        item.key,
        sendable(item.text),
        vector,
        {sendable(name): sendable(value) for name, value in entry.tags.items()},
        None if entry.path is None else sendable(entry.path),
        None if math.isnan(days) else days,
        None if entry.principals is None else list(entry.principals),
    )


def _create(
    connection: psycopg.Connection[Any], table: sql.Identifier, dimensions: int, text_search: str
) -> None:
    # A definition takes no bound values; these are quoted on this side.
    connection.execute(
        sql.SQL(
            "CREATE TABLE {table} (place bigint PRIMARY KEY, item_id text NOT NULL, "
            "key text NOT NULL, content text NOT NULL, embedding vector({dimensions}) NOT NULL, "
            "tags jsonb NOT NULL, path text, age_days float8, principals text[], tokens tsvector "
            "GENERATED ALWAYS AS (to_tsvector({text_search}::regconfig, content)) STORED)"
        ).format(
            table=table,
            dimensions=sql.Literal(dimensions),
            text_search=sql.Literal(text_search),
        )
    )
    if dimensions <= _MOST_IN_PAGE:
        # Long values go out of line by default, where a scan fetches each one in pieces. Here they
        # stay while the row fits its page.
        connection.execute(
            sql.SQL(
                "ALTER TABLE {} ALTER COLUMN embedding SET STORAGE PLAIN, "
                "SET (toast_tuple_target = 8160)"
            ).format(table)
        )


def _index(
    connection: psycopg.Connection[Any], schema: str, store: Store, hnsw: Hnsw | None
) -> None:
    table = sql.Identifier(schema, store)
    connection.execute(sql.SQL("CREATE INDEX ON {} USING gin (tokens)").format(table))
    if hnsw is not None:
        connection.execute(
            sql.SQL("CREATE INDEX ON {} USING hnsw (embedding vector_cosine_ops)").format(table)
        )
