"""Templates of requests: JSON or text in which ``{query}`` stands for the question's text.

A string that is exactly one placeholder becomes its value, type and all; inside a longer string the
value is written as text. ``{{`` and ``}}`` are braces. Nothing is evaluated: a placeholder is a
name from a closed list, looked up in a mapping.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sweeper.errors import did_you_mean
from sweeper.knobs import KNOBS

__all__ = ["LEFT_OUT", "PLACEHOLDERS", "Template", "put"]

PLACEHOLDERS = (
    *("query", "query_id", "user", "filter"),
    *KNOBS,
    *("page", "offset", "page_size", "cursor"),
)
"""Names that a template may use, besides ``filter.<tag>`` and ``weights.<channel>``."""

_OPEN_ENDED = ("filter.", "weights.")
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class _LeftOut:
    """The type of ``LEFT_OUT``."""

    def __repr__(self) -> str:
        return "LEFT_OUT"


LEFT_OUT = _LeftOut()
"""The value of a placeholder for which this question or setting has none."""


@dataclass(frozen=True, slots=True)
class Template:
    """A JSON value with placeholders, checked when it is made.

    Parameters
    ----------
    content
        Mappings, lists, texts, numbers, booleans and nulls.

    Raises
    ------
    ValueError
        With a sentence that names the placeholder and where it stands.

    Examples
    --------
    >>> Template({"q": "{query}", "size": "{limit}", "tag": "{filter.lang}"}).fill(
    ...     {"query": "late fee", "limit": 10}
    ... )
    {'q': 'late fee', 'size': 10}
    """

    content: Any
    names: frozenset[str] = field(init=False, compare=False)
    """Every placeholder that occurs."""

    def __post_init__(self) -> None:
        names: set[str] = set()
        for where, text in _texts(self.content, ""):
            for name in _names(text, where):
                if name not in PLACEHOLDERS and not _is_open_ended(name):
                    close = did_you_mean(name, PLACEHOLDERS)
                    raise ValueError(f'{where}unknown placeholder "{{{name}}}". {close}')
                names.add(name)
        object.__setattr__(self, "names", frozenset(names))

    def fill(self, values: Mapping[str, Any]) -> Any:
        """Return the content with every placeholder replaced.

        An entry of a mapping or list that is one placeholder without a value is left out, and so is
        a mapping that this empties.

        Parameters
        ----------
        values
            Placeholder to JSON value. A name that is missing, or has ``LEFT_OUT``, has no value.

        Raises
        ------
        KeyError
            With the name of a placeholder that has no value inside a longer text.
        """
        return _fill(self.content, values)


def put(target: dict[str, Any], path: str, value: Any) -> None:
    """Set a field of a JSON object by its dotted path, making the objects on the way.

    Raises
    ------
    ValueError
        If a step of the path is there already and is no object.

    Examples
    --------
    >>> body = {"decay": {"kind": "exp"}}
    >>> put(body, "decay.half_life", 30)
    >>> body
    {'decay': {'kind': 'exp', 'half_life': 30}}
    """
    *steps, last = path.split(".")
    for step in steps:
        below = target.setdefault(step, {})
        if not isinstance(below, dict):
            raise ValueError(f'"{path}" cannot be set: "{step}" is no mapping in the template.')
        target = below
    target[last] = value


def _is_open_ended(name: str) -> bool:
    return any(name.startswith(prefix) and name != prefix for prefix in _OPEN_ENDED)


def _texts(content: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield every text with a prefix that says where it stands."""
    if isinstance(content, str):
        yield where, content
    elif isinstance(content, Mapping):
        for key, below in content.items():
            yield from _texts(below, f"{where.removesuffix(': ')}{'.' if where else ''}{key}: ")
    elif isinstance(content, list):
        for number, below in enumerate(content):
            yield from _texts(below, f"{where.removesuffix(': ')}[{number}]: ")


def _names(text: str, where: str) -> Iterator[str]:
    for piece in _PIECE.finditer(text):
        if piece[1] is not None:
            yield piece[1]
        elif piece[0] in "{}":
            raise ValueError(
                f'{where}a single "{piece[0]}" in {text!r}. Write {piece[0] * 2} for a brace, or '
                "{query} for a placeholder."
            )


def _fill(content: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(content, str):
        return _fill_text(content, values)
    if isinstance(content, Mapping):
        filled = {key: _fill(below, values) for key, below in content.items()}
        kept = {key: value for key, value in filled.items() if value is not LEFT_OUT}
        return LEFT_OUT if content and not kept else kept
    if isinstance(content, list):
        return [v for v in (_fill(below, values) for below in content) if v is not LEFT_OUT]
    return content


def _fill_text(text: str, values: Mapping[str, Any]) -> Any:
    whole = _PIECE.fullmatch(text)
    if whole is not None and whole[1] is not None:
        return values.get(whole[1], LEFT_OUT)

    def replaced(piece: re.Match[str]) -> str:
        if piece[1] is None:
            return piece[0][0]
        value = values.get(piece[1], LEFT_OUT)
        if value is LEFT_OUT:
            raise KeyError(piece[1])
        return str(value)

    return _PIECE.sub(replaced, text)
