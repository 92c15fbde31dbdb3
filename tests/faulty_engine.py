"""An engine whose own search has a fault, for tests of what verification finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sweeper.engines.base import Engine
from sweeper.golden import ItemId, Query
from sweeper.pools import QueryCandidates
from sweeper.settings import Settings

__all__ = ["FaultyEngine"]


class FaultyEngine:
    """Retrieves as another engine does and ranks in its own way.

    Parameters
    ----------
    engine
        Gives the candidates; it is closed by whoever made it.
    search
        Returns item ids, best first.
    knobs
        What it obeys; ``None`` for everything.
    """

    n_threads = 1

    def __init__(
        self,
        engine: Engine,
        search: Callable[[Query, Settings], Sequence[ItemId]],
        knobs: frozenset[str] | None = None,
    ) -> None:
        self._engine, self._search, self.knobs = engine, search, knobs
        self.channels, self.fingerprint = engine.channels, engine.fingerprint

    @property
    def provenance(self) -> dict[str, Any]:
        return {**self._engine.provenance, "kind": "faulty"}

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        return self._engine.candidates(queries, depth)

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        return list(self._search(query, settings))

    def close(self) -> None:
        pass
