"""Import of a SOAT checkout's golden set: its fixtures become a corpus, its queries a golden set.

What differs from a plain corpus file: a document's ``path`` and a memory's ``memory`` (the store
that a superseded twin lives in) become tags, a document is titled by its section or first heading,
and a memory without ``age_days`` is written when the corpus is seeded, so its age is 0.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sweeper.corpus import Corpus, Entry, headings
from sweeper.errors import InputError, Problem
from sweeper.formats.corpus_rows import corpus_from_rows, find_entries
from sweeper.formats.golden_rows import GOLDEN_WRAPPERS, golden_from_rows
from sweeper.formats.records import read_source
from sweeper.formats.spellings import find_rows
from sweeper.formats.values import Record, Value, WrongValue, as_optional_text
from sweeper.golden import GoldenSet

__all__ = ["import_soat"]


def import_soat(golden_path: str | Path, docs_root: str | Path) -> tuple[Corpus, GoldenSet]:
    """Read SOAT's ``golden.json`` and the documentation that its fixtures are cut from.

    Parameters
    ----------
    golden_path
        ``packages/server/tests/eval/knowledge/golden.json`` of a checkout.
    docs_root
        The folder that each fixture's ``source`` starts from: the checkout.

    Returns
    -------
    tuple of Corpus and GoldenSet
        SOAT's ``kind`` is the slice.

    Raises
    ------
    InputError
        With every problem of the file; also where a query expects a document as a memory, or the
        reverse.
    """
    source = read_source(golden_path)
    if not isinstance(source.data, Record) or "corpus" not in source.data:
        raise InputError(
            Problem(
                'is no SOAT golden set: it has no "corpus". '
                "Give packages/server/tests/eval/knowledge/golden.json of a checkout.",
                source.path,
            )
        )
    rows = find_entries(source.data["corpus"], source.path)
    plain = corpus_from_rows(rows, path=source.path, root=Path(docs_root))
    corpus = Corpus(tuple(_adapt(e, row) for e, (row, _) in zip(plain.entries, rows, strict=True)))
    queries = find_rows(
        source.data, GOLDEN_WRAPPERS, path=source.path, holds="queries", row_fields=("query",)
    )
    golden = golden_from_rows(
        queries,
        path=source.path,
        corpus_keys=corpus.keys,
        restricted=corpus.restricted,
        stores={entry.entry_id: entry.store for entry in corpus.entries},
    )
    return corpus, golden


def _adapt(entry: Entry, row: Record) -> Entry:
    tags = dict(entry.tags)
    if entry.path is not None:
        tags["path"] = entry.path
    memory = _text(row.get("memory"))
    if memory is not None:
        tags["memory_store"] = memory
    if entry.store == "memory":
        seeded = entry.age_days is None and entry.updated_at is None
        return replace(entry, tags=tags, path=None, age_days=0.0 if seeded else entry.age_days)
    first = next((title for _, _, title in headings(entry.text)), None)
    return replace(entry, tags=tags, path=None, title=entry.title or first)


def _text(value: Value) -> str | None:
    try:
        return as_optional_text(value)
    except WrongValue:
        return None
