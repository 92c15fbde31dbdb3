"""Rows of a corpus: records to ``Entry`` and back. Files are opened in ``formats``.

| noun | spellings (case, spaces and hyphens do not matter) |
| --- | --- |
| id | ``id key _id doc_id document_id entry_id memory_id``, else (1) |
| text | ``text content body contents``, else ``passage`` |
| source_type | ``source_type``, else ``store type kind`` where it names a store |
| title | ``title`` |
| updated_at | ``updated_at updated last_updated last_modified modified_at lastmod``; ``date`` |
| age_days | ``age_days age_in_days`` |
| tags | ``tags``, else ``labels`` |
| path | ``path file_path`` |
| principals | ``principals allowed_users acl``: a list of names |
| source, section | a file below the root, and the heading of the section to cut out of it |

(1) ``docid docno corpus_id passage_id pid chunk_id``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sweeper.corpus import STORES, Corpus, Entry, Store, cut_section, headings
from sweeper.errors import InputError, Problem, Problems, did_you_mean
from sweeper.files import read_text
from sweeper.formats.cells import read_names, read_tags
from sweeper.formats.spellings import (
    Columns,
    Field,
    canonical,
    field_names,
    find_rows,
    number_rows,
    texts_by_id,
)
from sweeper.formats.values import (
    BareNull,
    Record,
    Value,
    WrongValue,
    as_number,
    as_optional_text,
    as_text,
    describe,
    no_text,
    quoted,
)

__all__ = [
    "CORPUS_FIELDS",
    "CORPUS_WRAPPERS",
    "corpus_from_rows",
    "corpus_to_rows",
    "find_entries",
]

CORPUS_FIELDS = (
    Field(
        "id",
        ("id", "key", "_id", "doc_id", "document_id", "entry_id", "memory_id"),
        weak=("docid", "docno", "corpus_id", "passage_id", "pid", "chunk_id"),
        required=True,
    ),
    Field("text", ("text", "content", "body", "contents"), weak=("passage",), required=True),
    Field("source_type", ("source_type",), weak=("store", "type", "kind")),
    Field("title", ("title",)),
    Field(
        "updated_at",
        ("updated_at", "updated", "last_updated", "last_modified", "modified_at", "lastmod"),
        weak=("date",),
    ),
    Field("age_days", ("age_days", "age_in_days")),
    Field("tags", ("tags",), weak=("labels",)),
    Field("path", ("path", "file_path")),
    Field("principals", ("principals", "allowed_users", "acl")),
    Field("source", ("source",)),
    Field("section", ("section",)),
)

_GROUPS: dict[str, Store] = {
    "documents": "document",
    "docs": "document",
    "memories": "memory",
    "facts": "memory",
}
_WRAPPERS = ("corpus", "entries", "passages", "chunks", "pages", "rows", "items", "data")
CORPUS_WRAPPERS = (*_GROUPS, *_WRAPPERS)
_ROW_FIELDS = frozenset(
    name for field in CORPUS_FIELDS[:2] for name in (*field.spellings, *field.weak)
)

_ANY_NAME = frozenset(
    (*CORPUS_WRAPPERS, "corpus", *(n for f in CORPUS_FIELDS for n in (*f.spellings, *f.weak)))
)


def find_entries(data: Value, path: str) -> list[tuple[Record, Store | None]]:
    """Return the rows of a corpus document, each with the store that its place implies.

    Understood are a list of rows, ``{"documents": [...], "memories": [...]}``, ``{"entries":
    [...]}``, either of them under ``"corpus"`` (in a golden set's file, say), ``{id: row}`` and
    ``{id: text}``.

    Raises
    ------
    InputError
        If there are no rows.
    """
    if isinstance(data, Record):
        whole = next((data[name] for name in data if canonical(name) == "corpus"), None)
        if isinstance(whole, list | Record):
            return find_entries(whole, path)
        groups = [
            (rows, _GROUPS[canonical(name)])
            for name, rows in data.items()
            if canonical(name) in _GROUPS and isinstance(rows, list | Record)
        ]
        found: list[tuple[Record, Store | None]] = [
            (row, store)
            for rows, store in groups
            if rows
            for row in find_rows(
                rows, _WRAPPERS, path=path, holds="entries", row_fields=_ROW_FIELDS
            )
        ]
        if found:
            return found
        if groups:
            raise InputError(Problem("holds no entries. Give at least one.", path, data.line))
    by_id = texts_by_id(data, _ANY_NAME)
    if by_id is not None:
        return [
            (Record(by_id.line, {"id": entry_id, "text": text}.items()), None)
            for entry_id, text in by_id.items()
        ]
    rows = find_rows(data, _WRAPPERS, path=path, holds="entries", row_fields=_ROW_FIELDS)
    return [(row, None) for row in rows]


def corpus_from_rows(
    rows: Sequence[tuple[Record, Store | None]],
    *,
    path: str,
    root: Path,
    fields: Mapping[str, str] | None = None,
) -> Corpus:
    """Make a corpus of records.

    Parameters
    ----------
    rows
        Each with the store that its place in the file implies, if any. At least one.
    path
        Names the file in messages.
    root
        Folder that ``source`` paths start from and may not leave.
    fields
        Noun to field name, for files with spellings of their own.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    records = [row for row, _ in rows]
    # A file may consist of fixtures alone, which have no text of their own.
    fixtures = any(canonical(name) == "source" for name in field_names(records))
    table = tuple(
        Field(f.name, f.spellings, f.weak, required=False) if f.name == "text" and fixtures else f
        for f in CORPUS_FIELDS
    )
    columns = Columns(records, table, explicit=fields, path=path, role="corpus")
    reader = _Reader(columns, records, _Sections(root))
    entries = [entry for row, store in rows if (entry := reader.entry(row, store)) is not None]
    reader.problems.raise_if_any()
    return Corpus(tuple(entries))


class _Reader:
    """Reads rows one by one, collecting problems."""

    def __init__(self, columns: Columns, rows: Sequence[Record], sections: _Sections) -> None:
        self.columns = columns
        self.sections = sections
        self.problems = Problems(columns.path)
        columns.report_conflicts(rows, self.problems)
        self.misspelt = columns.report_typos(rows, self.problems)
        self.places = number_rows(rows)
        self.seen: dict[str, Record] = {}
        self.names_stores = self._names_stores(rows)

    def entry(self, row: Record, implied: Store | None) -> Entry | None:
        before = len(self.problems)
        entry_id = self.id(row)
        text, section = self.text(row)
        store = self.store(row, implied)
        title = self.optional(row, "title") or section
        updated_at = self.optional(row, "updated_at")
        age_days = self.age(row)
        if updated_at is not None and age_days is not None:
            self.add(
                row,
                f"{self.columns.label('updated_at')} and {self.columns.label('age_days')} are both "
                "given. Keep one of them.",
            )
        tags = self.tags(row)
        path = self.optional(row, "path")
        principals = self.principals(row)
        if len(self.problems) > before:
            return None
        return Entry(entry_id, text, store, title, updated_at, age_days, tags, path, principals)

    def add(self, row: Record, message: str) -> None:
        self.problems.add(message, line=row.line, where=self.places.get(id(row)))

    def id(self, row: Record) -> str:
        value = self.columns.get(row, "id")
        if (id(row), "id") in self.misspelt:
            return ""
        try:
            if value is None:
                raise WrongValue("is missing. Every entry needs one, to be expected by.")
            entry_id = as_text(value)
        except WrongValue as error:
            self.add(row, f"{self.columns.label('id')} {error}")
            return ""
        first = self.seen.setdefault(entry_id, row)
        if first is not row:
            place = self.places.get(id(first), f"line {first.line}")
            self.add(row, f"the id {quoted(entry_id)} is taken by {place}. Rename one of them.")
        return entry_id

    def text(self, row: Record) -> tuple[str, str | None]:
        """Return a row's text, and the section's title if it was cut out of a source file."""
        value = self.columns.get(row, "text")
        if isinstance(value, str) and (value == "" or not isinstance(value, BareNull)):
            return str(value), None
        try:
            if value is not None and not isinstance(value, BareNull):
                raise no_text(value)
            source = self.optional(row, "source")
            section = self.optional(row, "section")
            if source is not None:
                return self.cut(row, source, section), section
            if not _is_given(self.columns.get(row, "source")):
                raise WrongValue('is missing. Give a text ("" for an empty one).')
        except WrongValue as error:
            if (id(row), "text") not in self.misspelt:
                self.add(row, f"{self.columns.label('text')} {error}")
        return "", None

    def cut(self, row: Record, source: str, section: str | None) -> str:
        try:
            return self.sections.cut(source, section)
        except WrongValue as error:
            self.add(row, str(error))
            return ""

    def store(self, row: Record, implied: Store | None) -> Store:
        value = self.columns.get(row, "source_type") if self.names_stores else None
        if value is None or value == "":
            return implied or "document"
        stated = _store(value)
        label = self.columns.label("source_type")
        if stated is None:
            hint = did_you_mean(str(value), STORES) if isinstance(value, str) else _CHOICES
            self.add(row, f"{label} is {describe(value)}, which is no store. {hint}")
        elif implied not in (None, stated):
            self.add(row, f"{label} is {stated}, but it stands among {implied} rows. Move it.")
        return stated or "document"

    def optional(self, row: Record, noun: str) -> str | None:
        try:
            return as_optional_text(self.columns.get(row, noun))
        except WrongValue as error:
            self.add(row, f"{self.columns.label(noun)} {error}")
            return None

    def age(self, row: Record) -> float | None:
        value = self.columns.get(row, "age_days")
        if not _is_given(value):
            return None
        try:
            return as_number(value)
        except WrongValue as error:
            self.add(row, f"{self.columns.label('age_days')} {error}")
            return None

    def tags(self, row: Record) -> dict[str, str]:
        try:
            return read_tags(self.columns.get(row, "tags"))
        except WrongValue as error:
            self.add(row, f"{self.columns.label('tags')} {error}")
            return {}

    def principals(self, row: Record) -> tuple[str, ...] | None:
        try:
            return read_names(self.columns.get(row, "principals"))
        except WrongValue as error:
            self.add(row, f"{self.columns.label('principals')} {error}")
            return ()

    def _names_stores(self, rows: Sequence[Record]) -> bool:
        """Whether the source_type field means the store: ``type: faq`` throughout does not."""
        if not self.columns.is_weak("source_type"):
            return True
        return any(_store(self.columns.get(row, "source_type")) is not None for row in rows)


def _is_given(value: Value) -> bool:
    return value is not None and value != "" and not isinstance(value, BareNull)


_CHOICES = f"Choose from: {', '.join(STORES)}."


def _store(value: Value) -> Store | None:
    name = value.strip().lower() if isinstance(value, str) else None
    return next((store for store in STORES if store == name), None)


class _Sections:
    """Texts that fixtures name by file and heading. Each file is read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.texts: dict[str, str] = {}

    def cut(self, source: str, section: str | None) -> str:
        text = self.texts.get(source)
        if text is None:
            text = self.texts[source] = self._read(source)
        if section is None:
            return text
        found = cut_section(text, section)
        if found is None:
            titles = list(dict.fromkeys(title for _, _, title in headings(text)))
            hint = did_you_mean(section, titles[:20]) if titles else "It has no headings."
            raise WrongValue(f"{quoted(source)} has no section {quoted(section)}. {hint}")
        return found

    def _read(self, source: str) -> str:
        try:
            root = self.root.resolve()
            file = (root / source).resolve()
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a loop of links
            raise WrongValue(f"the source {quoted(source)} is no usable path ({error}).") from error
        if not file.is_relative_to(root):
            raise WrongValue(
                f"the source {quoted(source)} lies outside {quoted(str(self.root))}. "
                "Give a path below it."
            )
        if not file.exists():
            raise WrongValue(
                f"there is no source {quoted(source)} below {quoted(str(self.root))}. "
                "Name the folder that the sources start from."
            )
        try:
            return read_text(file, allow_empty=True).replace("\r\n", "\n")
        except InputError as error:
            raise WrongValue(f"the source {error}") from error


def corpus_to_rows(corpus: Corpus) -> list[dict[str, object]]:
    """Return the rows of a corpus as plain data, in the spellings that sweeper writes."""
    return [_row(entry) for entry in corpus.entries]


def _row(entry: Entry) -> dict[str, object]:
    row: dict[str, object] = {
        "id": entry.entry_id,
        "text": entry.text,
        "source_type": entry.store,
        "title": entry.title,
        "updated_at": entry.updated_at,
        "age_days": entry.age_days,
        "tags": dict(entry.tags) or None,
        "path": entry.path,
        "principals": None if entry.principals is None else list(entry.principals),
    }
    return {name: value for name, value in row.items() if value is not None}
