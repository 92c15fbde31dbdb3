"""Golden sets and corpora from and to files. The format follows from the extension.

This module opens files and chooses formats. Which spellings a row may have stands in
``golden_rows`` and ``corpus_rows``, folders in ``corpus_folder``, syntax in ``records``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import yaml

from sweeper.corpus import Corpus, Entry
from sweeper.errors import InputError, Problem
from sweeper.files import write_atomically
from sweeper.formats.cells import join_cell
from sweeper.formats.corpus_folder import read_folder
from sweeper.formats.corpus_rows import (
    CORPUS_FIELDS,
    CORPUS_WRAPPERS,
    corpus_from_rows,
    corpus_to_rows,
    find_entries,
)
from sweeper.formats.golden_rows import (
    GOLDEN_FIELDS,
    GOLDEN_WRAPPERS,
    golden_from_rows,
    golden_to_rows,
)
from sweeper.formats.judgments import (
    are_qrels,
    look_like_judgments,
    named_judgments,
    read_judgments,
)
from sweeper.formats.llama_index import dataset_entries, dataset_questions
from sweeper.formats.qrels import golden_of
from sweeper.formats.records import FORMATS, Format, parse_source, read_source, source_text
from sweeper.formats.spellings import Field, canonical, field_names, find_rows
from sweeper.formats.values import Record, Value, quoted
from sweeper.golden import GoldenSet, Key

__all__ = [
    "FileKind",
    "golden_text",
    "kind_of_file",
    "read_corpus",
    "read_golden",
    "write_corpus",
    "write_golden",
]

FileKind: TypeAlias = Literal["config", "golden", "corpus"]


def read_golden(
    path: str | Path,
    *,
    fields: Mapping[str, str] | None = None,
    topics: str | Path | None = None,
    corpus_keys: Collection[Key] | None = None,
    restricted: Mapping[Key, Entry] | None = None,
) -> GoldenSet:
    """Read a golden set, or judgments as one (``qrels``, ``judgments``).

    The usual spellings of a row are understood (the table in ``golden_rows``), bare or wrapped
    (``{"queries": [...]}``). A file without any slice is one slice, ``all``. A file without any
    id gets ``q001``, ``q002`` and so on, in file order. In a CSV or TSV cell, ``|`` separates
    keys; where there is none, ``;`` does; a cell that starts with ``[`` or ``{`` is JSON. A key
    may hold spaces and commas. Fields that look like nothing known are left alone.

    Parameters
    ----------
    path
        JSON, JSONL, CSV, TSV, YAML or Parquet, or qrels.
    fields
        Noun (``query``, ``expected``, ...) to the name of the field that holds it. With
        ``document`` or ``grade`` among them, each row is a judgment.
    topics
        The texts of the questions, for judgments alone.
    corpus_keys
        Ids of the corpus, if it is known. An expected key that it lacks is an error.
    restricted
        Entries of the corpus that not everybody may see (``Corpus.restricted``). An expected key
        that the question's user may not see is an error: no setting could ever find it.

    Raises
    ------
    InputError
        With every problem of the file, each with its line and remedy.
    """
    text = source_text(path)
    if topics is not None and not fields:
        return read_judgments(path, topics=topics, corpus_keys=corpus_keys, restricted=restricted)
    if are_qrels(text, path):
        if fields:
            raise InputError(Problem("qrels have no named fields. Leave fields out.", str(path)))
        return read_judgments(path, corpus_keys=corpus_keys, restricted=restricted)
    source = parse_source(text, path)
    judgments = named_judgments(source, fields)
    if judgments is not None:
        return golden_of(judgments, topics=topics, corpus_keys=corpus_keys, restricted=restricted)
    if topics is not None:
        raise InputError(Problem("topics go with judgments. Leave topics out.", str(path)))
    rows = dataset_questions(source.data, source.path) or find_rows(
        source.data,
        GOLDEN_WRAPPERS,
        path=source.path,
        holds="questions",
        row_fields={
            name
            for field in GOLDEN_FIELDS
            if field.required
            for name in (*field.spellings, *field.weak, *(fields or {}).values())
        },
    )
    return golden_from_rows(
        rows,
        path=source.path,
        is_table=source.is_table,
        fields=fields,
        corpus_keys=corpus_keys,
        restricted=restricted,
    )


def read_corpus(
    path: str | Path, *, fields: Mapping[str, str] | None = None, root: str | Path | None = None
) -> Corpus:
    """Read a corpus: a file of rows, or a folder of Markdown and text files.

    The usual spellings of a row are understood (the table in ``corpus_rows``), bare, wrapped, or
    under ``"corpus"`` in a golden set's file. Without a ``source_type`` a row is a document. Tags
    may be a mapping, or a list of names, which get the value ``true``. An empty ``title``,
    ``updated_at`` or ``path`` counts as absent; an empty text is a text.

    Parameters
    ----------
    path
        JSON, JSONL, CSV, TSV, YAML or Parquet, or a folder.
    fields
        Noun (``id``, ``text``, ...) to the name of the field that holds it. Files only.
    root
        Folder that the ``source`` of fixtures starts from; the file's own folder if not given.

    Raises
    ------
    InputError
        With every problem, each with its file, line and remedy.
    """
    path = Path(path)
    if path.is_dir():
        return read_folder(path)
    source = read_source(path)
    texts = dataset_entries(source.data, source.path)
    return corpus_from_rows(
        find_entries(source.data, source.path) if texts is None else [(row, None) for row in texts],
        path=source.path,
        root=path.parent if root is None else Path(root),
        fields=fields,
    )


def kind_of_file(path: str | Path) -> FileKind:
    """Tell what a file or folder is: a sweep's config, a golden set, or a corpus.

    A mapping with an ``engine``, or a ``golden`` that is not itself rows, is a config. Otherwise
    the fields of the rows decide: what says what is expected is a golden set, a corpus has texts.

    Raises
    ------
    InputError
        If the file cannot be read, or its fields leave it open; the message names ``--as``.
    """
    if Path(path).is_dir():
        return "corpus"
    text = source_text(path)
    if are_qrels(text, path):
        return "golden"
    source = parse_source(text, path)
    data = source.data
    if dataset_questions(data, source.path) is not None or look_like_judgments(source):
        return "golden"
    if isinstance(data, Record) and (
        "engine" in data or ("golden" in data and not _is_rows(data["golden"]))
    ):
        return "config"
    names = field_names(_rows_anywhere(data))
    known = {canonical(name) for name in names}
    if known & _spellings(GOLDEN_FIELDS, "expected", "grades"):
        return "golden"
    asks = bool(known & _spellings(GOLDEN_FIELDS, "query"))
    tells = bool(known & {*_spellings(CORPUS_FIELDS, "text", "source", weak=True)})
    if asks != tells:
        return "golden" if asks else "corpus"
    shown = ", ".join(quoted(name) for name in names) or "none"
    raise InputError(
        Problem(
            "is it a config, a golden set or a corpus? Say so with --as config, --as golden or "
            f"--as corpus. Fields found: {shown}.",
            source.path,
        )
    )


def _spellings(table: Iterable[Field], *nouns: str, weak: bool = False) -> set[str]:
    fields = [field for field in table if field.name in nouns]
    return {name for f in fields for name in (*f.spellings, *(f.weak if weak else ()))}


def _is_rows(value: Value) -> bool:
    if isinstance(value, list):
        return True
    return isinstance(value, Record) and any(_is_rows(v) for v in value.values())


def _rows_anywhere(data: Value) -> list[Record]:
    """Return the rows of a document, whichever known wrappers they stand in."""
    if isinstance(data, list):
        return [row for row in data if isinstance(row, Record)]
    if not isinstance(data, Record):
        return []
    wrapped = [
        row
        for name, value in data.items()
        if canonical(name) in _ANY_WRAPPER
        for row in _rows_anywhere(value)
    ]
    if wrapped:
        return wrapped
    values = list(data.values())
    inner = [row for row in values if isinstance(row, Record)]
    return inner if inner and len(inner) == len(values) else [data]


_ANY_WRAPPER = frozenset((*GOLDEN_WRAPPERS, *CORPUS_WRAPPERS))


def write_golden(path: str | Path, golden: GoldenSet) -> None:
    """Write a golden set that ``read_golden`` reads back equal. Replaces the file atomically.

    Parameters
    ----------
    path
        Its extension gives the format; JSONL where it is not known.
    golden
        What to write.

    Raises
    ------
    InputError, StorageError
        If the file cannot be written, or a NUL character would have to stand in a CSV.
    """
    _write_rows(path, golden_to_rows(golden), ("id", "slice", "query", "expected"))


def golden_text(golden: GoldenSet) -> str:
    """Return what ``write_golden`` writes to a JSONL file."""
    return _jsonl_text(_tidied(golden_to_rows(golden)))


def write_corpus(path: str | Path, corpus: Corpus) -> None:
    """Write a corpus that ``read_corpus`` reads back equal. Replaces the file atomically.

    Parameters
    ----------
    path
        Its extension gives the format; JSONL where it is not known.
    corpus
        What to write.

    Raises
    ------
    InputError, StorageError
        If the file cannot be written, or a NUL character would have to stand in a CSV.
    """
    _write_rows(path, corpus_to_rows(corpus), ("id", "text", "source_type"))


_Rows = Sequence[dict[str, object]]


def _write_rows(path: str | Path, rows: _Rows, always: Sequence[str]) -> None:
    kind = FORMATS.get(Path(path).suffix.lower(), "jsonl")
    rows = _tidied(rows)
    if kind in ("csv", "tsv"):
        text = _table_text(rows, always, "\t" if kind == "tsv" else ",")
        if "\0" in text:
            raise InputError(
                Problem("a NUL character cannot stand in a CSV. Use .jsonl.", str(path))
            )
    else:
        text = _WRITERS[kind](rows)
    write_atomically(path, text)


def _tidied(rows: _Rows) -> _Rows:
    return [{name: _tidy(value) for name, value in row.items()} for row in rows]


def _tidy(value: object) -> object:
    """Write 400.0 as 400, as people do; a number too large to be exact stays as it is."""
    if isinstance(value, dict):
        return {key: _tidy(content) for key, content in value.items()}
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _json_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _jsonl_text(rows: _Rows) -> str:
    return "".join(_json_line(row) + "\n" for row in rows)


def _json_text(rows: _Rows) -> str:
    return "[\n" + ",\n".join("  " + _json_line(row) for row in rows) + "\n]\n"


class _QuotingDumper(yaml.SafeDumper):
    """Quotes every text, so that no YAML reader takes ``1e5`` or ``off`` for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _quote_unless_plain_name(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if text in _PLAIN_NAMES else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_PLAIN_NAMES = frozenset(
    (
        *("id", "slice", "query", "expected", "grades", "filter", "user"),
        *("text", "source_type", "title", "updated_at", "age_days", "tags", "path"),
        *("principals", "document", "memory"),
    )
)
_QuotingDumper.add_representer(str, _quote_unless_plain_name)


def _yaml_text(rows: _Rows) -> str:
    return yaml.dump(
        list(rows),
        Dumper=_QuotingDumper,
        allow_unicode=True,
        sort_keys=False,
        width=2**31,  # a folded text is equal when read, but unreadable in a diff
    )


_WRITERS: dict[Format, Callable[[_Rows], str]] = {
    "json": _json_text,
    "jsonl": _jsonl_text,
    "yaml": _yaml_text,
}


def _table_text(rows: _Rows, always: Sequence[str], delimiter: str) -> str:
    used = dict.fromkeys([*always, *(name for row in rows for name in row)])
    lines = [list(used), *([_cell(row.get(name)) for name in used] for row in rows)]
    special = re.compile(rf'[{delimiter}"\r\n]|^\s|\s$')
    return "".join(
        delimiter.join(
            '"' + cell.replace('"', '""') + '"' if special.search(cell) else cell for cell in line
        )
        + "\n"
        for line in lines
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return join_cell(value)
    return _json_line(value)
