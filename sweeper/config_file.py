"""The shape of ``configs/*.yaml``: pydantic models, whose descriptions are the reference.

Engines and data sources are in ``engine_blocks``. What the content means, and every check across
keys, is in ``config``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from sweeper.constraints import Direction
from sweeper.engine_blocks import Block, EngineBlock, GoldenBlock
from sweeper.golden import OVERALL

__all__ = ["ConfigFile", "PlotBlock", "SamplerBlock", "Scalar", "TableBlock"]

Scalar = str | bool | int | float | None  # with bool, or true would be read as 1


class SamplerBlock(Block):
    """How settings are proposed."""

    kind: Literal["grid", "random", "qmc", "tpe", "nsga2"] = Field(
        default="grid",
        description="`grid`: every combination. `random`, `qmc`: points drawn at once. `tpe`, "
        "`nsga2`: Optuna's, told the figures batch by batch.",
    )
    n_trials: int | None = Field(
        default=None, ge=0, le=1_000_000, description="Budget: how many settings to try."
    )
    seed: int = Field(default=0, ge=0, le=2**32 - 1, description="Seeds every draw.")
    batch_size: int = Field(
        default=16,
        ge=2,
        le=1000,
        description="Settings asked of `tpe` and `nsga2` before the next figures are told; of "
        "`nsga2` a generation.",
    )
    sequence: Literal["sobol", "halton"] = Field(
        default="sobol", description="Which quasi-random sequence `qmc` draws."
    )
    warm_start: str | None = Field(
        default=None,
        description="An earlier sweep whose settings `tpe` and `nsga2` begin with, e.g. "
        "`recency` or `recency/1a2b3c4d`.",
    )


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


NAME = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


def _default_objectives() -> dict[str, Direction]:
    return {f"{OVERALL}.mrr": "maximize"}


class ConfigFile(Block):
    """One sweep."""

    name: NAME = Field(description="Names the folder under `results/`; letters, digits, `.-_`.")
    golden: str | GoldenBlock = Field(description="Golden set, relative to the config.")
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
    current: dict[str, Any] = Field(
        default_factory=dict, description="The settings that run today: knob to value."
    )
    space: dict[str, Any] = Field(
        default_factory=dict,
        description="Knob to the values to try; every combination is a trial. A list, or "
        "`{low, high, step}`, `{low, high, n, log}`, `{low, high}` for a sampler, `{values}`; each "
        "with `also` and `when`.",
    )
    arms: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Named settings to try besides the space: name to the knobs that differ from "
        "today's.",
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
