"""The corpus: documents, which are cut into chunks, and dated memories.

Files are read in ``formats``.

An *entry* is what the corpus file holds; an *item* is what an engine ranks: a chunk of a document
(``<id>@<index>``) or a whole memory (its own id). The metric key of an item is its entry's id.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from sweeper.golden import ItemId, Key

__all__ = [
    "STORES",
    "Age",
    "Chunking",
    "Corpus",
    "Entry",
    "Item",
    "Store",
    "age_of",
    "chunk",
    "cut_section",
    "headings",
    "may_see",
    "parse_instant",
    "tags_match",
]

Store: TypeAlias = Literal["document", "memory"]
STORES: tuple[Store, Store] = ("document", "memory")
"""Stores in the order in which a channel merges them: documents first."""

_SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One document or memory as the corpus file has it.

    At most one of ``updated_at`` (text as written) and ``age_days`` is set. ``principals`` are the
    names of users and groups who may see it (``may_see``): ``None`` is everybody, an empty
    tuple nobody.
    """

    entry_id: Key
    text: str
    store: Store
    title: str | None = None
    updated_at: str | None = None
    age_days: float | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    path: str | None = None
    principals: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """Entries in file order, with distinct ids."""

    entries: tuple[Entry, ...]

    def __post_init__(self) -> None:
        ids = [entry.entry_id for entry in self.entries]
        if len(set(ids)) != len(ids):
            raise ValueError("entry ids must be distinct")

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset(entry.entry_id for entry in self.entries)

    @property
    def restricted(self) -> dict[Key, Entry]:
        """The entries that not everybody may see, by id, in file order."""
        return {e.entry_id: e for e in self.entries if e.principals is not None}

    @property
    def digest(self) -> str:
        """SHA-256 over the content, independent of file format and spelling."""
        rows = [
            (
                e.entry_id,
                e.text,
                e.store,
                e.title,
                e.updated_at,
                e.age_days,
                sorted(e.tags.items()),
                e.path,
                # Only where they are given: what was captured before there were any stays valid.
                *(() if e.principals is None else (sorted(set(e.principals)),)),
            )
            for e in self.entries
        ]
        text = json.dumps(rows, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Chunking:
    """How a document is cut.

    ``whole`` makes one chunk of it, ``size`` windows of ``size`` code points every
    ``size - overlap`` of them as long as a window starts inside the text, ``section`` one chunk per
    Markdown heading (any text before the first heading is a chunk of its own).
    Memories are never cut.
    """

    kind: Literal["whole", "size", "section"] = "whole"
    size: int = 1000
    overlap: int = 200

    def __post_init__(self) -> None:
        if self.kind != "size":
            return
        if self.size < 1 or not 0 <= self.overlap < self.size:
            raise ValueError(f"need 0 <= overlap < size, got {self.overlap} and {self.size}")


@dataclass(frozen=True, slots=True)
class Item:
    """What an engine ranks. ``entry`` is where it was cut from."""

    item_id: ItemId
    text: str
    entry: Entry

    @property
    def key(self) -> Key:
        return self.entry.entry_id

    @property
    def store(self) -> Store:
        return self.entry.store


def chunk(corpus: Corpus, chunking: Chunking) -> tuple[Item, ...]:
    """Cut a corpus into items, in corpus order.

    Parameters
    ----------
    corpus
        Documents and memories.
    chunking
        Applied to documents. A memory is one item, its id unchanged.

    Returns
    -------
    tuple of Item
        A document's items are ``<id>@0``, ``<id>@1``, ... An empty document is one empty item.

    Raises
    ------
    ValueError
        If two items would share an id (a memory called like another document's chunk).
    """
    items: list[Item] = []
    for entry in corpus.entries:
        if entry.store == "memory":
            items.append(Item(entry.entry_id, entry.text, entry))
            continue
        pieces = _cut(entry.text, chunking) or [entry.text]
        items += [Item(f"{entry.entry_id}@{i}", piece, entry) for i, piece in enumerate(pieces)]
    ids = [item.item_id for item in items]
    if len(set(ids)) != len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise ValueError(f"two items share the id {twice!r}. Rename the memory or the document")
    return tuple(items)


def _cut(text: str, chunking: Chunking) -> list[str]:
    if chunking.kind == "whole":
        return [text]
    if chunking.kind == "size":
        stride = chunking.size - chunking.overlap
        return [text[start : start + chunking.size] for start in range(0, len(text), stride)]
    return [piece for piece in _sections(text) if piece.strip()]


_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")


def headings(text: str) -> list[tuple[int, int, str]]:
    """Return ``(line index, level, title)`` of each Markdown ATX heading outside code fences.

    Follows CommonMark 0.31 §4.2 and §4.5; setext headings are not recognised.
    """
    found: list[tuple[int, int, str]] = []
    fence = ""
    for number, line in enumerate(text.split("\n")):
        line = line.rstrip("\r")
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not opened[2].strip():
                fence = ""
            continue
        if opened and not (opened[1][0] == "`" and "`" in opened[2]):
            fence = opened[1]
            continue
        heading = _HEADING.match(line)
        if heading:
            found.append((number, len(heading[1]), _title(heading[2] or "")))
    return found


def _title(text: str) -> str:
    """Return a heading's text without a closing run of ``#``, which follows a space or nothing."""
    text = text.strip()
    bare = text.rstrip("#")
    return text if bare and bare[-1] not in " \t" else bare.rstrip()


def _sections(text: str) -> list[str]:
    lines = text.split("\n")
    starts = [0, *(number for number, _, _ in headings(text) if number > 0), len(lines)]
    return ["\n".join(lines[a:b]).strip("\r\n") for a, b in itertools.pairwise(starts)]


def cut_section(text: str, title: str) -> str | None:
    """Return one Markdown section: its heading up to the next of the same or a higher level.

    Outer blank lines are stripped; the last line keeps its line end. The first heading of that
    title counts; ``None`` if there is none.
    """
    lines = text.split("\n")
    found = headings(text)
    for place, (number, level, heading) in enumerate(found):
        if heading == title:
            end = next((n for n, other, _ in found[place + 1 :] if other <= level), len(lines))
            return "\n".join(lines[number:end]).strip("\r\n") + "\n"
    return None


AgeStatus: TypeAlias = Literal["known", "future", "missing", "unparseable"]


@dataclass(frozen=True, slots=True)
class Age:
    """Age of a memory at one fixed instant.

    ``days`` is NaN when unknown; a negative age (a clock skewed into the future) is kept as it is,
    and ranking gives it the factor 1.
    """

    days: float
    status: AgeStatus


def age_of(entry: Entry, as_of: datetime) -> Age:
    """Return how old an entry is at ``as_of`` (an aware instant), in days of 86,400 seconds."""
    if entry.age_days is not None:
        return Age(entry.age_days, "known" if entry.age_days >= 0 else "future")
    if entry.updated_at is None or not entry.updated_at.strip():
        return Age(math.nan, "missing")
    instant = parse_instant(entry.updated_at)
    if instant is None:
        return Age(math.nan, "unparseable")
    days = (as_of - instant).total_seconds() / _SECONDS_PER_DAY
    return Age(days, "known" if days >= 0 else "future")


def parse_instant(text: str) -> datetime | None:
    """Read an ISO 8601 date or date-time, or a Unix time in seconds; a naive one is UTC.

    Returns ``None`` for anything else; never raises.

    Examples
    --------
    >>> parse_instant("2026-11-01")
    datetime.datetime(2026, 11, 1, 0, 0, tzinfo=datetime.timezone.utc)
    >>> parse_instant("yesterday") is None
    True
    """
    text = text.strip()
    if _UNIX_TIME.fullmatch(text):  # first: "1712011220304" is also 1712-01-12 03:04 in ISO 8601
        return _unix_time(text)
    try:
        instant = datetime.fromisoformat(text)
    except (OverflowError, ValueError):
        return None
    if instant.tzinfo is None:
        return instant.replace(tzinfo=UTC)
    try:
        return instant.astimezone(UTC)
    except (OverflowError, ValueError):
        return None


_UNIX_TIME = re.compile(r"[0-9]{9,13}(\.[0-9]+)?")


def _unix_time(text: str) -> datetime:
    seconds = float(text)
    if seconds >= 1e11:  # milliseconds: 1e11 seconds is the year 5138
        seconds /= 1000.0
    return datetime.fromtimestamp(seconds, UTC)


def may_see(entry: Entry, user: str | None) -> bool:
    """Return whether a question that is asked as ``user`` may find an entry.

    The one rule of access; every engine that is given a corpus follows it. An entry without
    principals is public. Any other is seen by those whom it names and by nobody else, so a question
    without a user (``None``) finds public entries alone. Names are compared as they are written.

    Examples
    --------
    >>> secret = Entry("salaries", "...", "document", principals=("ada", "board"))
    >>> may_see(secret, "ada"), may_see(secret, "bo"), may_see(secret, None)
    (True, False, False)
    """
    return entry.principals is None or (user is not None and user in entry.principals)


def tags_match(entry: Entry, wanted: Mapping[str, str], stores: Sequence[Store] = STORES) -> bool:
    """Return whether an entry passes a filter of tags, ``path`` (a prefix) and ``store``."""
    if entry.store not in stores:
        return False
    for name, value in wanted.items():
        if name == "store":
            passes = entry.store == value
        elif name == "path":
            passes = (entry.path or "").startswith(value)
        else:
            passes = entry.tags.get(name) == value
        if not passes:
            return False
    return True
