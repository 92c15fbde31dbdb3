r"""A folder of Markdown and text files as a corpus of documents.

Every ``.md``, ``.markdown`` and ``.txt`` file is a document, at any depth. Hidden files and
folders are skipped; links to folders are not followed, so that a loop of them ends. Its id is its
path below the folder, with ``/``, without the extension (``docs/prd``). Front matter (YAML between
two ``---`` lines at the top) may give ``title``, ``updated_at``, ``age_days``, ``tags``, ``id``,
``source_type`` and ``principals`` (or ``allowed_users``, ``acl``: a list, or names between commas);
its other keys are left alone. Front matter that begins below the first line is refused, as it would
go unread. Line ends become ``\n`` and outer blank lines go, so that one checkout is the same corpus
on every system.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sweeper.corpus import STORES, Corpus, Entry, Store, headings
from sweeper.errors import InputError, Problem, did_you_mean
from sweeper.files import read_text
from sweeper.formats.cells import read_names, read_tags
from sweeper.formats.spellings import canonical
from sweeper.formats.values import (
    Bare,
    BareNull,
    Malformed,
    Record,
    Value,
    WrongValue,
    as_number,
    as_optional_text,
    describe,
    quoted,
)
from sweeper.formats.yaml_text import YamlDocument, parse_yaml

__all__ = ["TEXT_SUFFIXES", "read_folder"]

TEXT_SUFFIXES = (".md", ".markdown", ".txt")

# A page often has several dates; the one that says when it last changed is wanted.
_DATES = ("updated_at", "last_modified", "lastmod", "last_updated", "updated", "modified", "date")

_PRINCIPALS = ("principals", "allowed_users", "acl")

_READ = {"title", *_DATES, "age_days", "id", "source_type", "tags", *_PRINCIPALS}


def read_folder(folder: Path) -> Corpus:
    """Read a folder of texts, in the order of their paths.

    Raises
    ------
    InputError
        With every problem of every file: unreadable, broken front matter, a shared id. Also if
        there is no text file.
    """
    problems: list[Problem] = []
    entries: list[Entry] = []
    seen: dict[str, Path] = {}
    for file in _text_files(folder):
        try:
            entry = _entry(file, file.relative_to(folder).as_posix())
        except InputError as error:
            problems += error.problems
            continue
        first = seen.setdefault(entry.entry_id, file)
        if first is not file:
            problems.append(
                Problem(
                    f"has the id {quoted(entry.entry_id)}, as {first} has. Rename one of them.",
                    str(file),
                )
            )
            continue
        entries.append(entry)
    if problems:
        raise InputError(problems)
    if not entries:
        kinds = ", ".join(TEXT_SUFFIXES)
        message = f"this folder holds no text files ({kinds}). Give one that does."
        raise InputError(Problem(message, str(folder)))
    return Corpus(tuple(entries))


def _text_files(folder: Path) -> list[Path]:
    def fail(error: OSError) -> None:
        raise InputError(
            Problem("this folder may not be read. Check its permissions.", str(error.filename))
        ) from error

    found: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=fail, followlinks=False):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            Path(parent, name)
            for name in names
            if not name.startswith(".") and name.lower().endswith(TEXT_SUFFIXES)
        ]
    return sorted(found, key=lambda file: file.relative_to(folder).as_posix())


def _entry(file: Path, below: str) -> Entry:
    text = read_text(file, allow_empty=True).replace("\r\n", "\n")
    front, body, first_line = _split_front_matter(text, file)
    fields = {canonical(name): value for name, value in front.items()}
    reader = _FrontMatter(front, fields, file, first_line)
    body = body.strip("\n")
    body += "\n" if body else ""
    title = reader.text("title") or next((name for _, _, name in headings(body) if name), None)
    updated_at = next((date for name in _DATES if (date := reader.text(name))), None)
    age_days = reader.age()
    if updated_at is not None and age_days is not None:
        reader.fail("updated_at", "and age_days are both given. Keep one of them.")
    entry_id = reader.text("id") or re.sub(r"\.[^./]+$", "", below)
    store = reader.store()
    tags = reader.tags()
    principals = reader.principals()
    if reader.problems:
        raise InputError(reader.problems)
    return Entry(entry_id, body, store, title, updated_at, age_days, tags, below, principals)


_FENCE = re.compile(r"---[ \t]*\n")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)


def _split_front_matter(text: str, file: Path) -> tuple[Record, str, YamlDocument | None]:
    """Return front matter, the text below it, and the document that knows its lines."""
    fence = _FENCE.match(text)
    if fence is None:
        _refuse_late_front_matter(text, file)
        return Record(1), text, None
    end = _END.search(text, fence.end())
    if end is None:
        # Without an end it is either a rule (---) at the top of a text, or a forgotten fence.
        if re.match(r"[\w-]+:(?:[ \t]|$)", text[fence.end() :], re.MULTILINE):
            raise InputError(
                Problem("the front matter has no end. Close it with a --- line.", str(file), 1)
            )
        return Record(1), text, None
    try:
        document = parse_yaml(text[fence.end() : end.start()], first_line=2)
    except Malformed as error:
        message = f"the front matter {error.message}"
        raise InputError(Problem(message, str(file), error.line)) from error
    value = document.value
    if value is None:  # nothing, or comments alone
        return Record(1), text[end.end() :], None
    if not isinstance(value, Record):
        return Record(1), text, None
    return value, text[end.end() :], document


def _refuse_late_front_matter(text: str, file: Path) -> None:
    """Refuse front matter below blank lines or comments: unread, a page for some is for all."""
    start = _below_comments(text)
    fence = _FENCE.match(text, start)
    end = None if fence is None else _END.search(text, fence.end())
    if fence is None or end is None or text[start - 1] != "\n":
        return
    line = text.count("\n", 0, start) + 1
    try:
        found = parse_yaml(text[fence.end() : end.start()], first_line=line + 1).value
    except Malformed:
        return  # it is text between two rules
    names = {canonical(name) for name in found} if isinstance(found, Record) else set()
    if names & _READ:
        message = "front matter is read from the first line on alone. Move it to the top."
        raise InputError(Problem(message, str(file), line))


def _below_comments(text: str) -> int:
    """Return where the first text is that is neither white space nor an HTML comment."""
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
        elif text.startswith("<!--", place) and (end := text.find("-->", place)) >= 0:
            place = end + len("-->")
        else:
            break
    return place


class _FrontMatter:
    """Reads single fields, collecting problems with their lines."""

    def __init__(
        self, front: Record, fields: dict[str, Value], file: Path, document: YamlDocument | None
    ) -> None:
        self.names = {canonical(name): name for name in front}
        self.fields = fields
        self.file = file
        self.document = document
        self.problems: list[Problem] = []

    def text(self, name: str) -> str | None:
        try:
            return as_optional_text(self.fields.get(name))
        except WrongValue as error:
            self.fail(name, str(error))
            return None

    def age(self) -> float | None:
        value = self.fields.get("age_days")
        if value is None or isinstance(value, BareNull):
            return None
        try:
            return as_number(value)
        except WrongValue as error:
            self.fail("age_days", str(error))
            return None

    def store(self) -> Store:
        value = self.text("source_type") or "document"
        store = next((store for store in STORES if store == value.lower()), None)
        if store is None:
            hint = did_you_mean(value, STORES)
            self.fail("source_type", f"is {describe(Bare(value))}, which is no store. {hint}")
        return store or "document"

    def tags(self) -> dict[str, str]:
        try:
            return read_tags(self.fields.get("tags"))
        except WrongValue as error:
            self.fail("tags", str(error))
            return {}

    def principals(self) -> tuple[str, ...] | None:
        given: dict[str, tuple[str, ...]] = {}
        for name in _PRINCIPALS:
            try:
                names = read_names(self.fields.get(name), commas=True)
            except WrongValue as error:
                self.fail(name, str(error))
                continue
            if names is not None:
                given[name] = names
        if len({frozenset(names) for names in given.values()}) > 1:
            first, second, *_ = given
            self.fail(first, f"and {quoted(second)} are both given and differ. Keep one of them.")
        return next(iter(given.values()), None)

    def fail(self, name: str, message: str) -> None:
        line = self.document.line_of((self.names.get(name, name),)) if self.document else 1
        self.problems.append(Problem(f"{quoted(name)} {message}", str(self.file), line))
