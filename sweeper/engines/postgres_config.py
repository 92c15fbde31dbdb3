"""The PostgreSQL engine that a config's block describes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from sweeper.corpus import Chunking, Corpus, Store
from sweeper.embedders import Embedder
from sweeper.engine_blocks import PostgresBlock, StoreBlock
from sweeper.engines.postgres import PostgresEngine
from sweeper.engines.postgres_connect import conninfo_from
from sweeper.engines.postgres_source import Existing, Hnsw, Scratch, Table

__all__ = ["open_postgres"]


def open_postgres(
    block: PostgresBlock,
    corpus: Corpus | None,
    *,
    embedder: Embedder,
    as_of: datetime,
    cache: Path | None,
) -> PostgresEngine:
    """Open the engine of a block.

    Parameters
    ----------
    block
        Its embedder is opened already.
    corpus
        Loaded, where the block names one.
    embedder
        Closed with the engine.
    as_of
        The instant from which ages are measured.
    cache
        Folder for vectors that are dear to compute.

    Raises
    ------
    InputError
        If the environment has no connection string, or an existing database's tables do not fit.
    EngineError
        If an existing database cannot be reached.
    """
    source: Existing | Scratch
    if corpus is None:
        blocks: dict[Store, StoreBlock | None] = {
            "document": block.documents,
            "memory": block.memories,
        }
        tables = {store: _table(found) for store, found in blocks.items() if found is not None}
        source = Existing(conninfo_from(block.dsn_env), tables)
    else:
        cut = block.chunking
        conninfo = None if block.dsn_env is None else conninfo_from(block.dsn_env)
        source = Scratch(corpus, Chunking(cut.kind, cut.size, cut.overlap), conninfo)
    index = block.index
    return PostgresEngine(
        source,
        embedder=embedder,
        text_search=block.text_search,
        match=block.lexical.match,
        hnsw=None if index == "exact" else Hnsw(index.ef_search, index.iterative_scan),
        as_of=as_of,
        cache_dir=cache,
        n_connections=block.connections,
        timeout_seconds=block.statement_timeout_seconds,
    )


def _table(block: StoreBlock) -> Table:
    return Table(
        name=block.table,
        item_id=block.id,
        key=block.key or block.id,
        order=block.order or block.id,
        embedding=block.embedding,
        text=block.text,
        tsvector=block.tsvector,
        updated_at=block.updated_at,
        age_days=block.age_days,
        tags=block.tags,
        tag_columns=block.tag_columns,
        path=block.path,
        principals=block.principals,
        where={column: str(value) for column, value in block.where.items()},
        prefix=block.prefix,
    )
