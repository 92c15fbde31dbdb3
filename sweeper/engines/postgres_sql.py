"""The statements that retrieve: the best rows of one channel and store, and how many there are.

Composed text only; nothing here talks to a server. Names are quoted as identifiers, every value is
a bound parameter (``parameters``). Rows that a question's user may not see are left out where
its filter leaves rows out: before the best are taken. Equal channel values stand in ascending order
of the table's ``order`` column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import sql

from sweeper.corpus import Store
from sweeper.engines.postgres_source import Recipe, Table
from sweeper.pools import LEXICAL, VECTOR

__all__ = [
    "best_rows",
    "candidates_statement",
    "counting_statement",
    "filter_problem",
    "identifier",
    "parameters",
    "sendable",
    "user_problem",
]


def identifier(name: str) -> sql.Identifier:
    """Quote the name of a table; a dot parts the schema from it."""
    return sql.Identifier(*name.split("."))


def filter_problem(table: Table, wanted: Mapping[str, str]) -> str | None:
    """Say why a table cannot apply a question's filter, or return ``None``."""
    for name in wanted:
        if name == "path" and table.path is None:
            return "the filter names a path, and no path column is configured"
        known = name in table.tag_columns or table.tags is not None
        if name not in {"path", "store"} and not known:
            return (
                f'the filter names "{name}". Configure the jsonb column tags, or '
                f"tag_columns: {{{name}: <column>}},"
            )
    return None


def user_problem(table: Table, user: str | None) -> str | None:
    """Say why a table cannot tell what a question's user may see, or return ``None``."""
    if user is None or table.principals is not None:
        return None
    return (
        f"it is asked as user {user!r}. Leave the user out where a view holds what it may see, or "
        "configure the text[] column principals"
    )


def candidates_statement(
    recipe: Recipe, channel: str, store: Store, filters: Sequence[str]
) -> sql.Composed:
    """Return the best rows of one channel and store: item id, key, value and age, best first.

    Parameters
    ----------
    recipe
        Must have a table for the store.
    channel
        ``vector`` or ``lexical``.
    store
        Which table.
    filters
        Names of the question's filters but for ``store``; parameter ``filter_<n>`` is the n-th's
        value.
    """
    return sql.SQL(
        "SELECT item, key, value, age FROM ({found}) found ORDER BY value DESC, tie"
    ).format(found=best_rows(recipe, channel, store, filters))


def counting_statement(recipe: Recipe, store: Store) -> sql.Composed:
    """Return the number of a store's rows, and of its known, future and missing ages."""
    table = recipe.tables[store]
    age, source = _age(table, store)
    return sql.SQL(
        "SELECT count(*), count(*) FILTER (WHERE age >= 0), count(*) FILTER (WHERE age < 0), "
        "count(*) FILTER (WHERE age IS NULL) "
        "FROM (SELECT {age} AS age FROM (SELECT {source} AS dated FROM {table}{where}) bare) aged"
    ).format(
        age=age,
        source=source,
        table=_quoted(identifier(table.name)),
        where=_where(_conditions(table, store, ())),
    )


def parameters(
    recipe: Recipe,
    text: str,
    vector: Any,
    wanted: Mapping[str, str],
    depth: int,
    user: str | None = None,
) -> dict[str, Any]:
    """Return what every statement of one question is told.

    Parameters
    ----------
    recipe
        As for the statement.
    text
        The question, which is made ``sendable``.
    vector
        Its embedding, as the driver sends it.
    wanted
        The question's filter.
    depth
        Rows per channel and store.
    user
        As whom the question is asked.
    """
    # A name that no server can hold is no row's. Made sendable it could be somebody else's.
    known = user is not None and sendable(user) == user
    found: dict[str, Any] = {
        "user": user if known else None,
        "question": sendable(text),
        "vector": vector,
        "depth": depth,
        "text_search": recipe.text_search,
        "as_of": recipe.as_of,
    }
    for number, name in enumerate(_filters(wanted)):
        found[f"filter_{number}"] = sendable(wanted[name])
        found[f"filter_name_{number}"] = sendable(name)
    for store, table in recipe.tables.items():
        found[f"{store}_prefix"] = table.prefix
        found |= {f"{store}_where_{n}": value for n, value in enumerate(table.where.values())}
    return found


def _filters(wanted: Mapping[str, str]) -> list[str]:
    return [name for name in wanted if name != "store"]


