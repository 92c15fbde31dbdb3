"""What every engine promises. One file per engine stands beside this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from sweeper.golden import ItemId, Key, Query, QueryId
from sweeper.pools import KeyFactors, QueryCandidates
from sweeper.ranking import NO_PRIOR, rank
from sweeper.settings import Settings

__all__ = ["Boosted", "Counted", "Engine", "Evidenced", "PartlyShown", "ranked_here"]


@runtime_checkable
class Engine(Protocol):
    """Answers queries: with the candidates of each channel, and with its own final ranking.

    A *black box* shows no candidates: its ``channels`` are empty, ``candidates`` raises
    ``EngineError``, and ``search`` returns the key at each raw position in place of an item id.

    ``close`` may be called twice.
    """

    @property
    def channels(self) -> tuple[str, ...]:
        """Channel names in the order in which fusion adds them; empty for a black box."""

    @property
    def fingerprint(self) -> str | None:
        """Text that changes whenever the same request could find other rows.

        The instant from which ages count is not part of it; pools are kept under both.

        ``None`` for a live engine, whose answers nobody can promise: its pools are not shared.
        """

    @property
    def provenance(self) -> dict[str, Any]:
        """What a report says of this engine: kind, embedder, odd ages. JSON values only."""

    @property
    def knobs(self) -> frozenset[str] | None:
        """Names of the knobs that ``search`` obeys; ``None`` for all of them."""

    @property
    def n_threads(self) -> int:
        """How many threads may call ``candidates`` or ``search`` at once, at least 1."""

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        """Return the best ``depth`` rows per channel and store of each query, best first.

        Raises
        ------
        EngineError
            If a query cannot be answered. Never an empty list in its place.
        """

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        """Return the engine's own final ranking under some settings, best first.

        Raises
        ------
        EngineError
            If the query cannot be answered. Never an empty list in its place.
        """

    def close(self) -> None:
        """Release files and connections."""


@runtime_checkable
class PartlyShown(Engine, Protocol):
    """An engine that may show too few candidates of some questions: these are searched live."""

    @property
    def incomplete(self) -> Mapping[QueryId, str]:
        """Captured questions whose candidates are not all there, each with the reason."""

    def search_keys(self, query: Query, settings: Settings) -> list[Key]:
        """Return the key at each position of the engine's own final ranking, best first."""


@runtime_checkable
class Evidenced(Engine, Protocol):
    """An engine that says which facts led to the rows of its triples channel."""

    @property
    def evidence(self) -> Mapping[QueryId, Sequence[Mapping[str, Any]]]:
        """What led to each row of the triples channel, per question. JSON values only.

        ``item``, and ``facts``: lists of subject, predicate, object, sentence, page, hop, and the
        entity from which the fact was reached.
        """


@runtime_checkable
class Boosted(Protocol):
    """An engine whose own search applies a usefulness prior, once it is told of past usage."""

    usefulness: KeyFactors | None


@runtime_checkable
class Counted(Protocol):
    """An engine that counts what it asked, and what went wrong on the way."""

    @property
    def counters(self) -> Mapping[str, int]:
        """Number of ``requests``, ``retries``, and failures by kind."""


def ranked_here(
    found: QueryCandidates,
    query: Query,
    settings: Settings,
    *,
    channels: Sequence[str],
    usefulness: KeyFactors | None,
) -> list[ItemId]:
    """Return the ranking of candidates, for an engine that has no code of its own for it."""
    prior = settings.prior
    ranked = rank(
        found,
        settings,
        channels=channels,
        query_class=query.query_class,
        prior=usefulness.factors(prior) if prior and usefulness else NO_PRIOR,
    )
    return [row.item_id for row in ranked]
