"""The config of one sweep: ``configs/*.yaml`` in, a checked ``Config`` out.

The file's shape is in ``config_file``. Every problem names file, line, key and remedy, and all come
at once. Problems that need the golden set are found by :meth:`Config.check_figures`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from sweeper.config_file import ConfigFile, PlotBlock, SamplerBlock, Scalar, TableBlock
from sweeper.constraints import Constraint, Objective, parse_constraint, split_address
from sweeper.corpus import parse_instant
from sweeper.engine_blocks import (
    ChunkingBlock,
    EmbeddedBlock,
    HashBlock,
    LexicalBlock,
    OpenAIBlock,
    PrecomputedBlock,
    SentenceTransformersBlock,
    SourceBlock,
)
from sweeper.errors import InputError, Problem, Problems, did_you_mean
from sweeper.files import read_text
from sweeper.formats.yaml_text import YamlDocument, load_yaml
from sweeper.golden import OVERALL, GoldenSet
from sweeper.knobs import KNOBS, SearchSpace, Settings, Value, knob
from sweeper.metrics import Metric, parse_metrics

__all__ = ["MAX_TRIALS", "Config", "load_config"]

MAX_TRIALS = 1_000_000
"""A grid with more combinations is refused before anything is built."""

Location = tuple[str | int, ...]


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
        settings = [self.current, *(self.space.base,)]
        depths = [item.effective_depth for item in settings]
        limits = [v for v in self.space.choices.get("limit", ()) if v is not None]
        asked = self.space.choices.get("depth", (self.space.base.depth,))
        for depth in asked:
            depths += [int(depth)] if depth is not None else [int(v) for v in limits]
        return max(depths)

    @property
    def limit(self) -> int:
        """The most rows that any trial returns."""
        return max(self.current.limit, *(int(v or 0) for v in self.limits))

    @property
    def limits(self) -> tuple[Value, ...]:
        return self.space.choices.get("limit", (self.space.base.limit,))

    def resolve(self, path: str) -> Path:
        """Return a path of the config, relative to where the config is."""
        return self.path.parent / Path(path).expanduser()

    def existing(self, source: SourceBlock) -> Path:
        """Return where a source is.

        Raises
        ------
        InputError
            If it is missing and the config says how to make it.
        """
        path = self.resolve(source.path)
        if source.made_by is not None and not path.exists():
            raise InputError(Problem(f"missing. Make it with: {source.made_by}", str(path)))
        return path

    @property
    def golden(self) -> SourceBlock:
        source = self.file.golden
        return SourceBlock(path=source) if isinstance(source, str) else source

    @property
    def corpus(self) -> SourceBlock | None:
        """Where the corpus is, if the engine is given one."""
        source: str | SourceBlock | None = getattr(self.file.engine, "corpus", None)
        return SourceBlock(path=source) if isinstance(source, str) else source

    @property
    def table_knob(self) -> str | None:
        """The knob whose values the printed table lists."""
        if self.file.table.knob is not None:
            return self.file.table.knob
        if "recency_half_life_days" in self.space.choices:
            return "recency_half_life_days"
        return next(iter(self.space.choices), None)

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Addresses of the printed table's figures."""
        if self.file.table.columns:
            return tuple(self.file.table.columns)
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

    def spec(self) -> dict[str, Any]:
        """Return what identifies the sweep: the config without how its results are shown."""
        return self.file.model_dump(mode="json", exclude={"plots", "table"})

    def check_figures(self, golden: GoldenSet) -> None:
        """Check that every figure the config names exists in the golden set.

        Raises
        ------
        InputError
            With the line of each figure whose slice is missing, and of each objective and
            constraint in the config that no question has a value for.
        """
        problems = _Located(self.path, self.document, self.overridden)
        groups = (*golden.slices, OVERALL)
        asked = self.file.model_fields_set & {"objectives", "constraints"}
        for location, address in self._addresses():
            group, metric = split_address(address)
            if group not in groups:
                problems.at(
                    location,
                    f'the golden set has no slice "{group}". {did_you_mean(group, groups)}',
                )
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
        problems = _Located(self.path, self.document, self.overridden)
        named = _flat(self.file.current, ("current",)) + _flat(self.file.space, ("space",))
        for name, _, location in named:
            channel = name.removeprefix("weights.")
            if channel != name and channel not in channels:
                hint = did_you_mean(channel, channels)
                problems.at(location, f'the engine has no channel "{channel}". {hint}')
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
        raise InputError(f"{path}: a config is a mapping of keys, such as `name: recency`.")
    overridden = frozenset(_override(data, text) for text in overrides)
    problems = _Located(path, document, overridden)
    try:
        file = ConfigFile.model_validate(data)
    except ValidationError as error:
        found = error.errors()
        for item in found:
            # Of the branches of a union only the one that reached deeper was meant.
            if not _reaches_deeper(item, found):
                problems.add_pydantic(item)
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


