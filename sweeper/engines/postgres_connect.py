"""Connections to PostgreSQL: a pool, read-only transactions, retries, and errors in our words.

A password is never repeated: not in a message, nor in what a message is chained to.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

import psycopg
import psycopg_pool
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict

from sweeper.errors import EngineError, InputError

__all__ = ["Connection", "Connections", "conninfo_from"]

Connection: TypeAlias = psycopg.Connection[Any]
T = TypeVar("T")

_ATTEMPTS = 3
_CONNECT_SECONDS = 30.0
_SHOWN = 300  # characters of a server's message that ours repeats


def conninfo_from(dsn_env: str | None) -> str:
    """Return the connection string that an environment variable holds; libpq's own without one.

    Raises
    ------
    InputError
        If the variable is not set, or holds no connection string; it is not repeated.
    """
    if dsn_env is None:
        return ""
    conninfo = os.environ.get(dsn_env, "").strip()
    example = "such as postgresql://user:password@host:5432/database."
    if not conninfo:
        raise InputError(
            f"the environment variable {dsn_env} is not set; it must hold a connection string, "
            f"{example}"
        )
    try:
        conninfo_to_dict(conninfo)
    except psycopg.Error:
        raise InputError(
            f"the environment variable {dsn_env} holds no connection string. Write one {example}"
        ) from None
    return conninfo


class Connections:
    """A pool of connections to one database.

    Parameters
    ----------
    conninfo
        As libpq reads it; what it leaves out comes from the environment (``PGHOST``, ...).
    size
        Most connections at once.
    timeout_seconds
        Longest time of one statement.
    session
        Settings of the server for each transaction, e.g. ``hnsw.ef_search``.
    create_extension
        Installs pgvector in the database if it is not there.

    Raises
    ------
    EngineError
        If the database cannot be reached.
    InputError
        If it has no pgvector.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        size: int,
        timeout_seconds: float,
        session: Mapping[str, str] | None = None,
        create_extension: bool = False,
    ) -> None:
        self._conninfo = conninfo
        self._timeout_seconds = timeout_seconds
        # A time without a zone is read as UTC.
        self._session = {
            "statement_timeout": str(max(1, round(timeout_seconds * 1000))),
            "TimeZone": "UTC",
            **(session or {}),
        }
        given = conninfo_to_dict(conninfo).get("password")
        self._secrets = [str(s) for s in (given, os.environ.get("PGPASSWORD")) if s]
        # First without the pool, which would hide why it fails.
        with self._connected() as connection:
            if create_extension:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            _know_vectors(connection)
        self._pool = psycopg_pool.ConnectionPool(
            conninfo,
            min_size=1,
            max_size=size,
            open=True,
            timeout=_CONNECT_SECONDS,
            configure=_configure,
            check=psycopg_pool.ConnectionPool.check_connection,
            kwargs={"autocommit": True},
        )

    @contextlib.contextmanager
    def alone(self) -> Iterator[Connection]:
        """Open one connection beside the pool, which may write."""
        with self._connected() as connection:
            _know_vectors(connection)
            yield connection

    def read(self, work: Callable[[Connection], T]) -> T:
        """Call ``work`` in one read-only transaction; again on another connection if this is lost.

        Raises
        ------
        EngineError
            If a statement fails or takes too long, or no connection can be had.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            with self._in_our_words(), self._pool.connection() as connection:
                try:
                    with connection.pipeline(), connection.transaction():
                        for name, value in self._session.items():
                            connection.execute("SELECT set_config(%s, %s, true)", (name, value))
                        return work(connection)
                except psycopg.OperationalError:
                    if attempt == _ATTEMPTS or not connection.broken:
                        raise
        raise AssertionError("a retry loop returns or raises")

    def close(self) -> None:
        self._pool.close()

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Connection]:
        with (
            self._in_our_words(),
            psycopg.connect(
                self._conninfo, autocommit=True, connect_timeout=int(_CONNECT_SECONDS)
            ) as connection,
        ):
            yield connection

    @contextlib.contextmanager
    def _in_our_words(self) -> Iterator[None]:
        try:
            yield
        except psycopg_pool.PoolTimeout:
            raise EngineError(
                f"PostgreSQL: no connection within {_CONNECT_SECONDS:g} s. Check that the server "
                "runs and has connections left, or lower connections."
            ) from None
        except psycopg.errors.QueryCanceled:
            raise EngineError(
                f"PostgreSQL: a statement took more than {self._timeout_seconds:g} s. Raise "
                "statement_timeout_seconds, or index the column."
            ) from None
        except psycopg.Error as error:
            raise EngineError(f"PostgreSQL: {self._redacted(error)}") from None

    def _redacted(self, error: psycopg.Error) -> str:
        text = " ".join((error.diag.message_primary or str(error)).split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        text = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
        text = text.rstrip(".") + "."
        if "vector dimensions" in text:
            text += " The embedder must be the one that made the vectors in the table."
        return text


def _configure(connection: Connection) -> None:
    _know_vectors(connection)
    connection.read_only = True
    # All channels of a question see the same rows.
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    # Each plan is made for its values, and a pooler between us and the server does no harm.
    connection.prepare_threshold = None


def _know_vectors(connection: Connection) -> None:
    try:
        register_vector(connection)
    except psycopg.ProgrammingError:
        raise InputError(
            "the database has no pgvector, or not in the search_path. Install it there: "
            "CREATE EXTENSION vector."
        ) from None
