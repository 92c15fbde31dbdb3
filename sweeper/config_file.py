"""The shape of ``configs/*.yaml``: pydantic models, whose descriptions are the reference.

What the content means, and every check across keys, is in ``config``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from sweeper.constraints import Direction
from sweeper.golden import OVERALL

__all__ = [
    "ChunkingBlock",
    "ConfigFile",
    "EmbeddedBlock",
    "HashBlock",
    "LexicalBlock",
    "OpenAIBlock",
    "PlotBlock",
    "PrecomputedBlock",
    "SamplerBlock",
    "Scalar",
    "SentenceTransformersBlock",
    "SourceBlock",
    "TableBlock",
]

Scalar = str | bool | int | float | None  # with bool, or true would be read as 1


class _Block(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False)


class SourceBlock(_Block):
    """A data file and how its fields are called."""

    path: str = Field(description="File or folder, relative to the config.")
    fields: dict[str, str] = Field(
        default_factory=dict,
        description="Our name to the file's name, e.g. `{query: q, expected: gold}`.",
    )
    made_by: str | None = Field(
        default=None, description="Command that makes the file, shown while it is missing."
    )


class HashBlock(_Block):
    """The built-in feature hasher: lexical, needs no model."""

    kind: Literal["hash"]
    dimensions: int = Field(default=1024, ge=1, le=65_536, description="Length of a vector.")


class SentenceTransformersBlock(_Block):
    """A local sentence-transformers model (extra `models`)."""

    kind: Literal["sentence-transformers"]
    model: str = Field(description="Folder of the model, or its name if it is cached locally.")


class OpenAIBlock(_Block):
    """Any OpenAI-compatible `/embeddings` endpoint (extra `http`)."""

    kind: Literal["openai"]
    base_url: str = Field(description="Address up to and without `/embeddings`.")
    model: str = Field(description="Name of the model, sent with each request.")
    api_key_env: str | None = Field(
        default="OPENAI_API_KEY", description="Environment variable that holds the key, or null."
    )
    dimensions: int | None = Field(default=None, ge=1, description="Asked for, if set.")


class PrecomputedBlock(_Block):
    """Vectors made elsewhere, one per text."""

    kind: Literal["precomputed"]
    path: str = Field(
        description="JSONL, Parquet or NPZ with texts and vectors, relative to the config."
    )


Embedder = Annotated[
    HashBlock | SentenceTransformersBlock | OpenAIBlock | PrecomputedBlock,
    Field(discriminator="kind"),
]


class LexicalBlock(_Block):
    """The lexical channel."""

    match: Literal["any", "all"] = Field(
        default="any",
        description="`any`: rows with any term, by BM25. `all`: rows with every term, read as a "
        "web search box reads it.",
    )


class ChunkingBlock(_Block):
    """How documents are cut."""

    kind: Literal["whole", "size", "section"] = Field(
        default="whole", description="One chunk, windows of `size`, or one chunk per heading."
    )
    size: int = Field(default=1000, ge=1, description="Code points of a window.")
    overlap: int = Field(default=200, ge=0, description="Code points shared by two windows.")


class EmbeddedBlock(_Block):
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


class SamplerBlock(_Block):
    """How settings are proposed."""

    kind: Literal["grid"] = Field(default="grid", description="Every combination of the space.")


class PlotBlock(_Block):
    """One trade-off plot."""

    x: str = Field(description="Figure on the x axis, e.g. `entity.recall@10`.")
    y: str = Field(description="Figure on the y axis, e.g. `freshness.mrr`.")


class TableBlock(_Block):
    """The table that `sweep run` prints: one knob's values, the others as they are today."""

    knob: str | None = Field(
        default=None, description="Defaults to the half-life, else the first knob of the space."
    )
    columns: list[str] = Field(
        default_factory=list, description="Figures; by default those of objectives and plots."
    )


KnobValues = dict[str, Scalar | list[Scalar] | dict[str, Scalar | list[Scalar]]]
NAME = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


def _default_objectives() -> dict[str, Direction]:
    return {f"{OVERALL}.mrr": "maximize"}


class ConfigFile(_Block):
    """One sweep."""

    name: NAME = Field(description="Names the folder under `results/`; letters, digits, `.-_`.")
    golden: str | SourceBlock = Field(description="Golden set, relative to the config.")
    engine: EmbeddedBlock = Field(description="What answers the queries.")
    as_of: str | None = Field(
        default=None,
        description="Instant from which ages are measured (ISO 8601; naive is UTC). Without it, "
        "the instant of the first capture.",
    )
    limit: Scalar = Field(default=10, description="Rows returned.")
    depth: Scalar = Field(
        default=None, description="Rows taken per channel and store; `limit` unless set."
    )
    current: dict[str, Scalar | list[Scalar] | dict[str, Scalar]] = Field(
        default_factory=dict, description="The settings that run today."
    )
    space: KnobValues = Field(
        default_factory=dict, description="Knob to the values to try; every combination is a trial."
    )
    sampler: SamplerBlock = Field(default_factory=SamplerBlock, description="How to choose trials.")
    metrics: list[str] = Field(
        default_factory=lambda: ["recall@5", "recall@10", "mrr"],
        min_length=1,
        description="What to record per slice and overall.",
    )
    objectives: dict[str, Direction] = Field(
        default_factory=_default_objectives,
        min_length=1,
        description="Figure to `maximize` or `minimize`; the first decides, the next break ties.",
    )
    constraints: list[str] = Field(
        default_factory=list,
        description="Bounds such as `entity.recall@10 >= current` or `overall.mrr >= 0.8`.",
    )
    plots: list[PlotBlock] = Field(
        default_factory=list, description="Trade-off plots; by default the first two objectives."
    )
    table: TableBlock = Field(default_factory=TableBlock, description="The printed table.")
