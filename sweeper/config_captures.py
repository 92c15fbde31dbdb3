"""Keys of a config's engine block as knobs: what they change, and one text for one value."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sweeper.config_file import ConfigFile
from sweeper.config_problems import Located, Location
from sweeper.engine_blocks import EngineBlock
from sweeper.knobs import CAPTURE_PREFIX, Knob, Value, knob

__all__ = ["engine_block", "read_captured", "texts_of", "todays_value"]


def engine_block(file: ConfigFile, captured: Mapping[str, Value]) -> EngineBlock:
    """Return the engine's block with some of its keys changed.

    Parameters
    ----------
    file
        Gives every other key.
    captured
        Knobs such as ``engine.lexical.match``, and their values.

    Raises
    ------
    ValidationError
        If the block does not take a value.
    """
    if not captured:
        return file.engine
    data = file.engine.model_dump(mode="json", exclude_unset=True)
    defaults = _dumped(file.engine)
    for name, value in captured.items():
        _put(data, defaults, _steps_of(name), _raw(file, name, value))
    adapter: TypeAdapter[EngineBlock] = TypeAdapter(EngineBlock)
    return adapter.validate_python(data)


def todays_value(file: ConfigFile, name: str) -> Value:
    """Return the value of a key of the engine's block as the file has it."""
    return _canonical(file.engine, _steps_of(name))


def read_captured(
    file: ConfigFile,
    name: str,
    raw: Any,
    location: Location,
    into: dict[str, Value],
    problems: Located,
) -> bool:
    """Read a value of a key of the engine's block; equal blocks get equal values."""
    steps = _steps_of(name)
    if steps[0] == "corpus":
        problems.at(location, "a sweep has one corpus. Make another config for another one.")
        return False
    try:
        block = engine_block(file, {name: _free(raw)})
    except ValidationError as error:
        message = str(error.errors()[0]["msg"])
        if "instance of" in message:
            message = "a mapping of keys is needed"
        problems.at(location, f"the engine does not take {raw!r} as {name}: {message}.")
        return False
    into[name] = _canonical(block, steps)
    return True


def texts_of(value: Value) -> Iterator[str]:
    """Yield every text in a value of a key of the engine's block; a block is known by its JSON."""
    found: Any = value
    if isinstance(value, str) and value.startswith(("{", "[")):
        with contextlib.suppress(ValueError):
            found = json.loads(value)
    waiting = [found]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            waiting += item.values() if isinstance(item, dict) else item


def _free(raw: Any) -> Value:
    own: Knob = knob(CAPTURE_PREFIX + "any")
    return own.parse(raw)


def _steps_of(name: str) -> list[str]:
    return name.removeprefix(CAPTURE_PREFIX).split(".")


def _dumped(block: EngineBlock) -> dict[str, Any]:
    data: dict[str, Any] = block.model_dump(mode="json")
    return data


def _at(data: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def _put(data: dict[str, Any], defaults: Any, steps: Sequence[str], value: Any) -> None:
    """Set a key; a block above it that the file leaves out begins as it is by default."""
    for step in steps[:-1]:
        defaults = defaults.get(step) if isinstance(defaults, dict) else None
        if not isinstance(data.get(step), dict):
            data[step] = dict(defaults) if isinstance(defaults, dict) else {}
        data = data[step]
    data[steps[-1]] = value


def _canonical(block: EngineBlock, steps: Sequence[str]) -> Value:
    """Return one text for one value: what is as it is by default is left out of it.

    A block of which a kind alone is left is known by that word.
    """
    value = _at(_dumped(block), steps)
    if not isinstance(value, dict):
        return _free(value)
    short = _at(block.model_dump(mode="json", exclude_defaults=True), steps) or {}
    if "kind" not in value:
        return _free(short)
    kept = {"kind": value["kind"], **short}
    return str(value["kind"]) if list(kept) == ["kind"] else _free(kept)


def _raw(file: ConfigFile, name: str, value: Value) -> Any:
    """Return the YAML value that a knob's value stands for."""
    if not isinstance(value, str):
        return value
    if value[:1] in {"{", "["} or value in {"true", "false"}:
        try:
            return json.loads(value)
        except ValueError:
            return value
    today = _at(_dumped(file.engine), _steps_of(name))
    return {"kind": value} if isinstance(today, dict) and "kind" in today else value
