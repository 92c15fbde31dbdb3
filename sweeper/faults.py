"""Faults of an engine as changes to what is replayed: another ``rrf_k``, a shorter window.

A fault is a function from an observation to the candidates and settings that such an engine would
rank in place of the observation's own. ``gives`` asks whether that is what the engine returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

from sweeper.corpus import STORES, Store
from sweeper.golden import ItemId, Key, QueryId
from sweeper.knobs import Value
from sweeper.pools import Candidate, QueryCandidates
from sweeper.ranking import NO_PRIOR, RankedRow, merge_stores, rank
from sweeper.settings import Settings

__all__ = [
    "Fault",
    "Observation",
    "aged",
    "as_it_is",
    "days_added",
    "fixed",
    "gives",
    "narrow",
    "shallow",
    "shifted",
    "shortened",
    "uncut",
    "without",
]

_SAME_SCORE = 1e-12
"""Relative difference up to which two scores count as tied: sums in another order differ so."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the engine returned for one question, and the candidates that replay ranks for it.

    ``settings`` are those of the question's class, ``prior`` what past usage says of keys.
    """

    query_id: QueryId
    settings: Settings
    candidates: QueryCandidates
    live: tuple[ItemId, ...]
    prior: Mapping[Key, float] = field(default_factory=lambda: NO_PRIOR)


Fault: TypeAlias = Callable[[Observation], tuple[QueryCandidates, Settings] | None]
"""A fault: what is ranked in place of an observation's own; ``None`` where it cannot be told."""


def uncut(
    candidates: QueryCandidates,
    settings: Settings,
    channels: Sequence[str],
    prior: Mapping[Key, float],
) -> list[RankedRow]:
    """Return every candidate in replay's order, also those beyond the limit."""
    whole = {"depth": settings.effective_depth, "limit": 2**31 - 1}
    return rank(candidates, settings.with_values(whole), channels=channels, prior=prior)


def gives(fault: Fault, one: Observation, channels: Sequence[str]) -> bool:
    """Return whether replay with a fault gives an answer, whatever the order of equal scores.

    True where the fault cannot be told, as such an answer does not speak against it.
    """
    changed = fault(one)
    if changed is None:
        return True
    candidates, settings = changed
    rows = uncut(candidates, settings, channels, one.prior)
    score = {row.item_id: row.score for row in rows}
    if len(one.live) != min(settings.limit, len(rows)) or len(set(one.live)) != len(one.live):
        return False
    return all(
        item in score and math.isclose(score[item], row.score, rel_tol=_SAME_SCORE)
        for item, row in zip(one.live, rows, strict=False)
    )


def as_it_is(one: Observation) -> tuple[QueryCandidates, Settings]:
    """Return what replay ranks: no fault."""
    return one.candidates, one.settings


def fixed(name: str, value: Value) -> Fault:
    """One knob has one value, whatever the engine is told."""
    return lambda one: (one.candidates, one.settings.with_values({name: value}))


def shifted(by: int) -> Fault:
    """``rrf_k`` is another by a constant; -1 is what ranks from 0 amount to."""

    def fault(one: Observation) -> tuple[QueryCandidates, Settings] | None:
        if one.settings.rrf_k + by < 1:
            return None
        return one.candidates, replace(one.settings, rrf_k=one.settings.rrf_k + by)

    return fault


def aged(days: float) -> Fault:
    """Every memory is so many days older."""

    def fault(one: Observation) -> tuple[QueryCandidates, Settings]:
        return _changed(
            one, lambda rows: [row._replace(age_days=row.age_days + days) for row in rows]
        )

    return fault


def without(items: frozenset[ItemId]) -> Fault:
    """Some rows are nowhere to be found."""
    return lambda one: _changed(one, lambda rows: [r for r in rows if r.item_id not in items])


def _changed(
    one: Observation, change: Callable[[Sequence[Candidate]], Sequence[Candidate]]
) -> tuple[QueryCandidates, Settings]:
    rows = {place: change(own) for place, own in one.candidates.rows.items()}
    return replace(one.candidates, rows=rows), one.settings


def shortened(limit: int) -> Fault:
    """No answer is longer than ``limit``."""
    return lambda one: (one.candidates, _at_most(one.settings, "limit", limit))


def shallow(depth: int) -> Fault:
    """Each channel takes at most ``depth`` rows of each store."""
    return lambda one: (one.candidates, _at_most(one.settings, "depth", depth))


def _at_most(settings: Settings, name: str, most: int) -> Settings:
    depth = settings.effective_depth  # stays what it is when the limit falls
    own = settings.with_values({"depth": depth})
    return own.with_values({name: min(most, depth if name == "depth" else own.limit)})


def narrow(depth: int) -> Fault:
    """Each channel takes at most ``depth`` rows, after its stores were merged."""

    def fault(one: Observation) -> tuple[QueryCandidates, Settings]:
        rows: dict[tuple[str, Store], Sequence[Candidate]] = {}
        whole, deep = one.candidates.rows, one.settings.effective_depth
        for channel in dict.fromkeys(name for name, _ in whole):
            stores = [s for s in STORES if one.settings.stores in {"all", s}]
            merged = merge_stores([whole.get((channel, s), ())[:deep] for s in stores])[:depth]
            for store in stores:
                rows[channel, store] = [row for row in merged if row.store == store]
        return QueryCandidates(one.query_id, rows), one.settings

    return fault


def days_added(one: Observation, channels: Sequence[str]) -> Iterator[tuple[bool, float]]:
    """Yield what an answer says of the days by which every memory is older in the engine.

    A memory and a document change places at one age, so each pair of neighbours in the answer is a
    bound. Two memories age alike and say nothing.

    Yields
    ------
    at_least
        Whether the bound is from below.
    days
        The bound itself.
    """
    half_life = one.settings.recency_half_life_days
    if half_life <= 0:
        return
    rows = {row.item_id: row for row in uncut(one.candidates, one.settings, channels, one.prior)}
    live = [rows[item] for item in one.live if item in rows]
    if len(live) != len(one.live) or not live:
        return
    returned = set(one.live)
    below = [(live[-1], row) for row in rows.values() if row.item_id not in returned]
    for first, second in [*pairwise(live), *below]:
        if _ages(first) == _ages(second):
            continue
        memory, other = (first, second) if _ages(first) else (second, first)
        if not (memory.fused > 0 and other.fused > 0):
            continue
        days = half_life * math.log2(memory.fused / other.fused) - memory.age_days
        if memory is first or days > -memory.age_days:  # a factor is never above 1
            yield memory is second, days


def _ages(row: RankedRow) -> bool:
    return row.store == "memory" and not math.isnan(row.age_days)
