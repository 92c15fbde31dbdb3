"""Engines answer queries. ``open_engine`` makes the one that a config describes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sweeper.corpus import Chunking, Corpus
from sweeper.engines.base import Engine
from sweeper.engines.embedded import EmbeddedEngine
from sweeper.errors import InputError

if TYPE_CHECKING:
    from sweeper.config import Config
    from sweeper.embedders import Embedder
    from sweeper.engine_blocks import EmbeddedBlock
    from sweeper.engine_blocks import Embedder as EmbedderBlock
    from sweeper.triples import Triple

__all__ = ["EmbeddedEngine", "Engine", "open_embedder", "open_engine"]


def open_engine(config: Config, corpus: Corpus | None, *, as_of: datetime, cache: Path) -> Engine:
    """Open the engine of a config.

    Parameters
    ----------
    config
        Its ``engine`` block is read.
    corpus
        What the engine searches, where the block names it.
    as_of
        The instant from which ages are measured.
    cache
        Folder for vectors that are dear to compute.

    Raises
    ------
    InputError
        If an extra that the block needs is not installed, or a model is missing.
    """
    block = config.file.engine
    if block.kind == "runs":
        from sweeper.engines.runs import RunsEngine

        files = {name: config.resolve(file) for name, file in block.channels.items()}
        return RunsEngine(files, corpus=corpus, as_of=as_of)
    if block.kind == "pool":
        from sweeper.engines.pool import PoolEngine

        return PoolEngine(config.resolve(block.file), as_of=config.as_of)
    if block.kind == "python":
        from sweeper.engines.python import PythonEngine

        folder = None if block.path is None else config.resolve(block.path)
        return PythonEngine(block.call, folder=folder, knobs=block.knobs)
    if block.kind == "http":
        from sweeper.engines.http import HttpEngine

        ca_file = None if block.ca_file is None else config.resolve(block.ca_file)
        return HttpEngine(block, as_of=as_of, ca_file=ca_file)
    if block.kind == "soat":
        from sweeper.engines.soat import SoatEngine

        ca_file = None if block.ca_file is None else config.resolve(block.ca_file)
        return SoatEngine(block, as_of=as_of, ca_file=ca_file)
    if block.kind == "postgres":
        try:
            from sweeper.engines.postgres_config import open_postgres
        except ImportError as error:
            raise InputError(
                f"PostgreSQL needs an extra that cannot be imported ({error}). "
                'Install it: pip install "path/to/sweeper[postgres]".'
            ) from error
        embedder = open_embedder(block.embedder, config)
        return open_postgres(block, corpus, embedder=embedder, as_of=as_of, cache=cache)
    assert corpus is not None  # this kind cannot be configured without one
    cut = block.chunking
    return EmbeddedEngine(
        corpus,
        embedder=open_embedder(block.embedder, config),
        chunking=Chunking(cut.kind, cut.size, cut.overlap),
        match=block.lexical.match,
        as_of=as_of,
        cache_dir=cache,
        triples=_triples(config, block, corpus),
        hops=2 if block.triples is None else block.triples.hops,
    )


def _triples(config: Config, block: EmbeddedBlock, corpus: Corpus) -> list[Triple] | None:
    if block.triples is None:
        return None
    from sweeper.extraction import extract
    from sweeper.formats.triples import read_triples

    pages = {entry.entry_id: entry.text for entry in corpus.entries}
    path = block.triples.path
    found = [] if path is None else list(read_triples(config.resolve(path), pages))
    if block.triples.extract:
        given = set(found)
        found += [triple for triple in extract(pages) if triple not in given]
    return found


def open_embedder(block: EmbedderBlock, config: Config) -> Embedder:
    """Open the embedder of an engine's block; its relative paths start at the config.

    Raises
    ------
    InputError
        If an extra that the block needs is not installed, or a model is missing.
    """
    from sweeper.embedders import (
        HashEmbedder,
        OpenAIEmbedder,
        PrecomputedEmbedder,
        SentenceTransformerEmbedder,
    )

    if block.kind == "hash":
        return HashEmbedder(block.dimensions)
    if block.kind == "sentence-transformers":
        local = config.resolve(block.model)
        return SentenceTransformerEmbedder(str(local) if local.exists() else block.model)
    if block.kind == "precomputed":
        return PrecomputedEmbedder(config.resolve(block.path))
    return OpenAIEmbedder(
        block.base_url, block.model, api_key_env=block.api_key_env, dimensions=block.dimensions
    )
