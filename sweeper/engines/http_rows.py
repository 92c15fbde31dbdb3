"""Rows of a JSON answer: where the list is, and what each row says of itself.

Expressions are JMESPath (extra ``http``), compiled once. A wrong path is told from no results: a
list must be there, even if it is empty.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sweeper.corpus import Age, Entry, Store, age_of
from sweeper.engines.http_path import JsonPath, optional_path, outline, shown
from sweeper.engines.signals import SignalRow
from sweeper.errors import EngineError
from sweeper.golden import ItemId, Key
from sweeper.http_blocks import HttpBlock

__all__ = ["RowReader"]


class _Id(NamedTuple):
    key: Key
    store: Store


class RowReader:
    """Reads answers as a block describes them. Safe to share between threads.

    Parameters
    ----------
    block
        Its expressions.
    as_of
        The instant that ages are measured from.

    Raises
    ------
    InputError
        If an expression is no JMESPath, or the extra is missing.
    """

    def __init__(self, block: HttpBlock, *, as_of: datetime) -> None:
        self._results = JsonPath("results", block.results)
        self._id = optional_path("id", block.id)
        self._ids = {name: JsonPath(f"ids.{name}", path) for name, path in block.ids.items()}
        self._source_type = optional_path("source_type", block.source_type)
        self._memory_types = frozenset(block.memory_types)
        self._item = optional_path("item", block.item)
        self._score = optional_path("score", block.score)
        self._updated_at = optional_path("updated_at", block.updated_at)
        self._ranks = {n: JsonPath(f"channels.{n}", path) for n, path in block.channels.items()}
        self._values = {n: JsonPath(f"values.{n}", path) for n, path in block.values.items()}
        self._as_of = as_of
        self._lock = threading.Lock()
        self._ages: dict[ItemId, Age] = {}

    @property
    def ages(self) -> dict[str, int]:
        """How many memories were captured per status of their age."""
        with self._lock:
            count = Counter(age.status for age in self._ages.values())
        return {name: count[name] for name in ("known", "missing", "unparseable", "future")}

    def rows(self, answer: Any) -> list[Any]:
        """Return the list of rows, unread.

        Raises
        ------
        EngineError
            If there is no list at that path.
        """
        found = self._results.of(answer)
        if not isinstance(found, list):
            what = "nothing" if found is None else f"no list but {shown(found)}"
            raise EngineError(
                f"the answer has {what} at `{self._results.text}`; it {outline(answer)}. Mend "
                "`results` in the config; a search without results must answer an empty list."
            )
        return found

    def key(self, row: Any, place: int) -> Key:
        """Return the key of a row; ``place`` is its position, for messages."""
        return self._identify(row, place).key

    def read(self, rows: list[Any], *, keep_ages: bool = True) -> list[SignalRow]:
        """Return everything that rows say of themselves.

        A memory whose age is kept has that age in every later answer, though it be written anew
        meanwhile: in one pool an item is one row.

        A row without an id of its own, among several of one key, is called by its content:
        ``<key>#<digest>``, the same in every answer. Rows alike in that too are numbered.

        Raises
        ------
        EngineError
            Naming the first row that lacks something, and what it lacks.
        """
        identities = [self._identify(row, place) for place, row in enumerate(rows, start=1)]
        taken: Counter[str] = Counter()
        found = []
        for place, (row, (key, store)) in enumerate(zip(rows, identities, strict=True), start=1):
            own = None if self._item is None else self._item.of(row)
            if own is not None:
                item_id = _text(own, self._item, row, place)
            else:
                item_id = key if store == "memory" else f"{key}#{_digest(row)}"
                taken[item_id] += 1
                if store == "document" and taken[item_id] > 1:
                    item_id += f".{taken[item_id]}"
            found.append(
                SignalRow(
                    item_id,
                    key,
                    store,
                    self._ranks_of(row, place),
                    self._values_of(row, place),
                    self.score(row, place),
                    self._age(item_id, row, keep_ages) if store == "memory" else math.nan,
                )
            )
        return found

    def own_id(self, row: Any, place: int) -> ItemId | None:
        """Return a row's own id, if the block says where it is and the row has one."""
        own = None if self._item is None else self._item.of(row)
        return None if own is None else _text(own, self._item, row, place)

    def score(self, row: Any, place: int) -> float | None:
        """Return a row's score, which must be a number if the block says where it is."""
        return None if self._score is None else _number(self._score, row, place, required=False)

    def _identify(self, row: Any, place: int) -> _Id:
        if not isinstance(row, dict):
            raise EngineError(
                f"row {place} is no object but {shown(row)}. Mend `results` in the config."
            )
        kind: Any = "document"
        if self._source_type is not None:
            kind = self._source_type.of(row)
        path = self._id
        if path is None:
            if kind not in self._ids:
                raise EngineError(
                    f"row {place} has the source type {shown(kind)}, and ids names "
                    f"{', '.join(self._ids)}; the row {outline(row)}. Mend `ids` or `source_type`."
                )
            path = self._ids[kind]
        store: Store = "memory" if kind in self._memory_types else "document"
        return _Id(_text(path.of(row), path, row, place), store)

    def _ranks_of(self, row: Any, place: int) -> Mapping[str, int]:
        ranks = {}
        for name, path in self._ranks.items():
            rank = path.of(row)
            if rank is None:
                continue
            if isinstance(rank, bool) or not isinstance(rank, int):
                raise EngineError(
                    f"row {place} has no whole number at `{path.text}` but {shown(rank)}. Mend "
                    f"`{path.name}`: it is the rank, from 1."
                )
            ranks[name] = rank
        if self._ranks and not ranks:
            paths = ", ".join(f"`{path.text}`" for path in self._ranks.values())
            raise EngineError(
                f"row {place} tells its rank in no channel ({paths}); it {outline(row)}. Mend "
                "`channels`, or use kind http without channels: every setting then asks the server."
            )
        return ranks

    def _values_of(self, row: Any, place: int) -> Mapping[str, float]:
        values = {}
        for name, path in self._values.items():
            needed = self._ranks[name].of(row) is not None
            value = _number(path, row, place, required=needed)
            if value is not None:
                values[name] = value
        return values

    def _age(self, item_id: ItemId, row: Any, keep: bool) -> float:
        written = None if self._updated_at is None else self._updated_at.of(row)
        text = None if written is None else str(written)
        age = age_of(Entry(item_id, "", "memory", updated_at=text), self._as_of)
        if not keep:
            return age.days
        with self._lock:
            return self._ages.setdefault(item_id, age).days


def _text(value: Any, path: JsonPath | None, row: Any, place: int) -> str:
    assert path is not None
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    what = "no id" if value is None else f"no id but {shown(value)}"
    raise EngineError(
        f"row {place} has {what} at `{path.text}`; it {outline(row)}. Mend `{path.name}`."
    )


def _number(path: JsonPath, row: Any, place: int, *, required: bool) -> float | None:
    value = path.of(row)
    if value is None and not required:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise EngineError(
            f"row {place} has no number at `{path.text}` but {shown(value)}. Mend the server, or "
            f"`{path.name}` in the config."
        )
    return float(value)


def _digest(row: Any) -> str:
    """Return what tells the rows of one document apart in every answer: their content."""
    content = row.get("content", row.get("text"))
    text = content if isinstance(content, str) else ""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
