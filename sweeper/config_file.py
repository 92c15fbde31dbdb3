"""The shape of ``configs/*.yaml``: pydantic models, whose descriptions are the reference.

Engines and data sources are in ``engine_blocks``. What the content means, and every check across
keys, is in ``config``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from sweeper.constraints import Direction
from sweeper.engine_blocks import Block, EngineBlock, SourceBlock
from sweeper.golden import OVERALL

__all__ = ["ConfigFile", "PlotBlock", "SamplerBlock", "Scalar", "TableBlock"]

Scalar = str | bool | int | float | None  # with bool, or true would be read as 1


class SamplerBlock(Block):
    """How settings are proposed."""

    kind: Literal["grid"] = Field(default="grid", description="Every combination of the space.")


class PlotBlock(Block):
    """One trade-off plot."""

    x: str = Field(description="Figure on the x axis, e.g. `entity.recall@10`.")
    y: str = Field(description="Figure on the y axis, e.g. `freshness.mrr`.")


class TableBlock(Block):
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


class ConfigFile(Block):
    """One sweep."""

    name: NAME = Field(description="Names the folder under `results/`; letters, digits, `.-_`.")
    golden: str | SourceBlock = Field(description="Golden set, relative to the config.")
    engine: EngineBlock = Field(description="What answers the queries.")
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
