"""YAML with lines: safe, every scalar keeping the text that was typed, aliases kept within bounds.

``load_yaml`` gives two views of one document: ``data`` for configs (YAML 1.2 core types, so ``off``
and ``12:30`` are text) and ``value`` for rows (nothing is a number or a boolean yet). Only parser
events are used: no object of PyYAML's is ever built, whatever the tags say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeAlias

import yaml

from sweeper.errors import InputError, Problem
from sweeper.formats.values import MAX_DEPTH, Bare, BareNull, Malformed, Record, Value, quoted

__all__ = ["MAX_ALIASED_VALUES", "PlainData", "YamlDocument", "load_yaml", "parse_yaml"]

MAX_ALIASED_VALUES = 100_000
"""How many values all aliases of a file may repeat. A few nested ones could ask for billions."""

PlainData: TypeAlias = "str | bool | int | float | list[PlainData] | dict[str, PlainData] | None"

# libyaml's parser where the wheel has it (all common platforms): same events, ten times faster.
_Loader: type[yaml.SafeLoader] | type[yaml.CSafeLoader]
_Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


@dataclass(slots=True)
class _Node:
    """One value. ``n_values`` and ``height`` count what it holds, aliases expanded."""

    line: int
    content: str | list[_Node] | dict[str, _Entry]
    plain: bool = False
    n_values: int = 1
    height: int = 0
    open: bool = False
    waiting_key: _Node | None = None


class _Entry(NamedTuple):
    """A mapping's value with the line of its key; a merged one may be overridden."""

    line: int
    node: _Node
    merged: bool = False


class YamlDocument:
    """A parsed document whose every value knows its line and its spelling.

    Locations are paths such as ``("space", "rrf_k", 0)``, as pydantic reports them.
    """

    def __init__(self, root: _Node | None) -> None:
        self._root = root

    @property
    def data(self) -> PlainData:
        """The document with plain scalars read by YAML 1.2's core schema; keys are always text.

        Integers, floats (``1e-3`` too), ``true`` and ``false``, ``null`` and ``~`` are recognised.
        Anything else is text: ``off``, ``yes``, ``12:30``, ``2026-11-01``. Quoted scalars are text.
        """
        return None if self._root is None else _plain_data(self._root)

    @property
    def value(self) -> Value:
        """The document as located records, every scalar as the text that was typed."""
        return None if self._root is None else _value(self._root)

    def line_of(self, location: Sequence[str | int]) -> int | None:
        """Return the 1-based line of a location, or of the deepest part of it that exists.

        A mapping's entry stands on the line of its key. ``None`` for an empty document.
        """
        node, line = self._root, None
        if node is None:
            return None
        line = node.line
        for step in location:
            entry = _child(node, step)
            if entry is None:
                return line
            line, node = entry.line, entry.node
        return line

    def text_of(self, location: Sequence[str | int]) -> str | None:
        """Return a scalar as it was typed (without its quotes); ``None`` if no scalar is there."""
        node = self._root
        for step in location:
            entry = None if node is None else _child(node, step)
            if entry is None:
                return None
            node = entry.node
        return node.content if node is not None and isinstance(node.content, str) else None


def load_yaml(text: str, path: str | Path) -> YamlDocument:
    """Parse one YAML document; ``path`` only names the file in messages.

    Raises
    ------
    InputError
        See ``parse_yaml``.
    """
    try:
        return parse_yaml(text)
    except Malformed as error:
        raise InputError(Problem(error.message, str(path), error.line)) from error