def sendable(text: str) -> str:
    """Return a text as a server can hold it: without NUL (a blank) and lone surrogates (``?``)."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def best_rows(recipe: Recipe, channel: str, store: Store, filters: Sequence[str]) -> sql.Composable:
    """Return a query of the best rows: item, key, value, age in days and tie.

    The inner query carries bare columns, so that ids and ages are made for the best rows alone.
    """
    table = recipe.tables[store]
    conditions = _conditions(table, store, filters)
    if table.principals is not None:
        conditions.append(_may_see(table.principals))
    if channel == LEXICAL:
        value, condition, order = _lexical(recipe, table)
        conditions.append(condition)
    else:
        value, order = _vector(recipe, table)
    age, source = _age(table, store)
    return sql.SQL(
        "SELECT {prefix}::text || id::text AS item, {prefix}::text || key::text AS key, {value}, "
        "{age} AS age, tie "
        "FROM (SELECT {id} AS id, {key} AS key, {source} AS dated, {tie} AS tie, {inner} AS raw "
        "FROM {table}{where} ORDER BY {order} LIMIT %(depth)s::bigint) best "
        "WHERE raw <> 'NaN'::float8"
    ).format(
        prefix=sql.Placeholder(f"{store}_prefix"),
        value=sql.SQL("1 - raw AS value" if _by_index(recipe, channel) else "raw AS value"),
        age=age,
        id=_column(table.item_id),
        key=_column(table.key),
        source=source,
        tie=_column(table.order),
        inner=value,
        table=_quoted(identifier(table.name)),
        where=_where(conditions),
        order=sql.SQL(order),
    )


def _by_index(recipe: Recipe, channel: str) -> bool:
    return channel == VECTOR and recipe.hnsw is not None


def _vector(recipe: Recipe, table: Table) -> tuple[sql.Composable, str]:
    """Return the value and the order of the vector channel."""
    distance = sql.SQL("({embedding} <=> %(vector)s::vector)").format(
        embedding=_column(table.embedding)
    )
    if recipe.hnsw is not None:
        # An index answers this form only; ties are put in order among the rows that it gave.
        return distance, "raw"
    # No index answers this form, so the scan is exact whatever indexes there are. A vector of
    # length 0 has no direction: its distance is NaN, and it is no candidate.
    exact = sql.SQL("nullif(1 - {distance}, 'NaN'::float8)").format(distance=distance)
    return exact, "raw DESC NULLS LAST, tie"


def _lexical(recipe: Recipe, table: Table) -> tuple[sql.Composable, sql.Composable, str]:
    """Return the value, the condition and the order of the lexical channel."""
    if table.tsvector is not None:
        terms: sql.Composable = _column(table.tsvector)
    else:
        assert table.text is not None
        terms = sql.SQL("to_tsvector(%(text_search)s::regconfig, {text})").format(
            text=_column(table.text)
        )
    query = sql.SQL(_ALL if recipe.match == "all" else _ANY)
    return (
        sql.SQL("ts_rank_cd({terms}, {query})::float8").format(terms=terms, query=query),
        sql.SQL("{terms} @@ {query}").format(terms=terms, query=query),
        "raw DESC, tie",
    )


_ALL = "websearch_to_tsquery(%(text_search)s::regconfig, %(question)s::text)"
# Lexemes are quoted as the input of a tsquery wants it: quotes and backslashes doubled.
_ANY = (
    r"(SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')"
    "::tsquery FROM unnest(to_tsvector(%(text_search)s::regconfig, %(question)s::text)))"
)


def _age(table: Table, store: Store) -> tuple[sql.Composable, sql.Composable]:
    """Return the age in days, and the column that it comes from; documents have none."""
    column = table.age_days or table.updated_at
    if store != "memory" or column is None:
        return sql.SQL("NULL::float8"), sql.SQL("NULL")
    if table.age_days is not None:
        return sql.SQL("nullif(dated::float8, 'NaN'::float8)"), _column(column)
    # The session's zone is UTC, which a date or a time without a zone is read in.
    return (
        sql.SQL(
            "CASE WHEN isfinite(dated::timestamptz) THEN extract(epoch FROM "
            "(%(as_of)s::timestamptz - dated::timestamptz))::float8 / 86400::float8 END"
        ),
        _column(column),
    )


def _conditions(table: Table, store: Store, filters: Sequence[str]) -> list[sql.Composable]:
    found: list[sql.Composable] = [
        # Without a cast the server reads the value as the column's type, and an index serves it.
        sql.SQL("{column} = {value}").format(
            column=_column(column), value=sql.Placeholder(f"{store}_where_{number}")
        )
        for number, column in enumerate(table.where)
    ]
    for number, name in enumerate(filters):
        value = sql.Placeholder(f"filter_{number}")
        if name == "path":
            assert table.path is not None
            condition = sql.SQL("starts_with(coalesce({column}::text, ''), {value}::text)")
            column = _column(table.path)
        elif name in table.tag_columns:
            condition = sql.SQL("{column} = {value}")
            column = _column(table.tag_columns[name])
        else:
            assert table.tags is not None
            condition = sql.SQL("{column} ->> {name}::text = {value}::text")
            column = _column(table.tags)
        found.append(
            condition.format(
                column=column, value=value, name=sql.Placeholder(f"filter_name_{number}")
            )
        )
    return found


def _may_see(column: str) -> sql.Composable:
    """Return the rule of ``corpus.may_see``: without a user the comparison is NULL, so not true."""
    return sql.SQL("({column} IS NULL OR %(user)s::text = ANY({column}))").format(
        column=_column(column)
    )


def _where(conditions: Sequence[sql.Composable]) -> sql.Composable:
    if not conditions:
        return sql.SQL("")
    return sql.SQL(" WHERE ") + sql.SQL(" AND ").join(conditions)


def _column(name: str) -> sql.SQL:
    return _quoted(sql.Identifier(name))


def _quoted(name: sql.Identifier) -> sql.SQL:
    """Double the percent signs of a name: the driver takes them for parameters."""
    return sql.SQL(name.as_string().replace("%", "%%"))
