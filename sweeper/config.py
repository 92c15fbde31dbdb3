"""The config of one sweep: ``configs/*.yaml`` in, a checked ``Config`` out.

The file's shape is in ``config_file``. Every problem names file, line, key and remedy, and all come
at once. Problems that need the golden set are found by ``Config.check_figures``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sweeper.config_captures import engine_block, texts_of
from sweeper.config_file import ConfigFile, PlotBlock
from sweeper.config_problems import Located, Location, got
from sweeper.config_space import named_knobs, read_arms, read_current, read_space
from sweeper.constraints import Constraint, Objective, parse_constraint, split_address
from sweeper.corpus import parse_instant
from sweeper.engine_blocks import GoldenBlock, SourceBlock
from sweeper.errors import InputError, Problem, did_you_mean
from sweeper.files import read_text
from sweeper.formats.golden_rows import WHOLE_FILE_SLICE
from sweeper.formats.yaml_text import YamlDocument, load_yaml
from sweeper.golden import OVERALL, GoldenSet
from sweeper.knobs import CAPTURE_PREFIX, PRIOR_KNOBS, Value, channel_of, knob_name
from sweeper.metrics import Metric, parse_metrics
from sweeper.runs import Judgments
from sweeper.settings import Settings
from sweeper.spaces import SearchSpace

__all__ = ["MAX_TRIALS", "Config", "load_config"]

MAX_TRIALS = 1_000_000
"""A grid with more combinations is refused before anything is built."""


@dataclass(frozen=True, slots=True)
class Config:
    """A checked config: the file's content and what it means.

    ``path`` is where it was read, and relative paths in it start from there. ``overridden`` are
    the keys that did not come from there.
    """

    path: Path
    file: ConfigFile
    current: Settings
    space: SearchSpace
    arms: tuple[tuple[str, Settings], ...]
    metrics: tuple[Metric, ...]
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    as_of: datetime | None
    document: YamlDocument
    overridden: frozenset[Location] = frozenset()

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def depth(self) -> int:
        """The deepest that any trial asks for."""
        limits = [int(value or 0) for value in self.space.values("limit")]
        depths = [self.current.effective_depth, *(arm.effective_depth for _, arm in self.arms)]
        for depth in self.space.values("depth"):
            depths += limits if depth is None else [int(depth)]
        return max(depths)

    @property
    def limit(self) -> int:
        """The most rows that any trial returns."""
        arms = [arm.limit for _, arm in self.arms]
        limits = [int(value or 0) for value in self.space.values("limit")]
        return max(self.current.limit, *limits, *arms)

    def with_engine(self, captured: Mapping[str, Value]) -> Config:
        """Return this config with another engine: some of its keys have other values.

        Raises
        ------
        InputError
            If the engine does not take this combination.
        """
        if dict(captured) == dict(self.current.capture):
            return self
        try:
            block = engine_block(self.file, captured)
        except ValidationError as error:
            said = ", ".join(f"{name}={value}" for name, value in captured.items())
            raise InputError(
                f"{self.path}: the engine does not take {said} together "
                f"({error.errors()[0]['msg']})."
            ) from error
        return replace(self, file=self.file.model_copy(update={"engine": block}))

    def resolve(self, path: str) -> Path:
        """Return a path of the config, relative to where the config is; ``~nobody`` stays."""
        return self.path.parent / os.path.expanduser(path)  # noqa: PTH111 (pathlib raises)

    def existing(self, source: SourceBlock) -> Path:
        """Return where a source is.

        Raises
        ------
        InputError
            If it is missing and the config says how to make it.
        """
        path = self.resolve(source.path)
        if source.made_by is not None and not path.exists():
            message = f"there is no such file. Make it with: {source.made_by}"
            raise InputError(Problem(message, str(path)))
        return path

    @property
    def classes(self) -> tuple[str, ...]:
        """Question classes that some knob names, in the order of the config."""
        names = (name for name, _ in named_knobs(self.file) if name.startswith("routing."))
        return tuple(dict.fromkeys(name.split(".")[1] for name in names))

    @property
    def golden(self) -> GoldenBlock:
        source = self.file.golden
        return GoldenBlock(path=source) if isinstance(source, str) else source

    @property
    def corpus(self) -> SourceBlock | None:
        """Where the corpus is, if the engine is given one."""
        source: str | SourceBlock | None = getattr(self.file.engine, "corpus", None)
        return SourceBlock(path=source) if isinstance(source, str) else source

    @property
    def table_knob(self) -> str | None:
        """The knob whose values the printed table lists."""
        if self.file.table.knob is not None:
            return knob_name(self.file.table.knob)
        listed = [name for name in self.space.knobs if name in self.space.choices]
        if "recency_half_life_days" in listed:
            return "recency_half_life_days"
        return next(iter(listed), None)

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Addresses of the printed table's figures."""
        if self.file.table.columns:
            return tuple(self.file.table.columns)
        if self.arms:  # they are compared in everything that is recorded
            return tuple(f"{OVERALL}.{metric}" for metric in self.metrics)
        wanted = [item.address for item in self.objectives]
        for plot in self.plots:
            wanted += [plot.y, plot.x]
        for address in list(wanted):
            group, _ = split_address(address)
            wanted += [f"{group}.{metric}" for metric in self.metrics if str(metric) == "mrr"]
        texts = [str(metric) for metric in self.metrics]
        wanted += [f"{OVERALL}.{'mrr' if 'mrr' in texts else texts[0]}"]
        return tuple(dict.fromkeys(wanted))[:6]

    @property
    def plots(self) -> tuple[PlotBlock, ...]:
        """The trade-off plots to draw."""
        if self.file.plots or len(self.objectives) < 2:
            return tuple(self.file.plots)
        return (PlotBlock(x=self.objectives[1].address, y=self.objectives[0].address),)

    @property
    def adaptive(self) -> bool:
        """Whether the sampler is told figures, so that its trials are not known beforehand."""
        return self.file.sampler.kind in {"tpe", "nsga2"}

    def spec(self) -> dict[str, Any]:
        """Return what identifies the sweep: the config without how its results are shown."""
        shown = {"plots", "table"}
        return self.file.model_dump(mode="json", exclude=shown, exclude_defaults=True)

    def captured_files(self) -> dict[str, Path]:
        """Return the files that values of the engine's keys name, by the text that names them."""
        values = [value for _, arm in self.arms for value in arm.capture.values()]
        for name in self.space.knobs:
            if name.startswith(CAPTURE_PREFIX) and name in self.space.choices:
                values += self.space.values(name)
        found = {}
        for text in sorted({text for value in values for text in texts_of(value)}):
            with contextlib.suppress(OSError, ValueError):  # no path
                if self.resolve(text).is_file():
                    found[text] = self.resolve(text)
        return found

    def check_figures(self, golden: GoldenSet) -> None:
        """Check that every figure the config names exists in the golden set.

        Raises
        ------
        InputError
            With the line of each figure whose slice is missing, and of each objective and
            constraint in the config that no question has a value for.
        """
        problems = Located(self.path, self.document, self.overridden)
        groups = (*golden.slices, OVERALL)
        asked = self.file.model_fields_set & {"objectives", "constraints"}
        for location, address in self._addresses():
            group, metric = split_address(address)
            if group not in groups:
                hint = did_you_mean(group, groups)
                if golden.slices == (WHOLE_FILE_SLICE,):
                    hint = "No field of it is read as the slice: golden: {fields: {slice: ...}}."
                problems.at(location, f'the golden set has no slice "{group}". {hint}')
            elif metric not in self.metrics:
                problems.at(
                    location,
                    f'"{metric}" is not among this sweep\'s metrics. Add it under metrics.',
                )
            elif location[0] in asked and not _is_defined(group, metric, golden):
                within = "" if group == OVERALL else f" of slice {group}"
                problems.at(location, f"no question{within} has a {metric}. Choose another figure.")
        problems.raise_if_any()

    def check_channels(self, channels: Sequence[str]) -> None:
        """Check that every channel that is given a weight exists.

        Raises
        ------
        InputError
            With the line of each weight whose channel is missing.
        """
        problems = Located(self.path, self.document, self.overridden)
        for name, location in named_knobs(self.file):
            channel = channel_of(name)
            if channel is not None and channel not in channels:
                hint = did_you_mean(channel, channels)
                problems.at(location, f'the engine has no channel "{channel}". {hint}')
        problems.raise_if_any()

    def check_prior(self) -> None:
        """Refuse a usefulness prior where no candidates are shown that it could multiply.

        Raises
        ------
        InputError
            With the line of each of its knobs.
        """
        problems = Located(self.path, self.document, self.overridden)
        for name, location in named_knobs(self.file):
            if name in PRIOR_KNOBS:
                problems.at(location, "the engine shows no candidates, so no prior applies here.")
        problems.raise_if_any()

    def check_knobs(self, obeyed: frozenset[str] | None) -> None:
        """Check that the engine obeys every knob of the config; ``None`` is an engine that does.

        Raises
        ------
        InputError
            With the line of each knob that would be swept or set in vain.
        """
        if obeyed is None:
            return
        problems = Located(self.path, self.document, self.overridden)
        for name, location in named_knobs(self.file):
            if name.startswith("routing."):  # a question is asked with what its class has
                channel = channel_of(name)
                name = "limit" if channel is None else f"weights.{channel}"
            if name not in obeyed and not name.startswith(CAPTURE_PREFIX):
                known = ", ".join(sorted(obeyed)) or "none"
                problems.at(
                    location,
                    "the engine is not told this knob, so it changes nothing. Name it in the "
                    f"engine's block; it is told: {known}.",
                )
        problems.raise_if_any()

    def _addresses(self) -> list[tuple[Location, str]]:
        found: list[tuple[Location, str]] = []
        found += [(("objectives", item.address), item.address) for item in self.objectives]
        found += [(("constraints", n), c.address) for n, c in enumerate(self.constraints)]
        for number, plot in enumerate(self.file.plots):
            found += [(("plots", number, "x"), plot.x), (("plots", number, "y"), plot.y)]
        found += [(("table", "columns", n), a) for n, a in enumerate(self.file.table.columns)]
        return found


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read and check a config.

    Parameters
    ----------
    path
        A YAML file.
    overrides
        Texts such as ``space.rrf_k=[5,20]``; the value is YAML.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    path = Path(path)
    document = load_yaml(read_text(path), path)
    data = document.data
    if not isinstance(data, dict):
        raise InputError(f"{path}: must be a mapping of keys, such as `name: recency`, {got(data)}")
    overridden = frozenset(_override(data, text) for text in overrides)
    problems = Located(path, document, overridden)
    try:
        file = ConfigFile.model_validate(data)
    except ValidationError as error:
        problems.add_all(error.errors())
        problems.raise_if_any()
        raise AssertionError("pydantic reported no error") from error
    return _interpret(path, document, file, problems)