class _Located(Problems):
    """Problems of a config, addressed by key instead of by line."""

    def __init__(self, path: Path, document: YamlDocument, overridden: frozenset[Location]) -> None:
        super().__init__(path)
        self._document = document
        self.overridden = overridden
        self._seen: set[Location] = set()

    def at(self, location: Location, message: str) -> None:
        """Add a problem of one key; the first one of a key is enough."""
        if location in self._seen:
            return
        self._seen.add(location)
        line = self._document.line_of(location)
        if any(location[: len(key)] == key for key in self.overridden):
            self.add(f"{message} (It was given by --set.)", where=_dotted(location))
        else:
            self.add(message, line=line, where=_dotted(location))

    def add_pydantic(self, error: Mapping[str, Any]) -> None:
        """Add one error of pydantic, in our words."""
        location = _location(error)
        kind, message = error["type"], str(error["msg"])
        if kind == "extra_forbidden":
            known = _known_keys(location[:-1])
            message = f"unknown key. {did_you_mean(str(location[-1]), known)}"
        elif kind == "missing":
            message = "this key is missing."
        elif kind == "string_pattern_mismatch":
            message = f"may hold letters, digits, dots, dashes and underscores, {_got(error)}"
        elif kind in {"literal_error", "union_tag_invalid"}:
            expected = error["ctx"].get("expected") or error["ctx"].get("expected_tags")
            message = f"must be {expected}, {_got(error)}"
        elif kind == "too_short":
            message = "needs at least one entry."
        elif _is_one_of_many(error):
            message = f"must be one value, {_got(error)}"
        elif kind == "string_type":
            message = f"must be text, {_got(error)}"
        elif kind == "string_too_long":
            message = f"may have at most {error['ctx']['max_length']} characters, {_got(error)}"
        elif kind.startswith("int_"):
            message = f"must be an integer, {_got(error)}"
        elif kind == "greater_than_equal":
            message = f"must be at least {error['ctx']['ge']}, {_got(error)}"
        elif kind == "less_than_equal":
            message = f"must be at most {error['ctx']['le']}, {_got(error)}"
        elif kind == "list_type":
            message = f"must be a list, such as [a, b], {_got(error)}"
        elif kind in {"dict_type", "model_type", "model_attributes_type"}:
            message = f"must be a mapping of keys, {_got(error)}"
        elif kind == "union_tag_not_found":
            message = "needs a kind: hash, sentence-transformers, openai or precomputed."
        else:
            message = f"{message[0].lower()}{message[1:]}, {_got(error)}"
        self.at(location, message)


def _is_branch(step: str | int) -> bool:
    """Return whether pydantic put this step in to name a branch of a union."""
    text = str(step)
    return text in _BRANCHES or "[" in text


_SCALARS = {("str",), ("bool",), ("int",), ("float",), ("none",)}
_BRANCHES = {
    *("str", "bool", "int", "float", "none", "SourceBlock"),
    *("hash", "sentence-transformers", "openai", "precomputed"),
}


def _is_one_of_many(error: Mapping[str, Any]) -> bool:
    """Return whether a list or a mapping stands where text, a number or a word could."""
    return isinstance(error["input"], list | dict) and error["loc"][-1:] in _SCALARS


