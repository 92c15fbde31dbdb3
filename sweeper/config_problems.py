"""Problems of a config, addressed by key: what pydantic found, in our words, with file and line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, get_args

from pydantic import BaseModel

from sweeper.config_file import ConfigFile
from sweeper.errors import Problems, did_you_mean
from sweeper.formats.yaml_text import YamlDocument

__all__ = ["Located", "Location", "blocks_of", "dotted", "got"]

Location: TypeAlias = tuple[str | int, ...]


class Located(Problems):
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
            self.add(f"{message} (It was given by --set.)", where=dotted(location))
        else:
            self.add(message, line=line, where=dotted(location))

    def add_all(self, found: Sequence[Mapping[str, Any]]) -> None:
        """Add the errors of pydantic; of the branches of a union only the one that was meant."""
        for item in found:
            if not _reaches_deeper(item, found):
                self._add(item)

    def _add(self, error: Mapping[str, Any]) -> None:
        location = _location(error)
        kind, message = error["type"], str(error["msg"])
        if kind == "extra_forbidden":
            known = _known_keys(location[:-1])
            message = f"unknown key. {did_you_mean(str(location[-1]), known)}"
        elif kind == "missing":
            message = "this key is missing."
        elif kind == "string_pattern_mismatch":
            message = f"may hold letters, digits, dots, dashes and underscores, {_got(error)}"
        elif kind == "literal_error":
            message = f"must be {error['ctx']['expected']}, {_got(error)}"
            message += _close_to(error["input"], error["ctx"]["expected"])
        elif kind == "union_tag_invalid":
            location += ("kind",)
            message = f"must be {error['ctx']['expected_tags']}, got {error['ctx']['tag']!r}."
            message += _close_to(error["ctx"]["tag"], error["ctx"]["expected_tags"])
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
        elif kind == "greater_than":
            message = f"must be above {error['ctx']['gt']:g}, {_got(error)}"
        elif kind == "less_than":
            message = f"must be below {error['ctx']['lt']:g}, {_got(error)}"
        elif kind == "finite_number":
            message = f"must be a finite number, {_got(error)}"
        elif kind.startswith("float_"):
            message = f"must be a number, {_got(error)}"
        elif kind.startswith("bool_"):
            message = f"must be true or false, {_got(error)}"
        elif kind == "list_type":
            message = f"must be a list, such as [a, b], {_got(error)}"
        elif kind in {"dict_type", "model_type", "model_attributes_type"}:
            message = f"must be a mapping of keys, {_got(error)}"
        elif kind == "union_tag_not_found":
            *others, last = _kinds(_models_at(location))
            message = f"needs a kind: {', '.join(others)} or {last}."
        elif kind == "value_error":
            message = str(error["ctx"]["error"])  # our own words; the value may be a secret
        else:
            message = message.replace("Input should", "must", 1)
            message = f"{message[0].lower()}{message[1:]}, {_got(error)}"
        self.at(location, message)


def _close_to(value: object, expected: str) -> str:
    """Return a hint, with a blank before it, if one of the quoted words is close to a value."""
    hint = did_you_mean(str(value), re.findall("'([^']+)'", expected))
    return f" {hint}" if hint.startswith("Did") else ""


_SCALARS = {("str",), ("bool",), ("int",), ("float",), ("none",)}


def _is_one_of_many(error: Mapping[str, Any]) -> bool:
    """Return whether a list or a mapping stands where text, a number or a word could."""
    return isinstance(error["input"], list | dict) and error["loc"][-1:] in _SCALARS


def _reaches_deeper(error: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether another error stands inside the value of this one."""
    own = _location(error)
    locations = [_location(other) for other in others]
    return any(len(item) > len(own) and item[: len(own)] == own for item in locations)


def _location(error: Mapping[str, Any]) -> Location:
    """Return where in the file an error is, without the steps that name a branch of a union."""
    kept: list[str | int] = []
    models: Sequence[type[BaseModel]] = [ConfigFile]
    for step in error["loc"]:
        if isinstance(step, int) or any(step in model.model_fields for model in models):
            kept.append(step)
            models = _below(models, step)
        elif not _names_branch(step, models):
            kept.append(step)
    return tuple(kept)


def _names_branch(step: str, models: Sequence[type[BaseModel]]) -> bool:
    """Return whether pydantic put a step in to name a branch of a union."""
    branches = {model.__name__ for model in models} | set(_kinds(models))
    return (step,) in _SCALARS or "[" in step or step in branches


def _below(models: Sequence[type[BaseModel]], step: str | int) -> list[type[BaseModel]]:
    """Return the blocks that may stand at a key of some blocks; a list's places share them."""
    if isinstance(step, int):
        return list(models)
    fields = [model.model_fields[step] for model in models if step in model.model_fields]
    return [block for field in fields for block in blocks_of(field.annotation)]


def blocks_of(annotation: Any) -> list[type[BaseModel]]:
    """Return the blocks that a type mentions: those that may stand where the type stands."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [block for part in get_args(annotation) for block in blocks_of(part)]


def _kinds(models: Sequence[type[BaseModel]]) -> list[str]:
    """Return the words that `kind` may be in some blocks."""
    fields = [model.model_fields["kind"] for model in models if "kind" in model.model_fields]
    return list(dict.fromkeys(str(word) for field in fields for word in get_args(field.annotation)))


def _got(error: Mapping[str, Any]) -> str:
    return got(error.get("input"))


def got(value: object) -> str:
    """Return the end of a message, `got ...`, with a value as YAML has it.

    Examples
    --------
    >>> got(True), got("x"), got(None), got([1])
    ('got true.', "got 'x'.", 'got null.', 'got a list.')
    """
    if isinstance(value, dict):
        return "got a mapping."
    if isinstance(value, list):
        return "got a list."
    text = "null" if value is None else repr(value)
    if isinstance(value, bool):
        text = text.lower()
    return f"got {text if len(text) <= 60 else text[:57] + '...'}."


def _models_at(location: Location) -> list[type[BaseModel]]:
    models: list[type[BaseModel]] = [ConfigFile]
    for step in location:
        models = _below(models, step)
    return models


def _known_keys(location: Location) -> list[str]:
    """Return the keys that the block at a location may hold."""
    return list(
        dict.fromkeys(name for block in _models_at(location) for name in block.model_fields)
    )


def dotted(location: Location) -> str:
    """Return a key's path as a person writes it."""
    return ".".join(str(step) for step in location)