def parse_yaml(text: str, *, first_line: int = 1) -> YamlDocument:
    """Parse one YAML document.

    Parameters
    ----------
    text
        All of it.
    first_line
        The line of the file on which ``text`` starts.

    Raises
    ------
    Malformed
        With the line and the remedy: bad syntax, a duplicate key, a key that is no text, a tag
        other than YAML's own scalars, an alias without anchor or inside its own, aliases that
        expand beyond ``MAX_ALIASED_VALUES``, a second document, or more than ``MAX_DEPTH`` levels.
    """
    unprintable = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if unprintable:
        line = text.count("\n", 0, unprintable.start()) + first_line
        code = f"U+{ord(unprintable[0]):04X}"
        raise Malformed(
            f"the character {code} may not stand in YAML. Remove it or escape it.", line
        )
    builder = _Builder(first_line)
    try:
        for event in yaml.parse(text, Loader=_Loader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = ", ".join(part for part in (error.context, error.problem) if part)
        line = first_line + (mark.line if mark else 0)
        remedy = "Check indentation, quotes and brackets here and above."
        if "cannot start any token" in what:
            remedy = "Indent with spaces, not tabs, and quote a text that begins with a sign."
        raise Malformed(f"is not valid YAML: {what}. {remedy}", line) from error
    except yaml.YAMLError as error:
        raise Malformed(f"is not valid YAML: {error}. Check this file's quoting.", 1) from error
    return YamlDocument(builder.root)


_SURROGATE = re.compile("[\ud800-\udfff]")
_SCALAR_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null")}
_TEXT_TAGS = {"!", "tag:yaml.org,2002:str"}
_COLLECTION_TAGS = {"!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}


class _Builder:
    """Turns parser events into nodes with a stack of its own, so that depth cannot overflow."""

    def __init__(self, first_line: int) -> None:
        self.first_line = first_line
        self.root: _Node | None = None
        self.stack: list[_Node] = []
        self.anchors: dict[str, _Node] = {}
        self.n_aliased = 0

    def take(self, event: yaml.Event) -> None:
        line = self.first_line + (event.start_mark.line if event.start_mark else 0)
        if isinstance(event, yaml.ScalarEvent):
            if _SURROGATE.search(event.value):
                raise Malformed("half a surrogate pair is no character. Remove it.", line)
            node = _Node(line, event.value, plain=self.is_plain(event, line))
            self.anchor(event.anchor, node)
            self.add(node, line)
        elif isinstance(event, yaml.CollectionStartEvent):
            if event.tag is not None and event.tag not in _COLLECTION_TAGS:
                self.refuse_tag(event.tag, line)
            node = _Node(line, {} if isinstance(event, yaml.MappingStartEvent) else [], open=True)
            self.anchor(event.anchor, node)
            self.stack.append(node)
            if len(self.stack) > MAX_DEPTH:
                raise Malformed(f"nested more than {MAX_DEPTH} levels deep. Flatten it.", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            node = self.stack.pop()
            node.open = False
            self.add(node, line)
        elif isinstance(event, yaml.AliasEvent):
            self.add(self.resolve(event.anchor, line), line)
        elif isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
            raise Malformed("a second document starts here. Keep one document in a file.", line)

    def is_plain(self, event: yaml.ScalarEvent, line: int) -> bool:
        if event.tag is not None and event.tag not in _SCALAR_TAGS | _TEXT_TAGS:
            self.refuse_tag(event.tag, line)
        return event.tag not in _TEXT_TAGS and event.style in (None, "")

    def refuse_tag(self, tag: str, line: int) -> NoReturn:
        shown = tag.replace("tag:yaml.org,2002:", "!!")
        raise Malformed(
            f"the tag {shown} is not read here. Write plain text, lists, mappings.", line
        )

    def anchor(self, name: str | None, node: _Node) -> None:
        if name is not None:
            self.anchors[name] = node

    def resolve(self, name: str | None, line: int) -> _Node:
        target = self.anchors.get(name or "")
        if target is None:
            raise Malformed(
                f"*{name} has no anchor above it. Write &{name} where it points to.", line
            )
        if target.open:
            raise Malformed(f"*{name} stands inside its own anchor. Write the value out.", line)
        self.count_aliased(target.n_values, line)
        if len(self.stack) + target.height > MAX_DEPTH:
            raise Malformed(f"nested more than {MAX_DEPTH} levels deep. Flatten it.", line)
        return target

    def count_aliased(self, n_values: int, line: int) -> None:
        self.n_aliased += n_values
        if self.n_aliased > MAX_ALIASED_VALUES:
            raise Malformed(
                f"aliases repeat more than {MAX_ALIASED_VALUES:,} values. Write them out.", line
            )

    def add(self, node: _Node, line: int) -> None:
        """Hang a finished node into the open one, as an item, a key or a value."""
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        content = parent.content
        if isinstance(content, list):
            content.append(node)
        elif isinstance(content, dict):
            if parent.waiting_key is None:
                self.check_key(node, content, line)
                parent.waiting_key = node
                return
            key, parent.waiting_key = parent.waiting_key, None
            if key.plain and key.content == "<<" and not isinstance(node.content, str):
                self.merge(parent, node, line)
                return
            content[str(key.content)] = _Entry(key.line, node)
        parent.n_values += node.n_values
        parent.height = max(parent.height, node.height + 1)

    def check_key(self, node: _Node, siblings: dict[str, _Entry], line: int) -> None:
        if not isinstance(node.content, str):
            raise Malformed("a key is a list or a mapping. Keys are text.", line)
        known = siblings.get(node.content)
        if known is not None and not known.merged:
            raise Malformed(
                f"{quoted(node.content)} comes twice (first on line {known.line}). Keep one.",
                line,
            )

    def merge(self, parent: _Node, node: _Node, line: int) -> None:
        sources = node.content if isinstance(node.content, list) else [node]
        content = parent.content
        for source in sources:
            if not isinstance(source, _Node) or not isinstance(source.content, dict):
                raise Malformed(
                    '"<<" merges mappings. Give an alias of one, or a list of them.', line
                )
            self.count_aliased(source.n_values, line)
            for key, entry in source.content.items():
                if isinstance(content, dict) and key not in content:
                    content[key] = _Entry(line, entry.node, merged=True)
        parent.n_values += node.n_values
        parent.height = max(parent.height, node.height)


def _child(node: _Node, step: str | int) -> _Entry | None:
    content = node.content
    if isinstance(content, dict):
        return content.get(str(step))
    if isinstance(content, list) and isinstance(step, int) and 0 <= step < len(content):
        return _Entry(content[step].line, content[step])
    return None


def _value(node: _Node) -> Value:
    content = node.content
    if isinstance(content, str):
        if not node.plain:
            return content
        return BareNull(content) if _NULL.fullmatch(content) else Bare(content)
    if isinstance(content, list):
        return [_value(child) for child in content]
    return Record(node.line, ((key, _value(entry.node)) for key, entry in content.items()))


def _plain_data(node: _Node) -> PlainData:
    content = node.content
    if isinstance(content, str):
        return _core_type(content) if node.plain else content
    if isinstance(content, list):
        return [_plain_data(child) for child in content]
    return {key: _plain_data(entry.node) for key, entry in content.items()}


# YAML 1.2.2, section 10.3.2 (the core schema), without its octal and hexadecimal integers.
_NULL = re.compile(r"null|Null|NULL|~|")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NAN = re.compile(r"\.(?:nan|NaN|NAN)")
_MAX_DIGITS = 4000  # int() refuses 4301 and more; such a thing is no setting, so it stays text


def _core_type(text: str) -> str | bool | int | float | None:
    if _NULL.fullmatch(text):
        return None
    if _BOOLEAN.fullmatch(text):
        return text[0] in "tT"
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= _MAX_DIGITS else text
    if _FLOAT.fullmatch(text):
        return float(text)
    infinite = _INFINITE.fullmatch(text)
    if infinite:
        return float(f"{infinite[1]}inf")
    return float("nan") if _NAN.fullmatch(text) else text