def _reaches_deeper(error: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether another error stands inside the value of this one."""
    own = _location(error)
    locations = [_location(other) for other in others]
    return any(len(item) > len(own) and item[: len(own)] == own for item in locations)


def _location(error: Mapping[str, Any]) -> Location:
    return tuple(step for step in error["loc"] if not _is_branch(step))


def _got(error: Mapping[str, Any]) -> str:
    value = error.get("input")
    if isinstance(value, dict):
        return "got a mapping."
    if isinstance(value, list):
        return "got a list."
    text = "null" if value is None else repr(value)
    if isinstance(value, bool):
        text = text.lower()
    return f"got {text if len(text) <= 60 else text[:57] + '...'}."


def _known_keys(location: Location) -> list[str]:
    """Return the keys that the block at a location may hold."""
    blocks: dict[Location, Sequence[type[BaseModel]]] = {
        (): [ConfigFile],
        ("golden",): [SourceBlock],
        ("engine",): [EmbeddedBlock],
        ("engine", "corpus"): [SourceBlock],
        ("engine", "embedder"): [
            HashBlock,
            SentenceTransformersBlock,
            OpenAIBlock,
            PrecomputedBlock,
        ],
        ("engine", "lexical"): [LexicalBlock],
        ("engine", "chunking"): [ChunkingBlock],
        ("sampler",): [SamplerBlock],
        ("table",): [TableBlock],
    }
    found = blocks.get(location, [PlotBlock] if location[:1] == ("plots",) else [ConfigFile])
    return list(dict.fromkeys(name for block in found for name in block.model_fields))


def _dotted(location: Location) -> str:
    return ".".join(str(step) for step in location)


def _interpret(path: Path, document: YamlDocument, file: ConfigFile, problems: _Located) -> Config:
    """Turn the file's content into settings, a space, metrics, objectives and constraints."""
    shared: dict[str, Value] = {}
    for name in ("limit", "depth"):
        raw = getattr(file, name)
        if name in file.model_fields_set:
            _read_knob(name, raw, (name,), shared, problems)
    current = dict(shared)
    for name, raw, location in _flat(file.current, ("current",)):
        if isinstance(raw, list):
            problems.at(location, "must be one value, got a list.")
        else:
            _read_knob(name, raw, location, current, problems)
    values: dict[str, tuple[Value, ...]] = {}
    for name, raw, location in _flat(file.space, ("space",)):
        values[name] = _read_values(name, raw, location, problems)

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
    if file.table.knob is not None and file.table.knob not in values:
        known = did_you_mean(file.table.knob, values) if values else "The space is empty."
        problems.at(("table", "knob"), f"must be a knob of the space. {known}")
    chunking = file.engine.chunking
    if chunking.kind == "size" and chunking.overlap >= chunking.size:
        problems.at(("engine", "chunking", "overlap"), "must be smaller than size.")
    as_of = None
    if file.as_of is not None:
        as_of = parse_instant(file.as_of)
        if as_of is None:
            problems.at(
                ("as_of",),
                f"must be an ISO 8601 date or time, e.g. 2026-11-01T00:00:00Z, got {file.as_of!r}.",
            )
    problems.raise_if_any()
    settings = Settings().with_values(current)
    space = SearchSpace(settings, values)
    if space.size > MAX_TRIALS:
        problems.at(
            ("space",),
            f"{space.size} combinations are more than {MAX_TRIALS}. Try fewer values per knob.",
        )
    problems.raise_if_any()
    return Config(
        path=path,
        file=file,
        current=settings,
        space=space,
        metrics=tuple(dict.fromkeys(metrics)),
        objectives=tuple(objectives),
        constraints=tuple(constraints),
        as_of=as_of,
        document=document,
        overridden=problems.overridden,
    )


def _is_defined(group: str, metric: Metric, golden: GoldenSet) -> bool:
    """Return whether a question of a slice has a value of a metric, whatever the setting."""
    return any(
        metric.defined_on in {"all", "answerable" if query.answerable else "unanswerable"}
        for query in golden.queries
        if group in {query.slice, OVERALL}
    )


def _flat(
    block: Mapping[str, Any], location: Location
) -> list[tuple[str, Scalar | list[Scalar], Location]]:
    """Return knob, value and location, with ``weights: {vector: 2}`` as ``weights.vector``."""
    found: list[tuple[str, Scalar | list[Scalar], Location]] = []
    for name, raw in block.items():
        if isinstance(raw, dict):
            found += [(f"{name}.{k}", v, (*location, name, k)) for k, v in raw.items()]
        else:
            found.append((name, raw, (*location, name)))
    return found


def _read_values(
    name: str, raw: Scalar | list[Scalar], location: Location, problems: _Located
) -> tuple[Value, ...]:
    choices = raw if isinstance(raw, list) else [raw]
    if not choices:
        problems.at(
            location, "needs at least one value. Leave the key out to keep the current one."
        )
    found: dict[str, Value] = {}
    for number, choice in enumerate(choices):
        place = (*location, number) if isinstance(raw, list) else location
        holder: dict[str, Value] = {}
        if _read_knob(name, choice, place, holder, problems):
            found.setdefault(knob(name).format(holder[name]), holder[name])
        elif name not in KNOBS and not name.startswith("weights."):
            break  # an unknown knob is one problem, however many values it has
    return tuple(found.values())


def _read_knob(
    name: str, raw: Scalar, location: Location, into: dict[str, Value], problems: _Located
) -> bool:
    try:
        into[name] = knob(name).parse(raw)
    except KeyError as error:
        problems.at(tuple(step for step in location if isinstance(step, str)), str(error.args[0]))
        return False
    except ValueError as error:
        problems.at(location, f"{error} Leave the key out to keep the current value.")
        return False
    return True


def _check_address(address: str, location: Location, problems: _Located) -> None:
    try:
        split_address(address)
    except ValueError as error:
        problems.at(location, str(error))
