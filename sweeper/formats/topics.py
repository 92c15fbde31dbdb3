"""Topics: the texts of the questions that qrels know by id alone.

| form | recognised by |
| --- | --- |
| rows with an id and a text, as BEIR's ``queries.jsonl`` | ``.jsonl .json .csv .yaml`` |
| ``{id: text}`` | the same |
| TREC's ``<top>`` blocks; the title is the question | ``<top>`` |
| ``id<TAB>text`` lines, with a header or without | else |
"""

from __future__ import annotations

import re
from pathlib import Path

from sweeper.errors import InputError, Problem, Problems
from sweeper.formats.golden_rows import GOLDEN_FIELDS, GOLDEN_WRAPPERS
from sweeper.formats.records import FORMATS, parse_source, source_text
from sweeper.formats.spellings import Columns, Field, canonical, find_rows, texts_by_id
from sweeper.formats.values import WrongValue, as_text, quoted
from sweeper.golden import QueryId

__all__ = ["parse_topics", "read_topics"]

_FIELDS = tuple(
    Field(field.name, field.spellings, field.weak, required=True)
    for field in GOLDEN_FIELDS
    if field.name in ("id", "query")
)
_ID_NAMES, _TEXT_NAMES = ({*field.spellings, *field.weak} for field in _FIELDS)

_TOP = re.compile(r"<top>(.*?)(?=<top>|</top>|\Z)", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"<num>\s*(?:number:)?\s*([^\s<]+)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*(?:topic:)?([^<]*)", re.IGNORECASE)


def read_topics(path: str | Path) -> dict[QueryId, str]:
    """Read topics: question id to text, in file order.

    Raises
    ------
    InputError
        With every problem of the file: no id, no text, an id twice.
    """
    return parse_topics(source_text(path), path)


def parse_topics(text: str, path: str | Path) -> dict[QueryId, str]:
    """Parse the text of topics; the extension of ``path`` tells the form.

    Raises
    ------
    InputError
        As ``read_topics`` does.
    """
    problems = Problems(path)
    topics: dict[QueryId, str] = {}
    for line, query_id, question in _entries(text, path, problems):
        if not query_id or not question:
            missing = "text" if query_id else "id"
            problems.add(
                f"this topic has no {missing}. Each one needs an id and a text.", line=line
            )
        elif query_id in topics:
            problems.add(
                f"the id {quoted(query_id)} is taken by an earlier topic. Rename one of them.",
                line=line,
            )
        else:
            topics[query_id] = question
    problems.raise_if_any()
    if not topics:
        raise InputError(Problem("holds no topics. Give at least one.", str(path)))
    return topics


def _entries(text: str, path: str | Path, problems: Problems) -> list[tuple[int, str, str]]:
    """Return line, id and text of each topic; what is missing is empty."""
    kind = FORMATS.get(Path(path).suffix.lower())
    if kind not in (None, "tsv") or text.lstrip().startswith(("{", "[")):
        return _from_rows(text, path, problems)
    if _TOP.search(text):
        return _from_blocks(text)
    return _from_lines(text, path)


def _from_rows(text: str, path: str | Path, problems: Problems) -> list[tuple[int, str, str]]:
    source = parse_source(text, path)
    known = _ID_NAMES | _TEXT_NAMES
    by_id = texts_by_id(source.data, known | {*GOLDEN_WRAPPERS})
    if by_id is not None:
        return [(by_id.line, query_id, str(text).strip()) for query_id, text in by_id.items()]
    rows = find_rows(
        source.data, GOLDEN_WRAPPERS, path=source.path, holds="topics", row_fields=known
    )
    columns = Columns(rows, _FIELDS, explicit=None, path=source.path, role="golden")
    columns.report_conflicts(rows, problems)
    columns.report_typos(rows, problems)
    found = []
    for row in rows:
        try:
            given = [columns.get(row, noun) for noun in ("id", "query")]
            query_id, question = ("" if value is None else as_text(value) for value in given)
        except WrongValue as error:
            problems.add(f"the id or the text {error}", line=row.line)
        else:
            found.append((row.line, query_id, question))
    return found


def _from_blocks(text: str) -> list[tuple[int, str, str]]:
    found = []
    for block in _TOP.finditer(text):
        number, title = _NUMBER.search(block[1]), _TITLE.search(block[1])
        line = text.count("\n", 0, block.start()) + 1
        question = " ".join(title[1].split()) if title else ""
        found.append((line, number[1] if number else "", question))
    return found


def _from_lines(text: str, path: str | Path) -> list[tuple[int, str, str]]:
    found: list[tuple[int, str, str]] = []
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip() or content.startswith("#"):
            continue
        query_id, tab, question = content.partition("\t")
        if not tab and not found:
            raise InputError(
                Problem(
                    "is not a file of topics: this line has no tab. Give id<TAB>text lines, "
                    "<top> blocks, or JSONL with id and text.",
                    str(path),
                    line,
                )
            )
        query_id, question = query_id.strip(), question.strip()
        is_header = canonical(query_id) in _ID_NAMES and canonical(question) in _TEXT_NAMES
        if found or not is_header:
            found.append((line, query_id, question))
    return found