def _override(data: dict[str, Any], text: str) -> Location:
    key, sign, value = text.partition("=")
    steps = key.strip().split(".")
    if not sign or not all(steps):
        raise InputError(f'--set "{text}": write key=value, for example space.rrf_k=[5,20,60].')
    parsed = load_yaml(value, f"--set {key.strip()}").data
    node = data
    # A channel weight has a dot in its name, so the last two steps may be one key.
    if len(steps) > 2 and steps[-2] == "weights":
        steps[-2:] = [".".join(steps[-2:])]
    for step in steps[:-1]:
        child = node.setdefault(step, {})
        if not isinstance(child, dict):
            raise InputError(f'--set "{text}": {step} is not a mapping of keys.')
        node = child
    node[steps[-1]] = parsed
    return tuple(steps)


def _interpret(path: Path, document: YamlDocument, file: ConfigFile, problems: Located) -> Config:
    """Turn the file's content into settings, a space, metrics, objectives and constraints."""
    current = read_current(file, problems)
    space = read_space(file, current, problems)
    arms = read_arms(file, current, problems)
    metrics: list[Metric] = []
    for number, text in enumerate(file.metrics):
        try:
            metrics += parse_metrics([text])
        except ValueError as error:
            problems.at(("metrics", number), str(error))
    objectives = [Objective(a.strip(), d) for a, d in file.objectives.items()]
    for address in file.objectives:
        _check_address(address, ("objectives", address), problems)
    constraints = []
    for number, text in enumerate(file.constraints):
        try:
            constraints.append(parse_constraint(text))
        except ValueError as error:
            problems.at(("constraints", number), str(error))
    for number, plot in enumerate(file.plots):
        _check_address(plot.x, ("plots", number, "x"), problems)
        _check_address(plot.y, ("plots", number, "y"), problems)
    for number, address in enumerate(file.table.columns):
        _check_address(address, ("table", "columns", number), problems)
    if file.table.knob is not None and knob_name(file.table.knob) not in space.knobs:
        known = did_you_mean(file.table.knob, space.knobs) if space.knobs else "The space is empty."
        problems.at(("table", "knob"), f"must be a knob of the space. {known}")
    as_of = None
    if file.as_of is not None:
        as_of = parse_instant(file.as_of)
        if as_of is None:
            problems.at(
                ("as_of",),
                f"must be an ISO 8601 date or time, e.g. 2026-11-01T00:00:00Z, got {file.as_of!r}.",
            )
    _check_sampler(file, space, problems)
    problems.raise_if_any()
    return Config(
        path=path,
        file=file,
        current=current,
        space=space,
        arms=arms,
        metrics=tuple(dict.fromkeys(metrics)),
        objectives=tuple(objectives),
        constraints=tuple(constraints),
        as_of=as_of,
        document=document,
        overridden=problems.overridden,
    )


