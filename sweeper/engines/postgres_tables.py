"""A look at the tables of an existing database, before the first question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg

from sweeper.corpus import Store
from sweeper.engines.postgres_source import Recipe, Table
from sweeper.engines.postgres_sql import counting_statement, identifier, parameters
from sweeper.errors import InputError, Problem, did_you_mean

__all__ = ["check_tables", "check_text_search", "count_rows", "versions"]

_NUMBERS = ("double precision", "real", "numeric", "bigint", "integer", "smallint")
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "embedding": ("vector",),
    "tsvector": ("tsvector",),
    "updated_at": ("timestamp with time zone", "timestamp without time zone", "date"),
    "age_days": _NUMBERS,
    "tags": ("jsonb", "json"),
    "principals": ("text[]", "character varying[]"),
}
"""Types of the columns that must have one; the others are read as text."""

_COLUMNS = (
    "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute "
    "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)


def check_tables(connection: psycopg.Connection[Any], tables: Mapping[Store, Table]) -> None:
    """Check that tables and columns exist and have usable types.

    Raises
    ------
    InputError
        With every problem of all tables.
    """
    problems: list[Problem] = []
    for table in tables.values():
        name = identifier(table.name).as_string(connection)
        types = dict(connection.execute(_COLUMNS, (name,)).fetchall())
        if not types:
            problems.append(
                Problem(
                    "the database has no such table or view, or it may not be read. Check its "
                    "name, with the schema before a dot.",
                    where=table.name,
                )
            )
            continue
        for purpose, column in table.columns.items():
            allowed = _ALLOWED.get(purpose)
            if column not in types:
                message = f'there is no column "{column}" ({purpose}). '
                problems.append(Problem(message + did_you_mean(column, types), where=table.name))
            elif allowed is not None and types[column] not in allowed:
                message = (
                    f'the column "{column}" ({purpose}) has the type {types[column]}. '
                    f"Give one of type {' or '.join(allowed)}, for example in a view."
                )
                problems.append(Problem(message, where=table.name))
    if problems:
        raise InputError(problems)


def check_text_search(connection: psycopg.Connection[Any], name: str) -> None:
    """Check that a text search configuration exists.

    Raises
    ------
    InputError
        With those that do.
    """
    known = [row[0] for row in connection.execute("SELECT cfgname::text FROM pg_ts_config")]
    wanted = name.rpartition(".")[2]
    if wanted not in known:
        raise InputError(
            f'the database has no text search configuration "{name}". {did_you_mean(wanted, known)}'
        )


def versions(connection: psycopg.Connection[Any]) -> tuple[str, str]:
    """Return the versions of the server and of pgvector."""
    found = connection.execute(
        "SELECT split_part(current_setting('server_version'), ' ', 1), extversion "
        "FROM pg_extension WHERE extname = 'vector'"
    ).fetchone()
    assert found is not None  # or the connection would not know vectors
    return found[0], found[1]


def count_rows(
    connection: psycopg.Connection[Any], recipe: Recipe
) -> tuple[dict[Store, int], dict[str, int]]:
    """Return the number of rows per store, and how many memories have an age of which kind."""
    sizes: dict[Store, int] = {"document": 0, "memory": 0}
    ages = {"known": 0, "missing": 0, "unparseable": 0, "future": 0}
    for store in recipe.tables:
        found = connection.execute(
            counting_statement(recipe, store), parameters(recipe, "", None, {}, 1)
        ).fetchone()
        assert found is not None
        sizes[store] = found[0]
        if store == "memory":
            ages["known"], ages["future"], ages["missing"] = found[1:]
    return sizes, ages
