"""Rows of a golden set: records to ``Query`` and back. Files are opened in ``formats``.

| noun | spellings (case, spaces and hyphens do not matter) |
| --- | --- |
| id | ``id query_id qid _id question_id`` |
| slice | ``slice kind type category`` |
| query | ``query question``, else ``text q query_text user_input`` |
| expected | ``expected relevant gold``, also with ``_ids _docs _chunks`` ...; else (1) |
| grades | ``grades grade relevance relevances relevance_scores gains`` |
| filter | ``filter filters`` |
| user | ``user user_id`` |
| class | ``class question_class`` |
| routed_as, rule | as written: by which class a question was routed, and why |

(1) ``retrieval_gt``, ``reference_context_ids``, ``answers``.

``expected`` is one id, a list of ids, a list of objects (``{key, grade}``), or a mapping of id to
grade. ``grades`` is a mapping, or a list parallel to ``expected``.
"""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Collection, Mapping, Sequence

from sweeper.corpus import Entry, may_see
from sweeper.errors import Problems, did_you_mean
from sweeper.formats.cells import read_mapping, split_cell
from sweeper.formats.doubts import asked_again, odd_keys
from sweeper.formats.expected import (
    MISSING_EXPECTED,
    Judgment,
    is_absent,
    judgments_of,
    unread_names,
    with_grades,
    without_repeats,
)
from sweeper.formats.spellings import Columns, Field, canonical, field_names, number_rows
from sweeper.formats.values import (
    Record,
    Value,
    WrongValue,
    as_optional_text,
    as_text,
    listed,
    quoted,
)
from sweeper.golden import CLASS_NAME, OVERALL, GoldenSet, Key, Query, Route

__all__ = [
    "GOLDEN_FIELDS",
    "GOLDEN_WRAPPERS",
    "WHOLE_FILE_SLICE",
    "golden_from_rows",
    "golden_to_rows",
]

_LOG = logging.getLogger(__name__)

_JUDGED = ("expected", "relevant", "gold")
_JUDGED_WHAT = (
    "",
    *("_id", "_ids", "_key", "_keys", "_doc", "_docs", "_doc_id", "_doc_ids"),
    *("_document", "_documents", "_document_id", "_document_ids", "_page", "_pages"),
    *("_passage", "_passages", "_passage_id", "_passage_ids"),
    *("_chunk", "_chunks", "_chunk_id", "_chunk_ids"),
)

GOLDEN_FIELDS = (
    Field("id", ("id", "query_id", "qid", "_id", "question_id")),
    Field("slice", ("slice", "kind", "type", "category")),
    Field(
        "query",
        ("query", "question"),
        weak=("text", "q", "query_text", "user_input"),
        required=True,
    ),
    Field(
        "expected",
        tuple(start + what for start in _JUDGED for what in _JUDGED_WHAT),
        # Answers are often prose, so they count only where nothing else could be meant.
        weak=("retrieval_gt", "reference_context_ids", "answers"),
    ),
    Field("grades", ("grades", "grade", "relevance", "relevances", "relevance_scores", "gains")),
    Field("filter", ("filter", "filters")),
    Field("user", ("user", "user_id")),
    Field("class", ("class", "question_class"), guessed=False),
    Field("routed_as", ("routed_as",), guessed=False),
    Field("rule", ("rule",), guessed=False),
)

GOLDEN_WRAPPERS = (
    *("queries", "golden", "golden_set", "questions", "cases", "test_cases"),
    *("examples", "rows", "items", "data"),
)

WHOLE_FILE_SLICE = "all"
"""Slice of every question in a file that has no slices."""

# A suggestion is a search through all keys: only for problems that are printed, in modest corpora.
_MAX_SUGGESTIONS = 20
_MAX_SEARCHED = 20_000


