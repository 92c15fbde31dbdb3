"""The parts of a sweep's manifest, each checked when it is read.

A part that is damaged stops what needs it and nothing else. What a part holds has a shape, so that
no reader meets another type than it expects; and a checksum, so that a number that was altered is
never shown. A manifest of an older version has no checksums: there the shape alone can tell.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from sweeper.errors import InputError, Problem

__all__ = ["CHECKS", "MANIFEST_VERSION", "Manifest", "checks_of"]

MANIFEST_VERSION: Final = 1
CHECKS: Final = "checks"
"""The part that holds the checksums of the others."""

_DIGITS = 16

Check: TypeAlias = Callable[[Any], bool]
Shape: TypeAlias = "Check | Mapping[str, Shape]"
"""Whether a value is of the shape; or the shape of each key, those with ``?`` may be missing."""


def checks_of(parts: Mapping[str, Any]) -> dict[str, str]:
    """Return the checksum of each part, as JSON reads it back."""
    return {name: _checksum(value) for name, value in parts.items() if name != CHECKS}


def _checksum(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


class Manifest(Mapping[str, Any]):
    """What a manifest says, by part. Reading a part checks it.

    Parameters
    ----------
    path
        Named in messages.
    parts
        The file's content.

    Raises
    ------
    InputError
        On reading a part that is damaged, or missing though it belongs there.
    """

    def __init__(self, path: Path, parts: Mapping[str, Any]) -> None:
        self._path = path
        self._parts = {name: value for name, value in parts.items() if name != CHECKS}
        # What is no mapping matches no part, so that none is believed.
        told = parts.get(CHECKS)
        self._checks = told if isinstance(told, dict) or CHECKS not in parts else {}
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            self.check([name])
            self._read.add(name)
        return self._parts[name]

    def __repr__(self) -> str:
        return repr(self._parts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def check(self, names: Iterable[str] | None = None) -> None:
        """Check some parts, or all.

        Raises
        ------
        InputError
            With every part that is damaged.
        """
        if names is None:
            names = dict.fromkeys([*_SHAPES, *self._parts, *(self._checks or ())])
        damaged = [where for where in map(self._damage, names) if where is not None]
        if damaged:
            raise InputError(
                Problem(f"{where} is missing or damaged. Run the sweep again.", str(self._path))
                for where in damaged
            )

    def _damage(self, name: str) -> str | None:
        """Return where a part is not as it was written."""
        told = {} if self._checks is None else self._checks
        if name not in self._parts:
            return name if name in told or (name in _SHAPES and name not in _OPTIONAL) else None
        value = self._parts[name]
        where = _misshapen(value, _SHAPES.get(name, _anything), name)
        if where is None and self._checks is not None and told.get(name) != _checksum(value):
            return name
        return where


def _misshapen(value: Any, shape: Shape, where: str) -> str | None:
    """Return the first place at which a value has another shape."""
    if not isinstance(shape, Mapping):
        return None if shape(value) else where
    if not isinstance(value, dict):
        return where
    for name, inner in shape.items():
        key = name.removesuffix("?")
        if key in value or key == name:
            found = _misshapen(value.get(key), inner, f"{where}.{key}")
            if found is not None:
                return found
    return None


# --- shapes ---------------------------------------------------------------------------------------


def _anything(value: Any) -> bool:
    return True


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _one_of(*words: str) -> Check:
    return lambda value: isinstance(value, str) and value in words


def _list_of(inner: Shape) -> Check:
    return lambda value: (
        isinstance(value, list) and all(_misshapen(item, inner, "") is None for item in value)
    )


def _mapping_of(inner: Shape) -> Check:
    return lambda value: isinstance(value, dict) and _list_of(inner)(list(value.values()))


def _each_parses(parse: Callable[[str], object]) -> Check:
    def fits(value: Any) -> bool:
        if not isinstance(value, list | dict) or not all(map(_text, value)):
            return False
        try:
            for text in value:
                parse(text)
        except (KeyError, ValueError):
            return False
        return True

    return fits


def _parse_metric(text: str) -> object:
    from sweeper.metrics import parse_metric  # what lists sweeps needs no arithmetic

    return parse_metric(text)


def _parse_figure(text: str) -> object:
    from sweeper.constraints import split_address

    return split_address(text)


def _parse_constraint(text: str) -> object:
    from sweeper.constraints import parse_constraint

    return parse_constraint(text)


def _knob_or_none(value: Any) -> bool:
    from sweeper.knobs import knob

    try:
        return value is None or (isinstance(value, str) and knob(value) is not None)
    except KeyError:
        return False


def _instant(value: Any) -> bool:
    from sweeper.corpus import parse_instant

    return isinstance(value, str) and parse_instant(value) is not None


def _objectives(value: Any) -> bool:
    words = _mapping_of(_one_of("maximize", "minimize"))
    return bool(value) and words(value) and _each_parses(_parse_figure)(value)


def _metrics(value: Any) -> bool:
    return bool(value) and isinstance(value, list) and _each_parses(_parse_metric)(value)


_FIGURES = _each_parses(_parse_figure)

_POOL: Shape = {
    "file": _text,
    "digest": _text,
    "depth?": _count,
    "channels?": _list_of(_text),
    "provenance": {
        "engine?": _mapping,
        "fingerprint?": _text_or_none,
        "as_of?": _text_or_none,
    },
}

_SHAPES: Final[Mapping[str, Shape]] = {
    "version": lambda value: value == MANIFEST_VERSION,
    "name": _text,
    "id": _text,
    "config_path": _text,
    "started": _instant,
    "finished": _instant,
    "status": _one_of("running", "incomplete", "complete"),
    "spec_hash": _text,
    "spec": {"config": _mapping},
    "n_trials": _count,
    "n_processes": _count,
    "golden": {
        "path": _text_or_none,
        "digest": _text,
        "n_queries": _count,
        "slices": _list_of(_text),
    },
    "corpus": {"path": _text_or_none, "digest": _text_or_none, "n_entries": _count},
    "pool": _POOL,
    "pools": _mapping_of(_POOL),
    "live_questions": _list_of(_text),
    "usage": {"as_of": _instant, "logs": _mapping_of(_count)},
    "metrics": _metrics,
    "objectives": _objectives,
    "constraints": lambda value: isinstance(value, list) and _each_parses(_parse_constraint)(value),
    "table": {
        "knob": _knob_or_none,
        "columns": lambda value: isinstance(value, list) and _FIGURES(value),
    },
    "plots": _list_of({"x": _text, "y": _text}),
    "arms": _mapping_of({"from": _text_or_none, "trial_id": _text}),
    "versions": _mapping_of(_text_or_none),
    "git_commit": _text_or_none,
    "files": _mapping_of(_text),
}

# Of a sweep that has none, that runs, or of an older version.
_OPTIONAL = frozenset(
    {"config_path", "versions", "git_commit", "arms", "files", "finished", "n_processes"}
    | {"pools", "live_questions", "usage"}
)
