"""Why a row stands where it stands, and what would bring the expected one to the front.

A routed question is explained under the weights and the budget of its class, and a row that the
triples channel found comes with the facts that led to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sweeper.exact import Curve, exact_curve
from sweeper.golden import GoldenSet, ItemId, Key, Query
from sweeper.graph import Evidence
from sweeper.knobs import TRIPLES, Value
from sweeper.metrics import parse_metric
from sweeper.pools import VECTOR, Pool
from sweeper.ranking import RankedRow, rank_captured
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.staircase import ABSENT
from sweeper.triples import Triple

__all__ = ["Explanation", "Missing", "Remedy", "explain"]


@dataclass(frozen=True, slots=True)
class Remedy:
    """What one knob alone can do for a question, the others as they are.

    Attributes
    ----------
    knob
        Name of the knob, where the question's value is set: ``routing.lookup.weights.vector`` if
        its class has a weight of its own, else ``weights.vector``.
    position
        The best first position of an expected key along the knob.
    low, high
        The nearest stretch of the knob's axis on which that position is reached; equal ends are a
        single value, and ``None`` for both is the value that stands apart (off, none).
    at
        The end of that stretch which is nearer to the present value; ``None`` for the value that
        stands apart.
    item_id, other_id
        The expected row that moves there, and the row that it overtakes, where there is one.
    """

    knob: str
    position: int
    low: float | None
    high: float | None
    at: float | None
    item_id: str | None
    other_id: str | None


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
    def first_position(self) -> int:
        """Position of the first expected row; 0 if none is returned."""
        found = [row.position for row in self.rows if row.key in self.query.expected]
        return min(found, default=0)


def explain(replay: Replay, query_id: str, settings: Settings) -> Explanation:
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
    query = next((q for q in replay.golden.queries if q.query_id == query_id), None)
    if query is None:
        raise KeyError(query_id)
    replay = replay.of(settings)
    pool = replay.pool
    own = settings.for_class(query.query_class)
    rows = rank_captured(pool, query, own)
    every = rank_captured(pool, query, _uncut(own))
    unfloored = rank_captured(pool, query, _uncut(own).with_values({"min_similarity": None}))
    returned = {row.key for row in rows}
    missing = tuple(
        _missing(key, every, unfloored) for key in query.expected if key not in returned
    )
    remedies: tuple[Remedy, ...] = ()
    names, untried = _knobs(pool.channels, own)
    first = min((row.position for row in rows if row.key in query.expected), default=0)
    if query.answerable and first != 1:
        alone = Replay(pool, GoldenSet((query,)), compiled=False)
        remedies = tuple(
            replace(remedy, knob=_where_set(remedy.knob, query, settings))
            for remedy in _remedies(alone, own, names, first)
        )
    else:
        untried = ()
    return Explanation(
        query=query,
        settings=settings,
        rows=tuple(rows),
        missing=missing,
        remedies=remedies,
        untried=tuple(_where_set(name, query, settings) for name in untried),
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


def _knobs(channels: Sequence[str], own: Settings) -> tuple[list[str], tuple[str, ...]]:
    """Return the knobs that have exact curves, and the weights that have none."""
    names = ["recency_half_life_days", "min_similarity", "rrf_k"]
    if TRIPLES in channels and TRIPLES not in own.weights:  # its safe weight follows the others
        others = tuple(f"weights.{channel}" for channel in channels if channel != TRIPLES)
        return [*names, f"weights.{TRIPLES}"], others
    return [*names, *(f"weights.{channel}" for channel in channels)], ()


def _remedies(replay: Replay, settings: Settings, names: Sequence[str], now: int) -> list[Remedy]:
    metrics = [parse_metric("mrr")]
    found = []
    for name in names:
        try:
            curve = exact_curve(replay, settings, name, metrics)
        except ValueError:  # weights beyond the range of exact curves: nothing is known
            continue
        remedy = _remedy(curve, replay, now)
        if remedy is not None:
            found.append(remedy)
    return sorted(found, key=lambda item: item.position)


def _remedy(curve: Curve, replay: Replay, now: int) -> Remedy | None:
    """Return the best that a knob can do, if that is better than now."""
    pieces, name = curve.pieces, curve.knob.name
    low = np.maximum(pieces.start, curve.low)
    if curve.underflow is not None:
        low = np.maximum(low, curve.underflow[1])
    high = np.minimum(np.append(low[1:], curve.high), curve.high)
    position = np.where(pieces.first_position > 0, pieces.first_position.astype(np.int64), ABSENT)
    position[low >= high] = ABSENT  # floors that nobody can type
    best = int(position.min())
    for _, figures in curve.points:
        reached = round(1 / float(figures[0, 0])) if figures[0, 0] > 0 else ABSENT
        if reached < min(best, now or ABSENT):
            return Remedy(name, reached, None, None, None, None, None)
    if best >= (now or ABSENT):
        return None
    present = _place(curve, _present(curve.settings, name))
    reaching = np.flatnonzero(position == best)
    gaps = [_gap(present, float(low[n]), float(high[n]), curve.knob.log_scale) for n in reaching]
    chosen = int(reaching[int(np.argmin(gaps))])
    upwards = present <= low[chosen]
    at = float(low[chosen] if upwards else high[chosen])
    item, other = _mover(curve, replay, (float(low[chosen]), float(high[chosen])), upwards)
    if name == "rrf_k":  # an edge lies between two integers
        low_k, high_k = math.ceil(low[chosen]), math.floor(high[chosen])
        return Remedy(name, best, low_k, high_k, low_k if upwards else high_k, item, other)
    return Remedy(name, best, float(low[chosen]), float(high[chosen]), at, item, other)


def _mover(
    curve: Curve, replay: Replay, stretch: tuple[float, float], upwards: bool
) -> tuple[str, str | None]:
    """Return the first expected row within a stretch, and whom it overtakes at its nearer end."""
    settings, name = curve.settings, curve.knob.name
    at = stretch[0] if upwards else stretch[1]
    inside: Value = curve.middle_of(*stretch)
    if curve.knob.integer:
        inside = math.ceil(stretch[0])
    replay = replay.of(settings)
    pool, [query] = replay.pool, replay.golden.queries
    rows = rank_captured(pool, query, settings.with_values({name: inside}))
    item = next(row.item_id for row in rows if row.key in query.expected)
    layout = replay.layout(settings.effective_depth)
    number = layout.item[layout.target_slot, 0]
    steps = curve.steps.where(curve.steps.at == at)
    own = np.array([pool.item_ids[n] == item for n in number[steps.target]], bool)
    others = steps.where(own & ((steps.step < 0) if upwards else (steps.step > 0))).other.tolist()
    if len(others) != 1 or others[0] < 0:
        return item, None
    return item, pool.item_ids[layout.item[others[0], 0]]


def _present(settings: Settings, name: str) -> Value:
    """Return a knob's value on its axis: a safe weight stands where its number does."""
    return settings.weight(TRIPLES) if name == f"weights.{TRIPLES}" else settings.get(name)


def _place(curve: Curve, value: Value) -> float:
    if curve.point(value) is not None or value is None:
        return curve.high if curve.knob.name == "recency_half_life_days" else curve.low
    return float(value)


def _gap(present: float, low: float, high: float, log_scale: bool) -> float:
    if low <= present <= high:
        return 0.0
    near = low if present < low else high
    if log_scale and math.isfinite(present) and present > 0 and near > 0:
        return abs(math.log(near / present))
    return abs(near - present) if math.isfinite(present) else -near
