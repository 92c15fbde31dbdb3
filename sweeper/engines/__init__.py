"""Engines answer queries. ``open_engine`` makes the one that a config describes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sweeper.corpus import Chunking, Corpus
from sweeper.engines.base import Engine
from sweeper.engines.embedded import EmbeddedEngine

if TYPE_CHECKING:
    from sweeper.config import Config
    from sweeper.embedders import Embedder
    from sweeper.engine_blocks import Embedder as EmbedderBlock

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
    assert corpus is not None  # this kind cannot be configured without one
    cut = block.chunking
    return EmbeddedEngine(
        corpus,
        embedder=open_embedder(block.embedder, config),
        chunking=Chunking(cut.kind, cut.size, cut.overlap),
        match=block.lexical.match,
        as_of=as_of,
        cache_dir=cache,
    )


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