def golden_from_rows(
    rows: Sequence[Record],
    *,
    path: str,
    is_table: bool = False,
    fields: Mapping[str, str] | None = None,
    corpus_keys: Collection[Key] | None = None,
    stores: Mapping[Key, str] | None = None,
    restricted: Mapping[Key, Entry] | None = None,
) -> GoldenSet:
    """Make a golden set of records.

    Parameters
    ----------
    rows
        At least one.
    path
        Names the file in messages.
    is_table
        Whether lists stand in cells; see ``cells``.
    fields
        Noun to field name, for files with spellings of their own.
    corpus_keys
        The ids that exist. Expected keys that are not among them are problems.
    stores
        Key to store; where a row says the store of an expected key, they must agree.
    restricted
        Entries that not everybody may see. Expected keys among them that the row's user may not
        see are problems.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    # A file may state grades alone: {"grades": {"a": 2}}. They then are what is expected.
    table = tuple(
        Field(f.name, f.spellings, f.weak, required=True)
        if f.name == "expected" and not _only_grades(rows)
        else f
        for f in GOLDEN_FIELDS
    )
    columns = Columns(rows, table, explicit=fields, path=path, role="golden")
    reader = _Reader(columns, rows, is_table)
    queries = [query for row in rows if (query := reader.query(row)) is not None]
    if corpus_keys is not None:
        reader.check_keys(corpus_keys)
    if stores is not None:
        reader.check_stores(stores)
    if restricted:
        reader.check_access(restricted)
    reader.problems.raise_if_any()
    if reader.unread:
        _LOG.warning(
            "%s: what stands beside an expected key as %s is not read. If it is a grade, call it "
            '"grade".',
            path,
            listed(sorted(reader.unread)),
        )
    again = asked_again(queries)
    if again is not None:
        _LOG.warning("%s: %s", path, again)
    if corpus_keys is None:
        if columns.label("expected") == '"answers"' and columns.is_weak("expected"):
            _LOG.warning('%s: "answers" are taken for the ids of documents.', path)
        for note in odd_keys(queries, is_table=is_table):
            _LOG.warning("%s: %s", path, note)
    return GoldenSet(tuple(queries))


def _only_grades(rows: Sequence[Record]) -> bool:
    names = {field.name: (*field.spellings, *field.weak) for field in GOLDEN_FIELDS}
    found = {canonical(name) for name in field_names(rows)}
    return not found.intersection(names["expected"]) and any(
        isinstance(value, Record)
        for row in rows
        for name, value in row.items()
        if canonical(name) in names["grades"]
    )


class _Reader:
    """Reads rows one by one, collecting problems and what later checks need."""

    def __init__(self, columns: Columns, rows: Sequence[Record], is_table: bool) -> None:
        self.columns = columns
        self.is_table = is_table
        self.problems = Problems(columns.path)
        columns.report_conflicts(rows, self.problems)
        self.misspelt = columns.report_typos(rows, self.problems)
        self.places = number_rows(rows)
        self.id_width = max(3, len(str(len(rows))))
        self.n_read = 0
        self.seen: dict[str, Record] = {}
        self.unread: set[str] = set()
        self.judgments: list[tuple[Record, Judgment]] = []
        self.users: dict[int, str | None] = {}

    def query(self, row: Record) -> Query | None:
        self.n_read += 1
        before = len(self.problems)
        query_id = self.id(row)
        text = self.text(row, "query", "Give the question as it is asked.")
        slice_name = self.slice(row)
        expected, grades, judged = self.judged(row)
        filters = self.mapping(row, "filter")
        user = self.optional(row, "user")
        label, routed_as = self.plain(row, "class"), self.plain(row, "routed_as")
        rule = self.plain(row, "rule")
        if len(self.problems) > before:
            return None
        self.users[id(row)] = user
        route = None
        if routed_as is not None and rule is not None and CLASS_NAME.fullmatch(routed_as):
            route = Route(routed_as, rule)
        return Query(
            query_id, slice_name, text, expected, grades, judged, filters, user, label, route
        )

    def plain(self, row: Record, noun: str) -> str | None:
        """Return a text that other tools may use otherwise: what is none is left out."""
        try:
            return as_optional_text(self.columns.get(row, noun))
        except WrongValue:
            return None

    def check_keys(self, known: Collection[Key]) -> None:
        """Report each expected key that the corpus lacks."""
        known = known if isinstance(known, set | frozenset | dict) else set(known)
        alike: dict[str, Key] | None = None
        n_reported = 0
        for row, judgment in self.judgments:
            if judgment.key in known or (judgment.grade is not None and judgment.grade <= 0):
                continue
            hint = ""
            if n_reported < _MAX_SUGGESTIONS and len(known) <= _MAX_SEARCHED:
                if alike is None:
                    alike = {_plain(key): key for key in known}
                hint = _hint(judgment.key, known, alike)
            n_reported += 1
            self.add(
                row,
                f"the corpus has no entry {quoted(judgment.key)}.{hint} "
                "Correct the key, or add the entry.",
            )

    def check_stores(self, stores: Mapping[Key, str]) -> None:
        """Report each expected key whose stated store is not the corpus's."""
        for row, judgment in self.judgments:
            actual = stores.get(judgment.key)
            if actual is not None and judgment.store not in (None, actual):
                self.add(
                    row,
                    f"{quoted(judgment.key)} is expected as a {judgment.store}, "
                    f"but the corpus holds it as a {actual}. Correct one of them.",
                )

    def check_access(self, restricted: Mapping[Key, Entry]) -> None:
        """Report each expected key that the row's user may not see."""
        for row, judgment in self.judgments:
            entry = restricted.get(judgment.key)
            if entry is None or (judgment.grade is not None and judgment.grade <= 0):
                continue
            if id(row) in self.users and not may_see(entry, self.users[id(row)]):
                self.add(row, _forbidden(entry, self.users[id(row)]))

    def add(self, row: Record, message: str) -> None:
        self.problems.add(message, line=row.line, where=self.places.get(id(row)))

    def id(self, row: Record) -> str:
        if not self.columns.has("id"):
            return f"q{self.n_read:0{self.id_width}d}"
        query_id = self.text(
            row, "id", "Give every row an id, or none (then they are q001, q002, ...)."
        )
        first = self.seen.setdefault(query_id, row) if query_id else row
        if first is not row:
            place = self.places.get(id(first), f"line {first.line}")
            same = self.columns.get(first, "query") == self.columns.get(row, "query")
            remedy = "Write all keys of a question in one row" if same else "Rename one of them"
            self.add(row, f"the id {quoted(query_id)} is taken by {place}. {remedy}.")
        return query_id

    def slice(self, row: Record) -> str:
        if not self.columns.has("slice"):
            return WHOLE_FILE_SLICE
        name = self.text(row, "slice", "Give every row a slice, or none of them.")
        if name == OVERALL:
            self.add(
                row,
                f'a slice may not be called "{OVERALL}": it names the mean over all questions. '
                "Rename it.",
            )
        return name

    def text(self, row: Record, noun: str, remedy: str) -> str:
        value = self.columns.get(row, noun)
        if value is None and (id(row), noun) in self.misspelt:
            return ""
        try:
            if value is None or (isinstance(value, str) and not value.strip()):
                state = "missing" if value is None else "empty"
                raise WrongValue(f"is {state}. {remedy}")
            return as_text(value)
        except WrongValue as error:
            self.add(row, f"{self.columns.label(noun)} {error}")
            return ""

    def optional(self, row: Record, noun: str) -> str | None:
        try:
            return as_optional_text(self.columns.get(row, noun))
        except WrongValue as error:
            self.add(row, f"{self.columns.label(noun)} {error}")
            return None

    def mapping(self, row: Record, noun: str) -> dict[str, str]:
        try:
            return read_mapping(self.columns.get(row, noun))
        except WrongValue as error:
            self.add(row, f"{self.columns.label(noun)} {error}")
            return {}

    def judged(self, row: Record) -> tuple[tuple[Key, ...], dict[Key, float], tuple[Key, ...]]:
        """Return expected keys, their grades, and keys judged irrelevant."""
        noun = "expected"
        try:
            stated = self.expected(row)
            noun = "grades"
            merged = without_repeats(with_grades(stated, self.grades(row)))
        except WrongValue as error:
            if (id(row), "expected") not in self.misspelt:
                self.add(row, f"{self.columns.label(noun)} {error}")
            return (), {}, ()
        self.judgments += [(row, judgment) for judgment in merged]
        expected = tuple(j.key for j in merged if j.grade is None or j.grade > 0)
        if not expected and stated != []:
            self.add(
                row,
                "every grade is 0 or less, so nothing is expected. If it has no answer, "
                'write "expected": [] and leave the grades in "grades".',
            )
        return (
            expected,
            {j.key: j.grade for j in merged if j.grade is not None and j.grade > 0},
            tuple(j.key for j in merged if j.grade is not None and j.grade <= 0),
        )

    def expected(self, row: Record) -> list[Judgment] | None:
        """Return what the expected field states; ``None`` in a file that states grades alone."""
        value = self.columns.get(row, "expected")
        if self.is_table:
            value = split_cell(value)
        if not is_absent(value):
            self.unread |= unread_names(value)
            return judgments_of(value)
        if not self.columns.has("expected") and isinstance(self.grades(row), Record):
            return None
        state = "missing" if value is None else "empty"
        raise WrongValue(f"is {state}. {MISSING_EXPECTED}")

    def grades(self, row: Record) -> Value:
        value = self.columns.get(row, "grades")
        return split_cell(value) if self.is_table else value


