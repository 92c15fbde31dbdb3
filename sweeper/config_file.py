"""The shape of ``configs/*.yaml``: pydantic models, whose descriptions are the reference.

Engines and data sources are in ``engine_blocks``. What the content means, and every check across
keys, is in ``config``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from sweeper.constraints import Direction
from sweeper.engine_blocks import Block, EngineBlock, GoldenBlock
from sweeper.golden import OVERALL

__all__ = [
    "ClassesBlock",
    "ConfigFile",
    "PlotBlock",
    "ReadersBlock",
    "SamplerBlock",
    "Scalar",
    "TableBlock",
    "UsageBlock",
]

Scalar = str | bool | int | float | None  # with bool, or true would be read as 1


NAME = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


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


class ReadersBlock(Block):
    """Simulated readers, to measure a usefulness prior before there is a log."""

    questions: str | GoldenBlock = Field(
        description="What they ask, and the pages that answer it: a golden set of its own."
    )
    interactions: int = Field(ge=0, le=1_000_000, description="How many questions they ask.")
    seed: int = Field(default=0, ge=0, le=2**32 - 1, description="Seeds every draw.")
    position_bias: float = Field(
        default=1.0, ge=0, le=10, description="Position i is looked at with probability i ** -bias."
    )
    wrong: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="Chance that a page that was looked at is judged wrongly.",
    )
    per_day: int = Field(default=50, ge=1, le=100_000, description="Interactions a day.")
    offered: int = Field(default=8, ge=1, le=100, description="Pages shown for a question.")
    feedback: bool = Field(
        default=False,
        description="Whether pages are offered in the order of the prior learned so far, so that "
        "it feeds on its own mistakes.",
    )


class UsageBlock(Block):
    """One usage log: a file, or simulated readers."""

    path: str | None = Field(
        default=None, description="JSON lines (or JSON), relative to the config."
    )
    fields: dict[str, str] = Field(
        default_factory=dict,
        description="Our name to the file's name, e.g. `{offered: results, cited: clicks}`.",
    )
    simulate: ReadersBlock | None = Field(default=None, description="Simulated readers.")

    @model_validator(mode="after")
    def _check_source(self) -> UsageBlock:
        if (self.path is None) == (self.simulate is None):
            raise ValueError("give either a path, or simulate.")
        if self.fields and self.path is None:
            raise ValueError("fields are those of a file. Give its path, or leave them out.")
        return self


class ClassesBlock(Block):
    """A function of the user's own that names a question's class."""

    call: str = Field(description="`module:function`, which takes a question's text.")
    path: str | None = Field(
        default=None, description="Folder of the module, relative to the config."
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
        default_factory=list,
        description="Figures; by default those of objectives and plots, or with arms the overall "
        "figures of all metrics.",
    )


def _default_objectives() -> dict[str, Direction]:
    return {f"{OVERALL}.mrr": "maximize"}


class ConfigFile(Block):
    """One sweep."""

    name: NAME = Field(description="Names the folder under `results/`; letters, digits, `.-_`.")
    golden: str | GoldenBlock = Field(description="Golden set, relative to the config.")
    engine: EngineBlock = Field(description="What answers the queries.")
    classes: Literal["rules", "golden"] | ClassesBlock | None = Field(
        default=None,
        description="How questions get their classes: by sweeper's `rules`, from the `golden` "
        "rows, or by a function. Without it, by rules where a knob names a class.",
    )
    usage: dict[NAME, UsageBlock] = Field(
        default_factory=dict,
        description="Usage logs that the usefulness prior learns from, by name; `prior.log` "
        "chooses one, by default the first.",
    )
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
        "today's, or from those of the arm above that `from` names.",
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
