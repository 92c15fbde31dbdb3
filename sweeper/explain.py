"""Why a row stands where it stands, and what would bring the expected one to the front.

A routed question is explained under the weights and the budget of its class, and a row that the
triples channel found comes with the facts that led to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sweeper.golden import ItemId, Key, Query, QueryId
from sweeper.graph import Evidence
from sweeper.knobs import TRIPLES
from sweeper.pools import VECTOR, Pool
from sweeper.ranking import RankedRow, rank_captured
from sweeper.remedies import Remedy, find_remedies
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.triples import Triple

__all__ = ["Explanation", "Missing", "explain", "explain_many"]


@dataclass(frozen=True, slots=True)
class Missing:
    """An expected key that is not returned, and why.

    ``reason`` is ``not retrieved`` (no channel holds it within depth), ``floor`` (only its cosine,
    ``cosine``, found it and the floor cut it), or ``position`` (it stands at ``position``, beyond
    the limit).
    """

    key: Key
    reason: str
    cosine: float | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """One question under one settings.

    Attributes
    ----------
    query
        With the class by which it is routed, if it is.
    settings
        Those of all questions; ``own`` has what holds for this one.
    rows
        What is returned, best first.
    missing
        Expected keys that are not returned.
    remedies
        What single knobs can do for it, the best first.
    untried
        Weights that have no exact curve, because the safe weight of triples follows them; empty
        where no remedy was looked for.
    weights
        Of each channel, in fusion order, as they hold for this question.
    budget
        That of its class; ``None`` if it has none.
    evidence
        The facts that led to each returned row that the triples channel found, the first reached
        first. Empty for a row whose facts were not kept.
    """

    query: Query
    settings: Settings
    rows: tuple[RankedRow, ...]
    missing: tuple[Missing, ...]
    remedies: tuple[Remedy, ...]
    untried: tuple[str, ...]
    weights: Mapping[str, float]
    budget: int | None
    evidence: Mapping[ItemId, tuple[Evidence, ...]]

    def _repr_html_(self) -> str:
        from sweeper.reprs import explanation_html

        return explanation_html(self)

    @property
    def own(self) -> Settings:
        """The settings as they hold for this question: its class's weights, nothing routed."""
        return self.settings.for_class(self.query.query_class)

    @property
    def unmet(self) -> bool:
        """Whether no expected row stands first."""
        return self.first_position != 1

    @property
    def first_position(self) -> int:
        """Position of the first expected row; 0 if none is returned."""
        found = [row.position for row in self.rows if row.key in self.query.expected]
        return min(found, default=0)


def explain(replay: Replay, query_id: QueryId, settings: Settings) -> Explanation:
    """Explain one question.

    Parameters
    ----------
    replay
        Pool and golden set.
    query_id
        A question of the golden set.
    settings
        The settings to explain it under.

    Raises
    ------
    KeyError
        If there is no such question.
    """
    [found] = explain_many(replay, [query_id], settings)
    return found


def explain_many(
    replay: Replay, query_ids: Sequence[QueryId], settings: Settings
) -> list[Explanation]:
    """Explain several questions under the same settings; what they share is computed once.

    Raises
    ------
    KeyError
        If there is no such question.
    """
    known = {query.query_id: query for query in replay.golden.queries}
    replay = replay.of(settings)
    found = [_explained(replay.pool, known[query_id], settings) for query_id in query_ids]
    lacking = [n for n, item in enumerate(found) if item.query.answerable and item.unmet]
    remedies = find_remedies(
        replay.pool,
        [(found[n].query, found[n].own, found[n].first_position) for n in lacking],
    )
    for n, (helping, untried) in zip(lacking, remedies, strict=True):
        query = found[n].query
        found[n] = replace(
            found[n],
            remedies=tuple(
                replace(item, knob=_where_set(item.knob, query, settings)) for item in helping
            ),
            untried=tuple(_where_set(name, query, settings) for name in untried),
        )
    return found


def _explained(pool: Pool, query: Query, settings: Settings) -> Explanation:
    """Return what is returned and what is missing, without remedies."""
    own = settings.for_class(query.query_class)
    rows = rank_captured(pool, query, own)
    every = rank_captured(pool, query, _uncut(own))
    unfloored = rank_captured(pool, query, _uncut(own).with_values({"min_similarity": None}))
    returned = {row.key for row in rows}
    return Explanation(
        query=query,
        settings=settings,
        rows=tuple(rows),
        missing=tuple(
            _missing(key, every, unfloored) for key in query.expected if key not in returned
        ),
        remedies=(),
        untried=(),
        weights={channel: own.weight(channel) for channel in pool.channels},
        budget=_budget(query, settings),
        evidence=_evidence(pool, query, rows),
    )


def _uncut(settings: Settings) -> Settings:
    """Return the settings with the same depth and no limit on what is returned."""
    return settings.with_values({"depth": settings.effective_depth, "limit": 2**31 - 1})


def _missing(key: Key, every: Sequence[RankedRow], unfloored: Sequence[RankedRow]) -> Missing:
    place = next((row.position for row in every if row.key == key), None)
    if place is not None:
        return Missing(key, "position", position=place)
    cosine = next((row.values.get(VECTOR) for row in unfloored if row.key == key), None)
    return Missing(key, "not retrieved") if cosine is None else Missing(key, "floor", cosine=cosine)


def _budget(query: Query, settings: Settings) -> int | None:
    value = settings.routing.get(f"routing.{query.query_class}.budget") if query.route else None
    return None if value is None else int(value)


def _evidence(
    pool: Pool, query: Query, rows: Sequence[RankedRow]
) -> dict[ItemId, tuple[Evidence, ...]]:
    told = pool.provenance.get("evidence", {}).get(query.query_id, ())
    facts = {
        found["item"]: tuple(
            Evidence(Triple(*fact), int(hop), entity) for *fact, hop, entity in found["facts"]
        )
        for found in told
    }
    return {row.item_id: facts.get(row.item_id, ()) for row in rows if TRIPLES in row.ranks}


def _where_set(name: str, query: Query, settings: Settings) -> str:
    """Return the name under which a question's value of a knob is set."""
    routed = f"routing.{query.query_class}.{name}"
    return routed if query.route is not None and routed in settings.routing else name
