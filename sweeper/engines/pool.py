"""The pool engine: a captured pool is the candidates; nothing is searched.

Whoever can reach a search captures it (``sweep capture --out``); everybody else sweeps the file.
What the pool holds is as it was captured: its ages, and its questions with their filters and users.
A question that it lacks, or that has changed since, is refused, and so is a deeper setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from sweeper.corpus import parse_instant
from sweeper.engines.base import ranked_here
from sweeper.errors import EngineError, InputError, Problem
from sweeper.formats.values import counted, listed
from sweeper.golden import ItemId, Query, QueryId
from sweeper.poolfile import read_pool
from sweeper.pools import KeyFactors, QueryCandidates
from sweeper.settings import Settings

__all__ = ["PoolEngine"]

_VERSION = 1  # of the answers: raise it whenever the same file may be answered otherwise


class PoolEngine:
    """Answers from a captured pool, read once when it is made.

    Parameters
    ----------
    path
        Pool file.
    as_of
        The instant that ages shall be measured from, if one is wanted. It has to be the pool's.

    Raises
    ------
    InputError
        If the file is no pool or is damaged, its ages are of another instant, or its engine did not
        show all candidates of some question. When asked: if it lacks a question, or is not deep
        enough.
    """

    knobs: frozenset[str] | None = None
    usefulness: KeyFactors | None = None
    """Learned from past usage; it counts in ``search`` alone."""
    n_threads = 1

    def __init__(self, path: str | Path, *, as_of: datetime | None = None) -> None:
        self._path = str(path)
        self._pool = read_pool(path)
        told = self._pool.provenance
        self._captured: Mapping[str, Any] = told.get("engine", {})
        self._check(as_of, told.get("as_of"), told.get("live_questions", ()))
        self.channels = self._pool.channels
        self._places = {name: place for place, name in enumerate(self._pool.query_ids)}
        self._digest = self._pool.digest
        self._closed = False

    def _check(self, wanted: datetime | None, captured: object, live: Iterable[QueryId]) -> None:
        instant = parse_instant(str(captured))
        if wanted is not None and instant is not None and wanted != instant:
            self._refuse(
                f"its ages are measured from {captured}, and as_of is {wanted.isoformat()}. Leave "
                "as_of out, or capture again."
            )
        names = list(live)
        if names:
            self._refuse(
                f"its engine did not show all candidates of {counted(len(names), 'question')} "
                f"({listed(names)}), which only a live engine can answer. Name that engine."
            )

    @property
    def fingerprint(self) -> str:
        return f"pool/{_VERSION} {self._digest}"

    @property
    def provenance(self) -> dict[str, Any]:
        """What was told of the engine that was captured, and which pool this is."""
        return {
            **self._captured,
            "kind": "pool",
            "captured_from": self._captured.get("captured_from", self._captured.get("kind")),
            "pool": self._digest,
            "as_of": self._pool.provenance.get("as_of"),
        }

    @property
    def evidence(self) -> Mapping[QueryId, Sequence[Mapping[str, Any]]]:
        """The facts that led to rows of a triples channel, per question, as they were captured."""
        told: Mapping[QueryId, Sequence[Mapping[str, Any]]]
        told = self._pool.provenance.get("evidence", {})
        return told

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        if self._closed:
            raise EngineError("the engine is closed; make a new one.")
        if depth < 1:
            raise ValueError(f"depth must be at least 1, got {depth}")
        if queries and depth > self._pool.depth:
            self._refuse(
                f"its candidates reach down to {self._pool.depth} only, and a depth of {depth} is "
                "asked for. Capture deeper, or lower depth and limit."
            )
        self._check_questions(queries)
        return [self._candidates(self._places[query.query_id], depth) for query in queries]

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        [found] = self.candidates([query], settings.effective_depth)
        return ranked_here(
            found, query, settings, channels=self.channels, usefulness=self.usefulness
        )

    def close(self) -> None:
        self._closed = True

    def _check_questions(self, queries: Sequence[Query]) -> None:
        missing = [q.query_id for q in queries if q.query_id not in self._places]
        if missing:
            self._refuse(
                f"lacks {counted(len(missing), 'question')}: {listed(missing)}. Capture again with "
                "them."
            )
        changed = self._pool.asked_otherwise(queries)
        if changed:
            self._refuse(
                f"{counted(len(changed), 'question')} had another text, filter or user when "
                f"captured: {listed(changed)}. Capture again."
            )

    def _candidates(self, place: int, depth: int) -> QueryCandidates:
        found = self._pool.candidates(place)
        return QueryCandidates(
            found.query_id, {where: rows[:depth] for where, rows in found.rows.items()}
        )

    def _refuse(self, message: str) -> NoReturn:
        raise InputError(Problem(message, self._path))
