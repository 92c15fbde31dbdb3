"""The embedded engine: everything in this process, exact and repeatable.

Vector channel: exact cosine over numpy (``dense``). Lexical channel: BM25 of SQLite FTS5
(``lexical``). Both search an item's ``text``; a title counts only if the text contains it.
What a question's user may not see (``corpus.may_see``) is left out before depth counts; its words
still count in BM25's statistics, which are those of the whole corpus.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
import sys
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sweeper.corpus import (
    STORES,
    Age,
    Chunking,
    Corpus,
    Item,
    Store,
    age_of,
    chunk,
    may_see,
    tags_match,
)
from sweeper.embedders import CachedEmbedder, Embedder, HashEmbedder, PrecomputedEmbedder
from sweeper.engines.base import ranked_here
from sweeper.engines.dense import DenseIndex, best
from sweeper.engines.facts import FactIndex, Hit
from sweeper.engines.lexical import TOKENIZER, LexicalIndex, Match
from sweeper.errors import EngineError, InputError
from sweeper.golden import ItemId, Query, QueryId
from sweeper.knobs import TRIPLES
from sweeper.pools import LEXICAL, VECTOR, Candidate, KeyFactors, QueryCandidates
from sweeper.settings import Settings
from sweeper.triples import Triple

__all__ = ["EmbeddedEngine"]

_VERSION = 1  # of the answers: raise it whenever the same request may be answered otherwise
_MEMORY_MAP_BYTES = 512 << 20

# The hasher is faster than a disk.
_NEED_NO_CACHE = (HashEmbedder, PrecomputedEmbedder, CachedEmbedder)
_MOST_FILTERS = 256  # whose answers are remembered

_Scope = tuple[str | None, tuple[tuple[str, str], ...]]
"""A user, and a filter."""


class EmbeddedEngine:
    """Searches a corpus in this process. Make it once, ask it often, close it.

    Texts are indexed when it is first asked.

    Parameters
    ----------
    corpus
        Documents, which are cut, and memories, which are not.
    embedder
        Makes the vectors of items and queries.
    chunking
        How documents are cut.
    match
        ``any``: items with any token of the query; ``all``: with all, read as in a web search box.
    as_of
        The instant that ages are measured from; a naive one is UTC.
    cache_dir
        Vectors are kept here between runs. ``None`` keeps none.
    memory_map_bytes
        A store whose vectors take more goes to a temporary file, in ``cache_dir`` if given.
    triples
        Typed facts on pages of the corpus, which make a third channel.
    hops
        How far a walk over them goes.

    Attributes
    ----------
    usefulness
        Learned from past usage; it counts in ``search`` alone, never in candidates.

    Raises
    ------
    InputError
        If two items share an id.
    EngineError
        If the embedder fails, or SQLite has no FTS5.
    """

    knobs: frozenset[str] | None = None
    n_threads = 1

    def __init__(
        self,
        corpus: Corpus,
        *,
        embedder: Embedder,
        chunking: Chunking | None = None,
        match: Match = "any",
        as_of: datetime,
        cache_dir: str | Path | None = None,
        memory_map_bytes: int = _MEMORY_MAP_BYTES,
        triples: Sequence[Triple] | None = None,
        hops: int = 2,
    ) -> None:
        self._chunking = chunking or Chunking()
        self._match = match
        self._as_of = as_of.replace(tzinfo=UTC) if as_of.tzinfo is None else as_of.astimezone(UTC)
        self._corpus_digest = corpus.digest
        folder = None if cache_dir is None else Path(cache_dir)
        if folder is not None and not isinstance(embedder, _NEED_NO_CACHE):
            embedder = CachedEmbedder(embedder, folder)
        self._embedder = embedder
        try:
            items = chunk(corpus, self._chunking)
        except ValueError as error:
            raise InputError(f"{error}.") from error
        # Documents first, then memories, each in corpus order: a store is a range of numbers.
        self._items: tuple[Item, ...] = tuple(
            item for store in STORES for item in items if item.store == store
        )
        sizes = Counter(item.store for item in items)
        self._first: dict[Store, int] = {"document": 0, "memory": sizes["document"]}
        self._sizes: dict[Store, int] = {store: sizes[store] for store in STORES}
        ages = {i.item_id: age_of(i.entry, self._as_of) for i in items if i.store == "memory"}
        self._ages = Counter(age.status for age in ages.values())
        self._blank = [_blank_candidate(item, ages.get(item.item_id)) for item in self._items]
        self._restricted = bool(corpus.restricted)
        self._allowed: dict[_Scope, NDArray[np.bool_]] = {}
        self._facts = None if triples is None else FactIndex(triples, hops, self._items)
        self._evidence: dict[QueryId, list[dict[str, Any]]] = {}
        self.usefulness: KeyFactors | None = None
        self._closed = False
        self._dense: dict[Store, DenseIndex] = {}
        self._lexical: LexicalIndex | None = None
        self._folder = folder
        self._memory_map_bytes = memory_map_bytes

    def _index(self) -> LexicalIndex:
        """Build both indexes at first use: a sweep whose pool is kept never needs them."""
        if self._lexical is not None:
            return self._lexical
        with contextlib.ExitStack() as undo:  # all of it or nothing: a failure may be asked again
            lexical = LexicalIndex((item.text for item in self._items), match=self._match)
            undo.callback(lexical.close)
            dense: dict[Store, DenseIndex] = {}
            for store in STORES:
                dense[store] = DenseIndex(
                    [item.text for item in self._items[self._range(store)]],
                    self._embedder,
                    folder=self._folder,
                    memory_map_bytes=self._memory_map_bytes,
                )
                undo.callback(dense[store].close)
            undo.pop_all()
        self._dense, self._lexical = dense, lexical
        return lexical

    def __enter__(self) -> EmbeddedEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def channels(self) -> tuple[str, ...]:
        return (VECTOR, LEXICAL) if self._facts is None else (VECTOR, LEXICAL, TRIPLES)

    @property
    def evidence(self) -> Mapping[QueryId, Sequence[Mapping[str, Any]]]:
        """The facts behind each row that the triples channel gave, as JSON, per question."""
        return self._evidence

    @property
    def fingerprint(self) -> str:
        chunking = self._chunking
        cut: str = chunking.kind
        if cut == "size":
            cut += f":{chunking.size}:{chunking.overlap}"
        return " ".join(
            (
                f"embedded/{_VERSION}",
                f"embedder={self._embedder.name}",
                f"chunking={cut}",
                f"match={self._match}",
                f"corpus={self._corpus_digest}",
                f"sqlite={sqlite3.sqlite_version}",
                f"tokenizer={TOKENIZER.replace(' ', '_')}",
                f"unicode={unicodedata.unidata_version}",
                *(() if self._facts is None else (self._facts.fingerprint,)),
            )
        )

    @property
    def provenance(self) -> dict[str, Any]:
        statuses: tuple[Literal["known", "missing", "unparseable", "future"], ...] = (
            "known",
            "missing",
            "unparseable",
            "future",
        )
        return {
            "kind": "embedded",
            "embedder": self._embedder.name,
            "chunking": {
                "kind": self._chunking.kind,
                "size": self._chunking.size,
                "overlap": self._chunking.overlap,
            },
            "match": self._match,
            **({} if self._facts is None else {"triples": len(self._facts)}),
            "corpus": self._corpus_digest,
            "as_of": self._as_of.isoformat(),
            "items": dict(self._sizes),
            "ages": {status: self._ages[status] for status in statuses},
            "sqlite": sqlite3.sqlite_version,
            "python": ".".join(str(part) for part in sys.version_info[:2]),
        }

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        found, evidence = self._found(queries, depth)
        self._evidence.update(evidence)
        return found

    def _found(
        self, queries: Sequence[Query], depth: int
    ) -> tuple[list[QueryCandidates], dict[QueryId, list[dict[str, Any]]]]:
        """Return candidates, and the facts that led to some of them."""
        if self._closed:
            raise EngineError("the engine is closed; make a new one.")
        if depth < 1:
            raise ValueError(f"depth must be at least 1, got {depth}")
        rows: list[dict[tuple[str, Store], Sequence[Candidate]]] = [{} for _ in queries]
        lexical = self._index()
        self._search_vectors(queries, depth, rows)
        self._search_text(lexical, queries, depth, rows)
        evidence = self._search_facts(queries, depth, rows)
        found = [QueryCandidates(q.query_id, own) for q, own in zip(queries, rows, strict=True)]
        return found, evidence

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        [found], _ = self._found([query], settings.effective_depth)
        return ranked_here(
            found, query, settings, channels=self.channels, usefulness=self.usefulness
        )

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            if self._lexical is not None:
                self._lexical.close()
            for index in self._dense.values():
                index.close()
            close = getattr(self._embedder, "close", None)  # a connection, if it has one
            if close is not None:
                close()

    def _search_vectors(
        self,
        queries: Sequence[Query],
        depth: int,
        rows: Sequence[dict[tuple[str, Store], Sequence[Candidate]]],
    ) -> None:
        texts = [query.text for query in queries]
        for store in STORES:
            first, place = self._first[store], 0
            for block in self._dense[store].cosines(texts):
                for values in block:
                    allowed = self._mask(queries[place])
                    if allowed is None:
                        places = best(values, depth)
                    else:
                        within = np.flatnonzero(allowed[self._range(store)])
                        places = within[best(values[within], depth)]
                    rows[place][VECTOR, store] = self._candidates(
                        (places + first).tolist(), values[places].tolist()
                    )
                    place += 1

    def _search_text(
        self,
        lexical: LexicalIndex,
        queries: Sequence[Query],
        depth: int,
        rows: Sequence[dict[tuple[str, Store], Sequence[Candidate]]],
    ) -> None:
        expressions = lexical.expressions([query.text for query in queries])
        for query, expression, found in zip(queries, expressions, rows, strict=True):
            allowed = self._mask(query)
            for store in STORES:
                part = self._range(store)
                try:
                    matches = lexical.search(
                        expression, first=part.start, last=part.stop - 1, depth=depth, among=allowed
                    )
                except sqlite3.Error as error:
                    raise EngineError(
                        f"question {query.query_id!r}: SQLite cannot answer ({error}). Check the "
                        "space for temporary files."
                    ) from error
                found[LEXICAL, store] = self._candidates(
                    [number for number, _ in matches], [value for _, value in matches]
                )

    def _search_facts(
        self,
        queries: Sequence[Query],
        depth: int,
        rows: Sequence[dict[tuple[str, Store], Sequence[Candidate]]],
    ) -> dict[QueryId, list[dict[str, Any]]]:
        evidence: dict[QueryId, list[dict[str, Any]]] = {}
        if self._facts is None:
            return evidence
        for query, found in zip(queries, rows, strict=True):
            allowed = self._mask(query)
            hits = [
                hit for hit in self._facts.search(query) if allowed is None or allowed[hit.item]
            ]
            kept: list[Hit] = []
            for store in STORES:
                part = self._range(store)
                own = [hit for hit in hits if part.start <= hit.item < part.stop][:depth]
                kept += own
                found[TRIPLES, store] = self._candidates(
                    [hit.item for hit in own], [hit.value for hit in own]
                )
            evidence[query.query_id] = [
                {
                    "item": self._items[hit.item].item_id,
                    "facts": [[*astuple(one.triple), one.hop, one.entity] for one in hit.evidence],
                }
                for hit in kept
            ]
        return evidence

    def _candidates(self, numbers: Sequence[int], values: Sequence[float]) -> list[Candidate]:
        blank = self._blank
        found = []
        for number, value in zip(numbers, values, strict=True):
            item_id, key, store, _, age_days = blank[number]
            found.append(Candidate(item_id, key, store, value, age_days))
        return found

    def _range(self, store: Store) -> slice:
        return slice(self._first[store], self._first[store] + self._sizes[store])

    def _mask(self, query: Query) -> NDArray[np.bool_] | None:
        """Return which items a question may find; ``None`` if all.

        They pass its filter, and its user may see them.
        """
        if not query.filter and not self._restricted:
            return None
        user = query.user if self._restricted else None
        key = (user, tuple(sorted(query.filter.items())))
        if key not in self._allowed:
            if len(self._allowed) >= _MOST_FILTERS:
                self._allowed.clear()
            passes = (
                may_see(item.entry, user) and tags_match(item.entry, query.filter)
                for item in self._items
            )
            self._allowed[key] = np.fromiter(passes, np.bool_, len(self._items))
        return self._allowed[key]


def _blank_candidate(item: Item, age: Age | None) -> Candidate:
    days = math.nan if age is None else age.days
    return Candidate(item.item_id, item.key, item.store, math.nan, days)