def _plain(key: Key) -> str:
    """Return a key without what cannot be seen: blanks around it, the form of its accents."""
    return unicodedata.normalize("NFC", key).strip(" \t\r\n\xa0\u200b\ufeff")


def _hint(key: Key, known: Collection[Key], alike: Mapping[str, Key]) -> str:
    """Return which key of the corpus may be meant, with a blank before it."""
    parts = key.split(",")
    if len(parts) > 1 and all(part.strip() in known for part in parts):
        return f" It looks like {len(parts)} of them: in a cell, | stands between two keys."
    same = alike.get(_plain(key))
    if same is not None:
        shown = f"{json.dumps(key)} and {json.dumps(same)}"
        return f" It differs from one in blanks or in the form of its accents alone: {shown}."
    close = did_you_mean(key, known)
    return f" {close}" if close.startswith("Did") else ""


def _forbidden(entry: Entry, user: str | None) -> str:
    """Say that a question expects what its user may not see, and what mends it."""
    key, principals = quoted(entry.entry_id), entry.principals or ()
    if not principals:
        return (
            f"nobody may see the expected entry {key}: its principals are empty. "
            "Expect another key, or name somebody there."
        )
    named = listed([quoted(name) for name in principals], limit=5)
    if user is None:
        return (
            f"a question without a user finds public entries alone, and the expected entry {key} "
            f"is for {named}. Give the question such a user, or the entry no principals."
        )
    return (
        f"the user {quoted(user)} may not see the expected entry {key}, which is for {named}. "
        "Ask as one of them, add the user to the entry's principals, or expect another key."
    )


def golden_to_rows(golden: GoldenSet) -> list[dict[str, object]]:
    """Return the rows of a golden set as plain data, in the spellings that sweeper writes."""
    return [_row(query) for query in golden.queries]


def _row(query: Query) -> dict[str, object]:
    row: dict[str, object] = {
        "id": query.query_id,
        "slice": query.slice,
        "query": query.text,
        "expected": list(query.expected),
    }
    grades = {**query.grades, **dict.fromkeys(query.judged, 0.0)}
    if grades:
        row["grades"] = grades
    if query.filter:
        row["filter"] = dict(query.filter)
    if query.user is not None:
        row["user"] = query.user
    if query.label is not None:
        row["class"] = query.label
    if query.route is not None:
        row["routed_as"], row["rule"] = query.route
    return row
