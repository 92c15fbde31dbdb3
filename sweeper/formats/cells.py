"""A list, a mapping or tags in one CSV cell or one text, both ways.

The rule: a cell that starts with ``[`` or ``{`` is JSON, or a list of texts as Python prints it
(``['a', 'b']``, what pandas writes). Otherwise ``|`` separates ids; where there is none, ``;``
does; where there is neither, a line break. Nothing else separates: an id may hold spaces and
commas. An id that holds a separator, or starts with a bracket, is written as JSON: ``["a;b"]``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sweeper.formats.json_text import parse_json
from sweeper.formats.values import (
    Bare,
    BareNull,
    Malformed,
    Record,
    Value,
    WrongValue,
    describe,
    quoted,
)

__all__ = ["join_cell", "read_mapping", "read_names", "read_tags", "split_cell"]

PRESENT = "true"
"""Value of a tag that has only a name, so that the filter ``{urgent: true}`` finds it."""


def split_cell(cell: Value) -> Value:
    """Return what a CSV cell holds: JSON, a list of texts, or the one text itself.

    Raises
    ------
    WrongValue
        If it starts like JSON and is not, or a text between separators is empty.

    Examples
    --------
    >>> split_cell("a | b, c"), split_cell("b, c"), split_cell('["x;y"]')
    (['a', 'b, c'], 'b, c', ['x;y'])
    """
    if not isinstance(cell, str):
        return cell
    if cell.startswith(("[", "{")):
        try:
            return parse_json(cell)
        except Malformed as error:
            printed = _parse_python_list(cell)
            if printed is not None:
                return printed
            raise WrongValue(
                f'starts like JSON, but {error.message} Write ["a", "b"]; '
                f"an id that starts with a bracket is {json.dumps([cell[:20]])}."
            ) from error
    if cell.startswith("(") and _PYTHON_LIST.fullmatch(f"[{cell[1:-1]}]") and cell.endswith(")"):
        raise WrongValue(f'is a Python tuple as it prints. Write ["a", "b"], got {quoted(cell)}.')
    separator = next((mark for mark in "|;\n" if mark in cell), None)
    if separator is None:
        return cell
    texts = [part.strip() for part in cell.split(separator)]
    if separator == "\n":
        texts = [text for text in texts if text]
    parts: list[Value] = [Bare(text) for text in texts]
    if "" in parts:
        raise WrongValue(f"has nothing on one side of {quoted(separator)}. Remove it.")
    return parts


# Texts alone, with commas between: NumPy prints none, and Python would join such texts to one.
# Possessive: whatever the cell, it is read once.
_PYTHON_TEXT = r"""(?:'(?:[^'\\]|\\['"\\])*+'|"(?:[^"\\]|\\['"\\])*+")"""
_PYTHON_LIST = re.compile(rf"\[\s*+{_PYTHON_TEXT}(?:\s*+,\s*+{_PYTHON_TEXT})*+\s*+,?+\s*+\]")
_NESTED_LIST = re.compile(r"\[\s*+(?:\[[^\[\]]*+\]\s*+(?:,\s*+)?+)++\]")


def _parse_python_list(cell: str) -> list[Value] | None:
    """Return the texts of a list as Python prints it; ``None`` for anything else."""
    if _NESTED_LIST.fullmatch(cell):
        inner = [_parse_python_list(part) for part in re.findall(r"\[[^\[\]]*\]", cell)]
        return None if None in inner else list(inner)
    if not _PYTHON_LIST.fullmatch(cell):
        return None
    return [re.sub(r"\\(.)", r"\1", text[1:-1]) for text in re.findall(_PYTHON_TEXT, cell)]


def join_cell(texts: Sequence[str]) -> str:
    """Return ids as one cell that ``split_cell`` reads back exactly.

    Examples
    --------
    >>> join_cell(["a"]), join_cell(["a", "b c"]), join_cell(["a;b"]), join_cell([])
    ('a', 'a|b c', '["a;b"]', '[]')
    """
    simple = all(
        text and not text.startswith(("[", "{", "(")) and not re.search("[|;\n]", text)
        for text in texts
    )
    if simple and len(texts) == 1:
        return texts[0]
    if simple and texts and all(text == text.strip() for text in texts):
        return "|".join(texts)
    return json.dumps(list(texts), ensure_ascii=False)


def read_mapping(value: Value) -> dict[str, str]:
    """Return a mapping of name to text: an object, JSON in a text, or ``name=value; name=value``.

    A number keeps its spelling, true and false become text, null leaves the name out.

    Raises
    ------
    WrongValue
        If it is something else, or a value is a list or an object.
    """
    if isinstance(value, str):
        value = _parse_pairs(value, bare_name=None)
    if value is None:
        return {}
    if not isinstance(value, Record):
        raise WrongValue(f"must be a mapping of name to text, got {describe(value)}.")
    texts: dict[str, str] = {}
    for name, content in value.items():
        if isinstance(content, list | Record):
            raise WrongValue(f"must map {quoted(name)} to one text, got {describe(content)}.")
        if isinstance(content, bool):
            texts[name] = describe(content)
        elif content is not None and not isinstance(content, BareNull):
            texts[name] = str(content)
    return texts


def read_tags(value: Value) -> dict[str, str]:
    """Return tags as name to text; a tag that has only a name gets the value ``true``.

    Understood are what ``read_mapping`` reads, a list of names, and names in one text, separated
    by commas too.

    Raises
    ------
    WrongValue
        If it is something else.

    Examples
    --------
    >>> read_tags("urgent, team=web")
    {'urgent': 'true', 'team': 'web'}
    """
    if isinstance(value, str):
        value = _parse_pairs(value, bare_name=PRESENT)
    if not isinstance(value, list):
        return read_mapping(value)
    tags: dict[str, str] = {}
    for name in value:
        if not isinstance(name, str) or not name.strip():
            raise WrongValue(f"must hold names, got {describe(name)}.")
        tags[str(name)] = PRESENT
    return tags


def read_names(value: Value, *, commas: bool = False) -> tuple[str, ...] | None:
    """Return distinct names in the order of the file; ``None`` where none are given.

    Understood are a list, and names in one text, separated as ``split_cell`` does, by ``commas``
    too if asked for. An empty CSV cell and null are absent; an empty list is a list of nobody.

    Raises
    ------
    WrongValue
        If it is something else, or blank where a file can say what it means: a field that somebody
        has emptied could be read as nobody or as everybody.

    Examples
    --------
    >>> read_names(["ada", "board", "ada"]), read_names("ada|board"), read_names([])
    (('ada', 'board'), ('ada', 'board'), ())
    """
    if value is None or (isinstance(value, BareNull) and value):
        return None
    if isinstance(value, Bare) and not isinstance(value, BareNull) and not value:
        return None
    if isinstance(value, str) and not value.strip():
        raise WrongValue("is empty. Write [] for nobody, or leave it out for everybody.")
    if isinstance(value, str):
        text = value.strip()
        if commas and not text.startswith(("[", "{")):
            parts: list[Value] = [Bare(part.strip()) for part in re.split("[|;,]", text)]
            value = parts
        else:
            value = split_cell(value)
    names = value if isinstance(value, list) else [value]
    for name in names:
        if not isinstance(name, str):
            raise WrongValue(f"must be a list of names, got {describe(name)}.")
        if not name.strip():
            raise WrongValue("holds an empty name. Remove it.")
    return tuple(dict.fromkeys(str(name) for name in names))


def _parse_pairs(text: str, *, bare_name: str | None) -> Value:
    if not text.strip() or isinstance(text, BareNull):
        return None
    if text.startswith(("[", "{")):
        return split_cell(text)
    pairs = Record(0)
    for part in re.split(r"[|;,]" if bare_name else r"[|;]", text):
        name, equals, content = (piece.strip() for piece in part.partition("="))
        if not name or not (equals or bare_name):
            raise WrongValue(f"must be name=value; name=value, got {quoted(text)}.")
        pairs[name] = content if equals else bare_name
    return pairs
