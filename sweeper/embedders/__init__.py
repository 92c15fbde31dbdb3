"""Embedders turn texts into vectors. The default needs no model, key or network."""

from sweeper.embedders.base import Embedder, Vectors, cosines, on_grid, squared_lengths
from sweeper.embedders.cached import CachedEmbedder
from sweeper.embedders.hashing import HashEmbedder
from sweeper.embedders.models import SentenceTransformerEmbedder
from sweeper.embedders.openai import OpenAIEmbedder
from sweeper.embedders.precomputed import PrecomputedEmbedder

__all__ = [
    "CachedEmbedder",
    "Embedder",
    "HashEmbedder",
    "OpenAIEmbedder",
    "PrecomputedEmbedder",
    "SentenceTransformerEmbedder",
    "Vectors",
    "cosines",
    "on_grid",
    "squared_lengths",
]
