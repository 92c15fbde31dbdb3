"""The runs engine: TREC run files are the channels; nothing is searched.

Whatever wrote the runs is swept without being reachable. A run's scores are its channel's values: a
floor acts on those of ``vector``. With a corpus, an id is an entry or one of its chunks
(``<entry>@<index>``); stores, ages and keys are the entries', and a question's filter drops rows.
A run that has what a question's user may not see is refused: it was asked as somebody else.
Without a corpus every row is a document of no age, its id the key, and filters and users are taken
as applied by whoever made the run.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sweeper.corpus import STORES, Corpus, Entry, Store, age_of, may_see, tags_match
from sweeper.engines.base import ranked_here
from sweeper.errors import EngineError, InputError, Problem
from sweeper.formats.trec import TrecRun, read_run
from sweeper.formats.values import counted, listed
from sweeper.golden import ItemId, Query, QueryId
from sweeper.pools import LEXICAL, VECTOR, Candidate, KeyFactors, QueryCandidates
from sweeper.settings import Settings

__all__ = ["RunsEngine"]

_LOG = logging.getLogger(__name__)

_VERSION = 1  # of the answers: raise it whenever the same files may be answered otherwise
_FEWEST_ALIKE = 10  # lists of one length that are no accident


class RunsEngine:
    """Answers from run files, read once when it is made.

    A question that no run holds returned nothing: it scores 0. ``close`` logs which ones those
    were, and which queries of the runs nobody asked.

    Parameters
    ----------
    channels
        Channel name to run file. Fusion adds ``vector`` first, then ``lexical``, then the others as
        they are given.
    corpus
        Tells stores, ages and chunks, if given.
    as_of
        The instant that ages are measured from; a naive one is UTC.

    Raises
    ------
    InputError
        If a file is no run, or names ids that the corpus lacks. When asked: if a file has rows that
        a question's user may not see.
    """

    knobs: frozenset[str] | None = None
    usefulness: KeyFactors | None = None
    """Learned from past usage; it counts in ``search`` alone."""
    n_threads = 1

    def __init__(
        self, channels: Mapping[str, str | Path], *, corpus: Corpus | None = None, as_of: datetime
    ) -> None:
        if not channels:
            raise ValueError("at least one channel is needed")
        first = [name for name in (VECTOR, LEXICAL) if name in channels]
        self.channels: tuple[str, ...] = tuple(dict.fromkeys([*first, *channels]))
        self._as_of = as_of.replace(tzinfo=UTC) if as_of.tzinfo is None else as_of.astimezone(UTC)
        self._corpus_digest = None if corpus is None else corpus.digest
        self._entries = None if corpus is None else {e.entry_id: e for e in corpus.entries}
        self._restricted = {} if corpus is None else corpus.restricted
        self._files = {name: str(channels[name]) for name in self.channels}
        self._runs = {name: read_run(channels[name]) for name in self.channels}
        for name, run in self._runs.items():
            _say_what_was_read(channels[name], run)
        self._blank: dict[ItemId, Candidate] = {}
        self._ages: Counter[str] = Counter()
        for name, run in self._runs.items():
            self._know_items(channels[name], run)
        self._held = frozenset(q for run in self._runs.values() for q in run.rows)
        self._asked: dict[QueryId, None] = {}
        self._deepest = 0
        self._closed = False

    @property
    def fingerprint(self) -> str:
        runs = " ".join(f"{name}={run.digest}" for name, run in self._runs.items())
        return f"runs/{_VERSION} corpus={self._corpus_digest} {runs}"

    @property
    def provenance(self) -> dict[str, Any]:
        """What was read, and which of the questions asked so far no run holds."""
        return {
            "kind": "runs",
            "channels": {
                name: {
                    "queries": len(run.rows),
                    "rows": run.n_rows,
                    "repeated_rows": run.n_repeated,
                    "tied_rows": run.n_tied,
                    "queries_ranked_against_score": run.n_contradicted,
                    "sha256": run.digest,
                }
                for name, run in self._runs.items()
            },
            "corpus": self._corpus_digest,
            "as_of": None if self._entries is None else self._as_of.isoformat(),
            "ages": dict(sorted(self._ages.items())),
            "missing_queries": self._missing(),
        }

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        if self._closed:
            raise EngineError("the engine is closed; make a new one.")
        if depth < 1:
            raise ValueError(f"depth must be at least 1, got {depth}")
        self._asked.update((query.query_id, None) for query in queries)
        self._deepest = max(self._deepest, depth)
        if self._restricted:
            self._check_access(queries)
        return [QueryCandidates(query.query_id, self._rows(query, depth)) for query in queries]

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        [found] = self.candidates([query], settings.effective_depth)
        return ranked_here(
            found, query, settings, channels=self.channels, usefulness=self.usefulness
        )

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        missing = self._missing()
        if missing:
            _LOG.warning(
                "%d of %s %s in no run: %s. Nothing is returned for them, which scores 0.",
                len(missing),
                counted(len(self._asked), "question"),
                "is" if len(missing) == 1 else "are",
                listed(missing),
            )
        unasked = sorted(self._held - self._asked.keys())
        if unasked and self._asked:
            _LOG.warning(
                "%d of %s of the runs %s not in the golden set: %s. Not used.",
                len(unasked),
                counted(len(self._held), "query", "queries"),
                "is" if len(unasked) == 1 else "are",
                listed(unasked),
            )
        for name, run in self._runs.items():
            end = _common_end(run)
            if end is not None and end < self._deepest:
                _LOG.warning(
                    "the lists of %s end at %s, and depth %d was asked for. What stood below "
                    "them is unknown: make deeper runs, or set a depth of at most %d.",
                    name,
                    counted(end, "row"),
                    self._deepest,
                    end,
                )

    def _rows(self, query: Query, depth: int) -> dict[tuple[str, Store], Sequence[Candidate]]:
        found: dict[tuple[str, Store], list[Candidate]] = {}
        for channel, run in self._runs.items():
            for store in STORES:
                found[channel, store] = []
            for item_id, score in run.rows.get(query.query_id, ()):
                row = self._blank[item_id]
                rows = found[channel, row.store]
                if len(rows) < depth and self._passes(row, query.filter):
                    rows.append(row._replace(value=score))
        return {**found}

    def _passes(self, row: Candidate, wanted: Mapping[str, str]) -> bool:
        return not wanted or self._entries is None or tags_match(self._entries[row.key], wanted)

    def _check_access(self, queries: Sequence[Query]) -> None:
        """Refuse rows that a question's user may not see, wherever in its list they stand.

        Raises
        ------
        InputError
            With every file that has some.
        """
        problems = []
        for channel, run in self._runs.items():
            found = [
                f"{item_id} (question {query.query_id}, {_asked_as(query.user)})"
                for query in queries
                for item_id, _ in run.rows.get(query.query_id, ())
                if (entry := self._restricted.get(self._blank[item_id].key)) is not None
                and not may_see(entry, query.user)
            ]
            if found:
                problems.append(
                    Problem(
                        f"holds {counted(len(found), 'row')} that the user of a question may not "
                        f"see: {listed(found, limit=5)}. Make the run as the users who ask, or "
                        "mend the principals of the corpus.",
                        self._files[channel],
                    )
                )
        if problems:
            raise InputError(problems)

    def _know_items(self, path: str | Path, run: TrecRun) -> None:
        """Find key, store and age of each id of a run."""
        unknown: dict[ItemId, None] = {}
        for item_id in (item_id for rows in run.rows.values() for item_id, _ in rows):
            if item_id in self._blank:
                continue
            if self._entries is None:
                self._blank[item_id] = Candidate(item_id, item_id, "document", math.nan)
                continue
            entry = _entry_of(item_id, self._entries)
            if entry is None:
                unknown[item_id] = None
                continue
            days = math.nan
            if entry.store == "memory":
                age = age_of(entry, self._as_of)
                self._ages[age.status] += 1
                days = age.days
            self._blank[item_id] = Candidate(item_id, entry.entry_id, entry.store, math.nan, days)
        if unknown:
            raise InputError(
                Problem(
                    f"names {counted(len(unknown), 'document')} that the corpus lacks: "
                    f"{listed(list(unknown))}. "
                    "Add them to the corpus, or leave the corpus out if nothing in it ages.",
                    str(path),
                )
            )

    def _missing(self) -> list[QueryId]:
        return [query_id for query_id in self._asked if query_id not in self._held]


def _asked_as(user: str | None) -> str:
    return "without a user" if user is None else f"as user {user}"


def _entry_of(item_id: ItemId, entries: Mapping[str, Entry]) -> Entry | None:
    """Return the entry that an id is, or is a chunk of: ``doc@3`` is a chunk of ``doc``."""
    entry = entries.get(item_id)
    if entry is None:
        key, _, index = item_id.rpartition("@")
        entry = entries.get(key) if index.isdecimal() else None
        if entry is not None and entry.store == "memory":  # a memory is never cut
            return None
    return entry


def _common_end(run: TrecRun) -> int | None:
    """Return where the lists of a run were cut off, if most of them end at the same row."""
    lengths = [len(rows) for rows in run.rows.values()]
    longest = max(lengths)
    alike = lengths.count(longest)
    return longest if alike >= _FEWEST_ALIKE and alike * 2 > len(lengths) else None


def _say_what_was_read(path: str | Path, run: TrecRun) -> None:
    if run.n_repeated:
        _LOG.warning(
            "%s: left out where a query has the same document with a better score: %s.",
            path,
            counted(run.n_repeated, "row"),
        )
    if run.n_contradicted:
        _LOG.warning(
            "%s: in %d of %s scores ascend along the ranks. Scores decide, the highest "
            "first, as in trec_eval: negate them if they are distances.",
            path,
            run.n_contradicted,
            counted(len(run.rows), "query", "queries"),
        )
    if run.n_tied:
        _LOG.info("%s: tied, in the order of the file: %s.", path, counted(run.n_tied, "row"))
