"""The shape of a config's data sources and engines: pydantic models, one per kind.

Their descriptions are the reference. What the content means is in ``config``; each engine reads its
own block in ``engines``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Block",
    "ChunkingBlock",
    "EmbeddedBlock",
    "Embedder",
    "EngineBlock",
    "HashBlock",
    "LexicalBlock",
    "OpenAIBlock",
    "PrecomputedBlock",
    "SentenceTransformersBlock",
    "SourceBlock",
]


class Block(BaseModel):
    """Base of every block: unknown keys are refused, nothing changes after reading."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False)


class SourceBlock(Block):
    """A data file and how its fields are called."""

    path: str = Field(description="File or folder, relative to the config.")
    fields: dict[str, str] = Field(
        default_factory=dict,
        description="Our name to the file's name, e.g. `{query: q, expected: gold}`.",
    )
    made_by: str | None = Field(
        default=None, description="Command that makes the file, shown while it is missing."
    )


class HashBlock(Block):
    """The built-in feature hasher: lexical, needs no model."""

    kind: Literal["hash"]
    dimensions: int = Field(default=1024, ge=1, le=65_536, description="Length of a vector.")


class SentenceTransformersBlock(Block):
    """A local sentence-transformers model (extra `models`)."""

    kind: Literal["sentence-transformers"]
    model: str = Field(description="Folder of the model, or its name if it is cached locally.")


class OpenAIBlock(Block):
    """Any OpenAI-compatible `/embeddings` endpoint (extra `http`)."""

    kind: Literal["openai"]
    base_url: str = Field(description="Address up to and without `/embeddings`.")
    model: str = Field(description="Name of the model, sent with each request.")
    api_key_env: str | None = Field(
        default="OPENAI_API_KEY", description="Environment variable that holds the key, or null."
    )
    dimensions: int | None = Field(default=None, ge=1, description="Asked for, if set.")


class PrecomputedBlock(Block):
    """Vectors made elsewhere, one per text."""

    kind: Literal["precomputed"]
    path: str = Field(
        description="JSONL, Parquet or NPZ with texts and vectors, relative to the config."
    )


Embedder = Annotated[
    HashBlock | SentenceTransformersBlock | OpenAIBlock | PrecomputedBlock,
    Field(discriminator="kind"),
]


class LexicalBlock(Block):
    """The lexical channel."""

    match: Literal["any", "all"] = Field(
        default="any",
        description="`any`: rows with any term, by BM25. `all`: rows with every term, read as a "
        "web search box reads it.",
    )


class ChunkingBlock(Block):
    """How documents are cut."""

    kind: Literal["whole", "size", "section"] = Field(
        default="whole", description="One chunk, windows of `size`, or one chunk per heading."
    )
    size: int = Field(default=1000, ge=1, description="Code points of a window.")
    overlap: int = Field(default=200, ge=0, description="Code points shared by two windows.")


class EmbeddedBlock(Block):
    """The in-process engine: SQLite FTS5 and exact cosine."""

    kind: Literal["embedded"] = Field(description="Which engine.")
    corpus: str | SourceBlock = Field(description="Corpus file or folder, relative to the config.")
    embedder: Embedder = Field(
        default_factory=lambda: HashBlock(kind="hash"), description="Makes the vectors."
    )
    lexical: LexicalBlock = Field(default_factory=LexicalBlock, description="Lexical channel.")
    chunking: ChunkingBlock = Field(
        default_factory=ChunkingBlock, description="How documents are cut."
    )


EngineBlock = EmbeddedBlock
"""Any engine; its ``kind`` says which."""
