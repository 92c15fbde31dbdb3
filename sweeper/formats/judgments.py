"""Judgments with named fields, one a row, and judgments by query and document in JSON.

What rating tools, spreadsheets and data frames write: a document of one question, and its grade.

| noun | spellings (case, spaces and hyphens do not matter) |
| --- | --- |
| id | ``query_id qid question_id topic_id topic`` |
| query | ``query question query_text`` |
| document | ``doc_id docid docno document_id corpus_id passage_id`` ..., else ``doc document`` |
| grade | ``grade relevance rel rating label score judgment``, else yes and no under ``relevant`` |
| slice | ``slice kind type category`` |

Without an id, a question's text is its id. A row with an empty grade was not judged: it is left
out and counted. JSON may also be ``{query: {document: grade}}``, as pytrec_eval, ranx and BEIR hold
judgments. Judgments in lines without names are in ``qrels``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sweeper.corpus import Entry
from sweeper.errors import InputError, Problem, Problems
from sweeper.formats.corpus_rows import CORPUS_FIELDS
from sweeper.formats.golden_rows import GOLDEN_FIELDS
from sweeper.formats.qrels import Qrels, golden_of, looks_like_qrels, parse_qrels
from sweeper.formats.records import FORMATS, Source, parse_source, source_text
from sweeper.formats.spellings import Columns, Field, canonical, field_names
from sweeper.formats.trec import TREC_NUMBER, looks_like_run
from sweeper.formats.values import (
    Bare,
    Record,
    Value,
    WrongValue,
    as_optional_text,
    describe,
    quoted,
)
from sweeper.golden import OVERALL, GoldenSet, Key, QueryId

__all__ = [
    "JUDGMENT_FIELDS",
    "are_qrels",
    "look_like_judgments",
    "named_judgments",
    "read_judgments",
]

_DOCUMENTS = (
    *("doc_id", "docid", "docno", "document_id", "corpus_id", "passage_id", "pid"),
    *("chunk_id", "node_id", "item_id"),
)
_FLAGS = ("relevant", "is_relevant")  # each also a way to name what is expected
_YES_OR_NO = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
JUDGMENT_FIELDS = (
    Field("id", ("query_id", "qid", "question_id", "topic_id", "topic"), guessed=False),
    Field("query", ("query", "question", "query_text"), guessed=False),
    Field("document", _DOCUMENTS, weak=("doc", "document"), required=True, guessed=False),
    Field(
        "grade",
        ("grade", "relevance", "rel", "rating", "label", "score", "judgment", "judgement"),
        weak=_FLAGS,
        required=True,
        guessed=False,
    ),
    Field("slice", ("slice", "kind", "type", "category"), guessed=False),
)
_NAMES = {field.name: {*field.spellings, *field.weak} for field in JUDGMENT_FIELDS}
_EXPECTED = next({*f.spellings} for f in GOLDEN_FIELDS if f.name == "expected") - {*_FLAGS}
_TEXTS = next({*f.spellings, *f.weak} for f in CORPUS_FIELDS if f.name == "text")
_OF_QUESTIONS = next({*f.spellings} for f in GOLDEN_FIELDS if f.name == "user") | {
    *next(f.spellings for f in GOLDEN_FIELDS if f.name == "filter")
}


def read_judgments(
    path: str | Path,
    *,
    topics: str | Path | None = None,
    corpus_keys: Collection[Key] | None = None,
    restricted: Mapping[Key, Entry] | None = None,
) -> GoldenSet:
    """Read judgments in any form as a golden set; what was counted is logged as a warning.

    Parameters
    ----------
    path
        TREC's or BEIR's lines, rows with named fields, or JSON by query and document.
    topics, corpus_keys, restricted
        See ``read_qrels``.

    Raises
    ------
    InputError
        With every problem of the file, or what it looks like if it holds no judgments.
    """
    text = source_text(path)
    qrels = None
    if not are_qrels(text, path) and not looks_like_qrels(text) and _may_have_names(text, path):
        source = parse_source(text, path)
        qrels = named_judgments(source)
        if qrels is None and source.format != "tsv":
            raise InputError(Problem(_no_judgments(source.data), source.path))
    return golden_of(
        parse_qrels(text, path) if qrels is None else qrels,
        topics=topics,
        corpus_keys=corpus_keys,
        restricted=restricted,
    )


def are_qrels(text: str, path: str | Path) -> bool:
    """Tell judgments in lines without names from files that have rows.

    Raises
    ------
    InputError
        If the file is a run.
    """
    suffix = Path(path).suffix.lower()
    if FORMATS.get(suffix, "tsv") != "tsv":
        return False
    if looks_like_run(text):
        raise InputError(
            Problem(
                "is a TREC run, which holds results and no judgments. Give it to the engine: "
                f"engine: {{kind: runs, channels: {{vector: {Path(path).name}}}}}.",
                str(path),
            )
        )
    return suffix in (".qrels", ".qrel") or looks_like_qrels(text)


def named_judgments(source: Source, fields: Mapping[str, str] | None = None) -> Qrels | None:
    """Return the judgments of a file that names its fields, ``None`` if it holds something else.

    Parameters
    ----------
    source
        The parsed file.
    fields
        Noun to field name; one that names ``document`` or ``grade`` says that these are judgments.

    Raises
    ------
    InputError
        With every problem of the judgments.
    """
    if isinstance(source.data, Record):
        return None if fields else _from_mapping(source.data, source.path)
    if not isinstance(source.data, list):
        return None
    rows = [row for row in source.data if isinstance(row, Record)]
    if not rows or len(rows) < len(source.data) or not _are_judgments(rows, fields or {}):
        return None
    return _from_rows(rows, source.path, fields)


def look_like_judgments(source: Source) -> bool:
    """Tell judgments among files that may be anything.

    Rows of documents with their texts, and no question, are a corpus: it may have topics and
    ratings, too.

    Raises
    ------
    InputError
        If the file is a run.
    """
    if isinstance(source.data, Record):
        return _from_mapping(source.data, source.path) is not None
    rows = source.data if isinstance(source.data, list) else []
    records = [row for row in rows if isinstance(row, Record)]
    names = {canonical(name) for name in field_names(records)}
    if names & _TEXTS and not names & _NAMES["query"]:
        return False
    return len(records) == len(rows) > 0 and _are_judgments(records, {})


def _may_have_names(text: str, path: str | Path) -> bool:
    suffix = Path(path).suffix.lower()
    return suffix in FORMATS or text.lstrip().startswith(("{", "["))


def _no_judgments(data: Value) -> str:
    rows = [row for row in data if isinstance(row, Record)] if isinstance(data, list) else []
    found = ", ".join(field_names(rows)[:30])
    return (
        "holds no judgments, which name a query, a document and a grade in each row"
        f"{f' (fields found: {found})' if found else ''}. A golden set needs no import, and no "
        "topics: name it under golden."
    )


def _are_judgments(rows: Sequence[Record], fields: Mapping[str, str]) -> bool:
    if not fields.keys().isdisjoint(("document", "grade")):
        return True
    if fields:
        return False
    found = field_names(rows)
    names = {canonical(name) for name in found}
    if names & _EXPECTED or not (names & _NAMES["id"] or names & _NAMES["query"]):
        return False
    if not names & _NAMES["document"] or not names & _NAMES["grade"]:
        return False
    flags = [row.get(name) for name in found if canonical(name) in _FLAGS for row in rows]
    return all(_is_blank(flag) or _grade(flag) in (0, 1) for flag in flags)


def _from_rows(rows: Sequence[Record], path: str, fields: Mapping[str, str] | None) -> Qrels:
    problems = Problems(path)
    columns = Columns(rows, JUDGMENT_FIELDS, explicit=fields, path=path, role="golden")
    own_id = _id_of_questions(rows, columns)
    if own_id is not None:
        explicit = {**columns.explicit, "id": own_id}
        columns = Columns(rows, JUDGMENT_FIELDS, explicit=explicit, path=path, role="golden")
    columns.report_conflicts(rows, problems)
    has_ids = columns.has("id")
    if not has_ids and not columns.has("query"):
        raise InputError(
            Problem(
                "no field is known as the id or the text of a question. Fields found: "
                f"{', '.join(columns.found)}. Name yours: fields: {{id: ...}} or {{query: ...}}.",
                path,
            )
        )
    for name in columns.found:
        if canonical(name) in _OF_QUESTIONS:
            problems.add(
                f"{quoted(name)} belongs to a question, and a row here is a judgment. Make a "
                "golden set with a row for each question, or remove the field.",
                line=rows[0].line,
            )
    grades: dict[QueryId, dict[Key, float]] = {}
    lines: dict[tuple[QueryId, Key], int] = {}
    _refuse_results(columns, rows, path)
    said: dict[str, dict[QueryId, str]] = {"query": {}, "slice": {}}
    asked: dict[QueryId, None] = {}
    n_repeated = n_unjudged = 0
    for row in rows:
        try:
            query_id = _needed(columns, row, "id" if has_ids else "query")
            asked[query_id] = None
            key = _needed(columns, row, "document")
            value = columns.get(row, "grade")
            grade = _grade(value)
            if not _is_blank(value) and not math.isfinite(grade):
                raise WrongValue(
                    f"{columns.label('grade')} must be a finite number, got {describe(value)}."
                )
            for noun, texts in said.items():
                _say_once(columns, row, noun, query_id, texts)
        except WrongValue as error:
            problems.add(str(error), line=row.line)
            continue
        if _is_blank(value):
            n_unjudged += 1
            continue
        known = grades.setdefault(query_id, {})
        if known.setdefault(key, grade) != grade:
            problems.add(
                f"query {quoted(query_id)} grades document {quoted(key)} {grade:g}, "
                f"but {known[key]:g} on line {lines[query_id, key]}. Keep one of them.",
                line=row.line,
            )
        n_repeated += (query_id, key) in lines
        lines.setdefault((query_id, key), row.line)
    problems.raise_if_any()
    _check_any_relevant(grades, path)
    return Qrels(
        path,
        grades,
        lines,
        n_repeated,
        n_unjudged=n_unjudged,
        unjudged=tuple(query_id for query_id in asked if query_id not in grades),
        texts=said["query"] if columns.has("query") else None,
        slices=said["slice"] if columns.has("slice") else None,
    )


def _id_of_questions(rows: Sequence[Record], columns: Columns) -> str | None:
    """Return a field "id" that tells questions apart exactly as their texts do, and not rows."""
    name = next((name for name in columns.found if canonical(name) == "id"), None)
    if name is None or columns.has("id") or not columns.has("query"):
        return None
    pairs = {(str(row.get(name)), str(columns.get(row, "query"))) for row in rows}
    n_ids, n_texts = (len({pair[at] for pair in pairs}) for at in (0, 1))
    return name if n_ids == n_texts == len(pairs) else None


def _refuse_results(columns: Columns, rows: Sequence[Record], path: str) -> None:
    """Refuse a table of results, whose scores would be taken for grades."""
    score = columns.label("grade")
    if canonical(score.strip('"')) != "score" or "grade" in columns.explicit:
        return
    ranked = any(canonical(name) in ("rank", "position") for name in columns.found)
    if ranked or not all(_is_whole(columns.get(row, "grade")) for row in rows):
        raise InputError(
            Problem(
                f"looks like results, not judgments: {score} "
                f"{'stands beside a rank' if ranked else 'holds fractions'}. If these are grades, "
                "call them grade. Results are channels of the runs engine, as lines "
                '"query Q0 document rank score tag".',
                path,
            )
        )


def _is_whole(value: Value) -> bool:
    grade = _grade(value)
    return not math.isfinite(grade) or grade.is_integer()


def _needed(columns: Columns, row: Record, noun: str) -> str:
    value = columns.get(row, noun)
    if not isinstance(value, str) or not value.strip():
        state = "is missing" if _is_blank(value) else f"must be text, got {describe(value)}"
        raise WrongValue(f"{columns.label(noun)} {state}. Every judgment needs one.")
    return str(value)


def _say_once(
    columns: Columns, row: Record, noun: str, query_id: QueryId, said: dict[QueryId, str]
) -> None:
    if not columns.has(noun):
        return
    text = as_optional_text(columns.get(row, noun))
    if text is None:
        raise WrongValue(f"{columns.label(noun)} is missing. Give every row one, or none.")
    if noun == "slice" and (text == OVERALL or not text.strip()):
        raise WrongValue(
            f"a slice may not be called {quoted(text)}"
            f"{': it names the mean over all questions' if text.strip() else ''}. Rename it."
        )
    first = said.setdefault(query_id, text)
    if first != text:
        raise WrongValue(
            f"query {quoted(query_id)} has the {noun} {quoted(text)} here and {quoted(first)} "
            "above. Keep one of them."
        )


def _from_mapping(data: Record, path: str) -> Qrels | None:
    """Return judgments that JSON holds by query and document."""
    if not data or not all(isinstance(row, Record) for row in data.values()):
        return None
    rows = {query_id: row for query_id, row in data.items() if isinstance(row, Record)}
    values = [value for row in rows.values() for value in row.values()]
    if not values or not all(
        isinstance(value, Bare) and TREC_NUMBER.fullmatch(value) for value in values
    ):
        return None
    grades = {q: {k: _grade(grade) for k, grade in row.items()} for q, row in rows.items() if row}
    if any(not grade.is_integer() for known in grades.values() for grade in known.values()):
        raise InputError(
            Problem(
                "looks like a run by query and document: its numbers are scores, not grades. Give "
                f"it to the engine: engine: {{kind: runs, channels: {{vector: {Path(path).name}}}}}"
                ". If they are grades, write rows: query_id,doc_id,grade.",
                path,
            )
        )
    lines = {(q, key): row.line for q, row in rows.items() for key in row}
    _check_any_relevant(grades, path)
    return Qrels(path, grades, lines, 0, unjudged=tuple(q for q in rows if q not in grades))


def _check_any_relevant(grades: Mapping[QueryId, Mapping[Key, float]], path: str) -> None:
    if not any(grade > 0 for known in grades.values() for grade in known.values()):
        raise InputError(Problem("no grade is above 0, so nothing is relevant.", path))


def _is_blank(value: Value) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _grade(value: Value) -> float:
    """Return a grade as a number; NaN where it is none."""
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return math.nan
    text = value.strip()
    if TREC_NUMBER.fullmatch(text):
        return float(text) + 0.0
    return _YES_OR_NO.get(text.lower(), math.nan)
