"""The shape of a config's data sources and engines: pydantic models, one per kind.

Their descriptions are the reference. What the content means is in ``config``; each engine reads its
own block in ``engines``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    StrictInt,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from sweeper.block import Block
from sweeper.http_blocks import HttpBlock, SoatBlock
from sweeper.knobs import knob

__all__ = [
    "Block",
    "ChunkingBlock",
    "EmbeddedBlock",
    "Embedder",
    "EngineBlock",
    "GoldenBlock",
    "HashBlock",
    "HnswBlock",
    "HttpBlock",
    "LexicalBlock",
    "OpenAIBlock",
    "PoolBlock",
    "PostgresBlock",
    "PrecomputedBlock",
    "PythonBlock",
    "RunsBlock",
    "SentenceTransformersBlock",
    "SoatBlock",
    "SourceBlock",
    "StoreBlock",
    "TriplesBlock",
]


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


class GoldenBlock(SourceBlock):
    """The golden set's file; qrels may have the texts of their questions beside them."""

    topics: str | None = Field(
        default=None,
        description="Texts of the questions of TREC qrels, relative to the config: "
        "`id<TAB>text` lines, `<top>` blocks, or JSONL. Without it, a question's text is its id.",
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
    overlap: int = Field(
        default=200,
        ge=0,
        validate_default=True,
        description="Code points shared by two windows.",
    )

    @field_validator("overlap")
    @classmethod
    def _check_overlap(cls, overlap: int, info: ValidationInfo) -> int:
        if info.data.get("kind") == "size" and overlap >= info.data.get("size", overlap + 1):
            raise ValueError(f"must be smaller than size, got {overlap}.")
        return overlap


def _as_path(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


class TriplesBlock(Block):
    """Typed facts, a third channel: pages reached from the entities that a question names."""

    path: str | None = Field(
        default=None,
        description="Triples (JSON, JSON lines, YAML, CSV or TSV), relative to the config.",
    )
    extract: bool = Field(
        default=False, description="Also take the triples that five plain rules find in the pages."
    )
    hops: int = Field(default=2, ge=1, le=4, description="How far a walk goes.")

    @model_validator(mode="after")
    def _check_source(self) -> TriplesBlock:
        if self.path is None and not self.extract:
            raise ValueError("give a path, or `extract: true`.")
        return self


Triples = Annotated[TriplesBlock, BeforeValidator(_as_path)]


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
    triples: Triples | None = Field(
        default=None, description="Typed facts for the `triples` channel: a file, or a block."
    )


class StoreBlock(Block):
    """Where an existing database has the rows of one store: a table or view, and its columns.

    A memory that was cut, or a document, has several rows of one `key`.
    """

    table: str = Field(description="Table or view, with its schema before a dot.")
    id: str = Field(default="id", description="Column that tells rows apart.")
    key: str | None = Field(
        default=None, description="Column of what the golden set names; `id` unless given."
    )
    text: str | None = Field(
        default=None, description="Column of the text, tokenised as it is searched."
    )
    tsvector: str | None = Field(
        default=None, description="Column that holds the tokens already, in place of `text`."
    )
    embedding: str = Field(default="embedding", description="Column of type `vector`.")
    updated_at: str | None = Field(
        default=None, description="Column of a date or time (without a zone: UTC); memories age."
    )
    age_days: str | None = Field(
        default=None, description="Column of the age at `as_of`, in place of `updated_at`."
    )
    tags: str | None = Field(
        default=None, description="Column of a JSON object that a question's filter looks into."
    )
    tag_columns: dict[str, str] = Field(
        default_factory=dict, description="Name in a question's filter to its own column."
    )
    path: str | None = Field(
        default=None, description="Column that a question's `path` is a prefix of."
    )
    principals: str | None = Field(
        default=None,
        description="Column of type `text[]`: the users and groups who may see a row. NULL is "
        "everybody, `{}` nobody. A question's `user` needs it.",
    )
    where: dict[str, str | StrictInt] = Field(
        default_factory=dict,
        description="Column to the value that the rows have, e.g. `{store: memory}`.",
    )
    prefix: str = Field(
        default="", description="Put before ids and keys: two tables that count from 1 need it."
    )
    order: str | None = Field(
        default=None, description="Column that breaks ties, ascending; `id` unless given."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.text is None) == (self.tsvector is None):
            raise ValueError("name the column of the text, or of its tokens as tsvector.")
        if self.updated_at is not None and self.age_days is not None:
            raise ValueError("name updated_at or age_days, not both.")
        if self.table.count(".") > 1:
            raise ValueError("name the table, with at most a schema before a dot.")
        return self


class HnswBlock(Block):
    """Approximate neighbours from an HNSW index of pgvector, as a deployment has them."""

    kind: Literal["hnsw"]
    ef_search: int = Field(default=40, ge=1, le=1000, description="`hnsw.ef_search`.")
    iterative_scan: Literal["off", "strict_order", "relaxed_order"] = Field(
        default="relaxed_order",
        description="`hnsw.iterative_scan` (pgvector 0.8): goes on until enough rows pass a filter "
        "or the depth is reached.",
    )


class PostgresBlock(Block):
    """PostgreSQL with pgvector and full text search (extra `postgres`).

    Either a corpus is loaded into a schema of its own, or an existing database is read.
    """

    kind: Literal["postgres"] = Field(description="Which engine.")
    corpus: str | SourceBlock | None = Field(
        default=None, description="Corpus to load, relative to the config."
    )
    server: Literal["bundled"] | None = Field(
        default=None,
        description="`bundled`: a server of our own, which a corpus gets without `dsn_env` anyway.",
    )
    dsn_env: str | None = Field(
        default=None,
        description="Environment variable that holds the connection string. Without it, existing "
        "tables are found by libpq's own: `PGHOST`, `PGUSER`, `PGPASSWORD`, ...",
    )
    documents: StoreBlock | None = Field(default=None, description="Where documents are.")
    memories: StoreBlock | None = Field(default=None, description="Where memories are.")
    embedder: Embedder = Field(
        default_factory=lambda: HashBlock(kind="hash"),
        description="Makes the vectors; for existing tables, the one that made those in them.",
    )
    text_search: str = Field(
        default="simple", min_length=1, description="Text search configuration."
    )
    lexical: LexicalBlock = Field(
        default_factory=LexicalBlock,
        description="Lexical channel, by `ts_rank_cd`; `all` is `websearch_to_tsquery`.",
    )
    index: Literal["exact"] | HnswBlock = Field(
        default="exact", description="How the nearest vectors are found."
    )
    chunking: ChunkingBlock = Field(
        default_factory=ChunkingBlock, description="How a corpus's documents are cut."
    )
    connections: int | None = Field(
        default=None, ge=1, le=64, description="At once; as many as processors, at most 4."
    )
    statement_timeout_seconds: float = Field(
        default=30.0, gt=0, le=86_400, description="Longest time of one statement."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        tables = self.documents is not None or self.memories is not None
        if self.corpus is None and not tables:
            raise ValueError("needs a corpus to load, or documents or memories in a database.")
        if self.corpus is not None and tables:
            raise ValueError("a corpus is loaded into tables of its own: leave it or them out.")
        if self.server is not None and self.dsn_env is not None:
            raise ValueError("the bundled server needs no dsn_env: leave one of the two out.")
        if tables and self.server is not None:
            raise ValueError("the bundled server is empty: give it a corpus, or leave it out.")
        if tables and "chunking" in self.model_fields_set:
            raise ValueError("tables hold chunks already: leave chunking out.")
        return self


class RunsBlock(Block):
    """TREC run files as channels: whatever made them need not be reachable."""

    kind: Literal["runs"] = Field(description="Which engine.")
    channels: dict[
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")], str
    ] = Field(
        min_length=1,
        description="Channel name to run file, relative to the config. The floor acts on the "
        "scores of `vector`.",
    )
    corpus: str | SourceBlock | None = Field(
        default=None,
        description="Tells stores and ages, and whose chunk `id@3` is, relative to the config. "
        "Without it every row is a document without an age.",
    )


class PoolBlock(Block):
    """A pool that somebody captured: the search itself need not be reachable."""

    kind: Literal["pool"] = Field(description="Which engine.")
    file: str = Field(
        description="What `sweep capture --out` wrote, relative to the config. Its questions, "
        "stores and ages are as they were captured."
    )


class PythonBlock(Block):
    """A function of yours that answers, as a black box."""

    kind: Literal["python"] = Field(description="Which engine.")
    call: str = Field(
        description="`module:function`, called as `function(query, settings, user=None, "
        "filter=None)`; returns ids, best first."
    )
    path: str | None = Field(
        default=None, description="Folder of the module, relative to the config."
    )
    knobs: list[str] | None = Field(
        default=None, description="Knobs that the function obeys; all of them unless given."
    )

    @field_validator("knobs")
    @classmethod
    def _are_knobs(cls, names: list[str] | None) -> list[str] | None:
        for name in names or ():
            try:
                knob(name)
            except KeyError as error:
                raise ValueError(f"{error.args[0]}") from error
        return names


EngineBlock = Annotated[
    EmbeddedBlock | PostgresBlock | HttpBlock | SoatBlock | PythonBlock | RunsBlock | PoolBlock,
    Field(discriminator="kind"),
]
"""Any engine; its ``kind`` says which."""