def _check_sampler(file: ConfigFile, space: SearchSpace, problems: Located) -> None:
    """Check that the space fits its sampler, and that the sweep has a size."""
    sampler = file.sampler
    budget = sampler.n_trials
    if sampler.kind == "grid":
        if budget is not None:
            problems.at(
                ("sampler", "n_trials"),
                "a grid tries every combination. Choose random, qmc, tpe or nsga2 for a budget.",
            )
        for name in space.spans:
            problems.at(
                ("space", name),
                "has no end of values: a grid needs step or n. Or choose a sampler.",
            )
        size = space.size
        if size is not None and size > MAX_TRIALS:
            problems.at(("space",), _too_many(size, space))
    elif budget is None:
        problems.at(("sampler",), f"{sampler.kind} needs n_trials, the number of settings to try.")
    elif not space.knobs:
        problems.at(("space",), f"is empty, so {sampler.kind} has nothing to draw.")
    if sampler.warm_start is not None and sampler.kind not in {"tpe", "nsga2"}:
        problems.at(("sampler", "warm_start"), f"{sampler.kind} is not told figures. Leave it out.")


def _too_many(size: int, space: SearchSpace) -> str:
    longest = sorted(space.choices, key=lambda name: -len(space.choices[name]))[:3]
    knobs = ", ".join(f"{name} has {len(space.choices[name])}" for name in longest)
    return (
        f"{size} combinations are more than {MAX_TRIALS} ({knobs} values). Try fewer values per "
        "knob, make a knob depend on another (when), or give a budget: "
        "sampler: {kind: random, n_trials: 1000}."
    )


def _is_defined(group: str, metric: Metric, golden: GoldenSet) -> bool:
    """Return whether a question of a slice has a value of a metric, whatever the setting."""
    mine = tuple(query for query in golden.queries if group in {query.slice, OVERALL})
    return len(metric.queries(Judgments(GoldenSet(mine)))) > 0


def _check_address(address: str, location: Location, problems: Located) -> None:
    try:
        split_address(address)
    except ValueError as error:
        problems.at(location, str(error))
