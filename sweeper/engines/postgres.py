"""The PostgreSQL engine: pgvector and full text search, in a real server (extra ``postgres``).

It reads an existing database, or loads a corpus into a schema of its own, in a server that it
starts (``bundled``) or in a given one. Vector channel: cosine similarity as pgvector gives it,
which computes in 32 bits. Lexical channel: ``ts_rank_cd`` over a text search configuration. Equal
values stand in corpus order, or in the order of the configured column. What a question's user may
not see is left out by the server, as its filter leaves rows out; tables that have no column of
principals refuse a question with a user.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from sweeper.corpus import STORES, Item, Store, age_of, chunk
from sweeper.embedders import CachedEmbedder, Embedder, HashEmbedder, PrecomputedEmbedder, Vectors
from sweeper.engines.bundled import LOCALE, bundled_versions
from sweeper.engines.postgres_connect import Connection
from sweeper.engines.postgres_open import Database, open_database
from sweeper.engines.postgres_search import ranking_parameters, search_statement
from sweeper.engines.postgres_source import CHANNELS, Existing, Hnsw, Match, Recipe, Scratch
from sweeper.engines.postgres_sql import (
    candidates_statement,
    filter_problem,
    parameters,
    user_problem,
)
from sweeper.engines.postgres_tables import count_rows, versions
from sweeper.errors import EngineError, InputError
from sweeper.golden import ItemId, Query
from sweeper.pools import Candidate, QueryCandidates
from sweeper.settings import Settings

__all__ = ["PostgresEngine"]

_VERSION = 1  # of the answers: raise it whenever the same request may be answered otherwise
_QUESTIONS_PER_TRANSACTION = 16
_MOST_CONNECTIONS = 4  # unless told otherwise
_NEED_NO_CACHE = (HashEmbedder, PrecomputedEmbedder, CachedEmbedder)


class PostgresEngine:
    """Searches with a PostgreSQL server. Make it once, ask it often, close it.

    A corpus is loaded when the engine is first asked; an existing database is looked at here.

    Parameters
    ----------
    source
        What to search.
    embedder
        Makes the vectors of queries, and of a corpus's items. For an existing database it must be
        the one that made the vectors there.
    text_search
        Text search configuration.
    match
        ``any``: rows with any token of the query; ``all``: what ``websearch_to_tsquery`` asks for.
    hnsw
        Approximate neighbours from an HNSW index. ``None`` scans exactly, whatever indexes exist.
    as_of
        The instant that ages are measured from; a naive one is UTC.
    cache_dir
        Vectors are kept here between runs. ``None`` keeps none.
    n_connections
        Most connections at once, which is also how many threads may ask.
    timeout_seconds
        Longest time of one statement.

    Raises
    ------
    InputError
        If two items share an id, a table or column is missing or of another type, or there is no
        pgvector.
    EngineError
        If an existing database cannot be reached.
    """

    channels: tuple[str, ...] = CHANNELS
    knobs: frozenset[str] | None = None

    def __init__(
        self,
        source: Existing | Scratch,
        *,
        embedder: Embedder,
        text_search: str = "simple",
        match: Match = "any",
        hnsw: Hnsw | None = None,
        as_of: datetime,
        cache_dir: str | Path | None = None,
        n_connections: int | None = None,
        timeout_seconds: float = 30.0,
    ) -> None:
        self._source = source
        if cache_dir is not None and not isinstance(embedder, _NEED_NO_CACHE):
            embedder = CachedEmbedder(embedder, cache_dir)
        self._embedder = embedder
        self._text_search = text_search
        self._match: Match = match
        self._hnsw = hnsw
        self._as_of = as_of.replace(tzinfo=UTC) if as_of.tzinfo is None else as_of.astimezone(UTC)
        self.n_threads = n_connections or min(_MOST_CONNECTIONS, os.cpu_count() or 1)
        self._timeout_seconds = timeout_seconds
        self._embedding, self._opening = threading.Lock(), threading.Lock()
        self._closed = False
        self._undo = contextlib.ExitStack()
        self._opened: Database | None = None
        self._items: tuple[Item, ...] = ()
        if isinstance(source, Scratch):
            try:
                self._items = chunk(source.corpus, source.chunking)
            except ValueError as error:
                raise InputError(f"{error}.") from error
            memories = (item for item in self._items if item.store == "memory")
            statuses = Counter(age_of(item.entry, self._as_of).status for item in memories)
            names = ("known", "missing", "unparseable", "future")
            self._ages = {name: statuses[name] for name in names}  # type: ignore[index]
            sizes = Counter(item.store for item in self._items)
            self._sizes: dict[Store, int] = {store: sizes[store] for store in STORES}
        else:
            opened = self._open()
            try:
                self._sizes, self._ages = opened.connections.read(
                    lambda connection: count_rows(connection, opened.recipe)
                )
                self._versions = opened.connections.read(versions)
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> PostgresEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def fingerprint(self) -> str | None:
        if (
            isinstance(self._source, Existing)
            or self._source.conninfo is not None
            or self._hnsw is not None  # built otherwise each time
        ):
            return None
        chunking = self._source.chunking
        cut: str = chunking.kind
        if cut == "size":
            cut += f":{chunking.size}:{chunking.overlap}"
        server, pgvector = bundled_versions()
        return " ".join(
            (
                f"postgres/{_VERSION}",
                f"embedder={self._embedder.name}",
                f"chunking={cut}",
                f"match={self._match}",
                f"text_search={self._text_search}",
                f"corpus={self._source.corpus.digest}",
                f"server={server}",
                f"pgvector={pgvector}",
                f"locale={LOCALE}",
            )
        )

    @property
    def provenance(self) -> dict[str, Any]:
        said: dict[str, Any] = {
            "kind": "postgres",
            "embedder": self._embedder.name,
            "match": self._match,
            "text_search": self._text_search,
            "index": "exact" if self._hnsw is None else {"kind": "hnsw", **asdict(self._hnsw)},
            "as_of": self._as_of.isoformat(),
            "items": dict(self._sizes),
            "ages": dict(self._ages),
        }
        if isinstance(self._source, Existing):
            said["server"], said["pgvector"] = self._versions
            said["tables"] = {
                store: {"name": table.name, "columns": table.columns}
                for store, table in self._source.tables.items()
            }
            return said
        chunking = self._source.chunking
        said["corpus"] = self._source.corpus.digest
        said["chunking"] = {
            "kind": chunking.kind,
            "size": chunking.size,
            "overlap": chunking.overlap,
        }
        if self._source.conninfo is None:
            said["server"], said["pgvector"] = bundled_versions()
        return said

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        if depth < 1:
            raise ValueError(f"depth must be at least 1, got {depth}")
        opened = self._open()
        vectors = self._embed([query.text for query in queries])
        size = _QUESTIONS_PER_TRANSACTION
        shares = [
            opened.workers.submit(
                self._ask,
                opened,
                queries[start : start + size],
                vectors[start : start + size],
                depth,
            )
            for start in range(0, len(queries), size)
        ]
        try:
            return [answer for share in shares for answer in share.result()]
        finally:  # after a failure or an interruption nobody waits for the rest
            for share in shares:
                share.cancel()

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        opened = self._open()
        settings = settings.for_class(query.query_class)
        stores = [
            store
            for store in self._stores(opened.recipe, query)
            if settings.stores in {"all", store}
        ]
        searched = {name: tuple(stores) for name in CHANNELS if settings.weight(name) > 0}
        if not any(searched.values()):
            return []
        names = _filter_names(query)
        statement = opened.statement(
            ("search", tuple(searched.items()), names),
            lambda: search_statement(opened.recipe, searched, names),
        )
        [vector] = self._embed([query.text])
        told = parameters(
            opened.recipe,
            query.text,
            vector,
            query.filter,
            settings.effective_depth,
            query.user,
        ) | ranking_parameters(settings)

        def work(connection: Connection) -> list[ItemId]:
            return [row[0] for row in connection.execute(statement, told)]

        # Among the workers, so that there are never more statements than connections.
        return opened.workers.submit(opened.connections.read, work).result()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._undo.close()
            close = getattr(self._embedder, "close", None)  # a connection, if it has one
            if close is not None:
                close()

    def _open(self) -> Database:
        """Connect, and load the corpus, at first use: a sweep whose pool is kept needs neither."""
        with self._opening:
            if self._closed:
                raise EngineError("the engine is closed; make a new one.")
            if self._opened is None:
                # All of it or nothing: a failure may be asked again.
                with contextlib.ExitStack() as undo:
                    self._opened = open_database(
                        self._source,
                        self._items,
                        self._embed,
                        undo,
                        text_search=self._text_search,
                        match=self._match,
                        hnsw=self._hnsw,
                        as_of=self._as_of,
                        n_connections=self.n_threads,
                        timeout_seconds=self._timeout_seconds,
                    )
                    self._undo = undo.pop_all()
            return self._opened

    def _ask(
        self, opened: Database, queries: Sequence[Query], vectors: Vectors, depth: int
    ) -> list[QueryCandidates]:
        if self._closed:
            raise EngineError("the engine was closed.")
        plans: list[tuple[int, str, Store, str, dict[str, Any]]] = []
        for number, (query, vector) in enumerate(zip(queries, vectors, strict=True)):
            told = parameters(opened.recipe, query.text, vector, query.filter, depth, query.user)
            names = _filter_names(query)
            for store in self._stores(opened.recipe, query):
                for channel in CHANNELS:
                    statement = opened.statement(
                        (channel, store, names),
                        partial(candidates_statement, opened.recipe, channel, store, names),
                    )
                    plans.append((number, channel, store, statement, told))

        def work(connection: Connection) -> list[list[Any]]:
            asked = [
                connection.cursor(binary=True).execute(statement, told)
                for _, _, _, statement, told in plans
            ]
            return [cursor.fetchall() for cursor in asked]

        found: list[dict[tuple[str, Store], Sequence[Candidate]]] = [
            {(channel, store): () for channel in CHANNELS for store in STORES} for _ in queries
        ]
        answers = opened.connections.read(work)
        for (number, channel, store, _, _), rows in zip(plans, answers, strict=True):
            found[number][channel, store] = [
                Candidate(item, key, store, value, math.nan if age is None else age)
                for item, key, value, age in rows
            ]
        for rows_of in found:
            _check_ids(rows_of, opened.recipe)
        return [QueryCandidates(q.query_id, rows) for q, rows in zip(queries, found, strict=True)]

    def _stores(self, recipe: Recipe, query: Query) -> list[Store]:
        """Return the stores that a question may search."""
        stores = [s for s in recipe.tables if query.filter.get("store", s) == s]
        for store in stores:
            problem = filter_problem(recipe.tables[store], query.filter)
            if problem is None and isinstance(self._source, Existing):
                # A loaded corpus without principals is public, whoever asks.
                problem = user_problem(recipe.tables[store], query.user)
            if problem is not None:
                raise EngineError(f"question {query.query_id!r}: {problem} of the {store} table.")
        return stores

    def _embed(self, texts: Sequence[str]) -> Vectors:
        with self._embedding:  # an embedder serves one thread
            return self._embedder.embed(texts)


def _filter_names(query: Query) -> tuple[str, ...]:
    return tuple(name for name in query.filter if name != "store")


def _check_ids(rows: Mapping[tuple[str, Store], Sequence[Candidate]], recipe: Recipe) -> None:
    """Refuse ids that do not tell rows apart: fusion would add up the scores of different rows."""
    seen: dict[Store, set[ItemId]] = {store: set() for store in STORES}
    for (_, store), found in rows.items():
        ids = {row.item_id for row in found}
        table = recipe.tables.get(store)
        if table is not None and (None in ids or any(row.key is None for row in found)):
            raise EngineError(
                f"{table.name}: a row has no id or key. Leave such rows out, for example by a view "
                f'that has no NULL in "{table.item_id}" and "{table.key}".'
            )
        if table is not None and len(ids) != len(found):
            raise EngineError(
                f'{table.name}: the column "{table.item_id}" does not tell rows apart. Name a '
                "unique one as id, and what chunks have in common as key."
            )
        seen[store] |= ids
    shared = seen["document"] & seen["memory"]
    if shared:
        raise EngineError(
            f"a document and a memory share the id {min(shared)!r}. Give one table a prefix."
        )
