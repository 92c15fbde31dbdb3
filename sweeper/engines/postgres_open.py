"""From what is to be searched to a database that can be asked: connect, check, load.

Everything that is opened is undone in the opposite order by the exit stack that was given.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from psycopg import sql

from sweeper.corpus import Item
from sweeper.embedders import Vectors
from sweeper.engines.bundled import BundledServer
from sweeper.engines.postgres_connect import Connections
from sweeper.engines.postgres_load import load
from sweeper.engines.postgres_source import Existing, Hnsw, Match, Recipe, Scratch
from sweeper.engines.postgres_tables import check_tables, check_text_search
from sweeper.errors import EngineError

__all__ = ["Database", "open_database"]


@dataclass(frozen=True, slots=True)
class Database:
    """What is there once the database can be asked.

    ``workers`` are as many threads as there are connections; ``statements`` are those composed so
    far.
    """

    connections: Connections
    workers: ThreadPoolExecutor
    recipe: Recipe
    statements: dict[tuple[Any, ...], str] = field(default_factory=dict)

    def statement(self, key: tuple[Any, ...], compose: Callable[[], sql.Composed]) -> str:
        """Compose a statement once: the driver too remembers what it has parsed."""
        if key not in self.statements:
            self.statements[key] = compose().as_string()
        return self.statements[key]


def open_database(
    source: Existing | Scratch,
    items: Sequence[Item],
    embed: Callable[[Sequence[str]], Vectors],
    undo: contextlib.ExitStack,
    *,
    text_search: str,
    match: Match,
    hnsw: Hnsw | None,
    as_of: datetime,
    n_connections: int,
    timeout_seconds: float,
) -> Database:
    """Connect to an existing database, or load a corpus.

    Parameters
    ----------
    source
        What to search.
    items
        Those of the corpus, where there is one.
    embed
        Makes their vectors.
    undo
        Told how to close all that is opened here.
    text_search, match, hnsw, as_of, n_connections, timeout_seconds
        As for the engine.

    Raises
    ------
    InputError
        If tables, columns or the text search configuration do not fit, or something cannot be
        stored.
    EngineError
        If the database cannot be reached, or the embedder fails.
    """
    conninfo = source.conninfo
    if conninfo is None:
        server = BundledServer()
        undo.callback(server.stop)
        conninfo = server.conninfo
    connections = Connections(
        conninfo,
        size=n_connections,
        timeout_seconds=timeout_seconds,
        session=_session(hnsw),
        create_extension=isinstance(source, Scratch),
    )
    undo.callback(connections.close)
    connections.read(lambda connection: check_text_search(connection, text_search))
    if isinstance(source, Existing):
        tables = source.tables
        connections.read(lambda connection: check_tables(connection, tables))
    else:
        schema = f"sweeper_{secrets.token_hex(8)}"
        if source.conninfo is not None:
            undo.callback(_drop, connections, schema)
        with connections.alone() as connection:
            tables = load(
                connection,
                schema,
                items,
                embed,
                as_of=as_of,
                text_search=text_search,
                hnsw=hnsw,
            )
    workers = ThreadPoolExecutor(n_connections, thread_name_prefix="postgres")
    undo.callback(workers.shutdown, cancel_futures=True)
    return Database(connections, workers, Recipe(tables, text_search, match, hnsw, as_of))


def _session(hnsw: Hnsw | None) -> dict[str, str]:
    if hnsw is None:
        return {}
    found = {"hnsw.ef_search": str(hnsw.ef_search)}
    if hnsw.iterative_scan != "off":  # pgvector below 0.8 does not know the name
        found["hnsw.iterative_scan"] = hnsw.iterative_scan
    return found


def _drop(connections: Connections, schema: str) -> None:
    with contextlib.suppress(EngineError), connections.alone() as connection:
        connection.execute(
            sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema))
        )
