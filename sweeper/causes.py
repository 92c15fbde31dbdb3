"""Why an engine's answers differ from the replay: known faults, each tested on every answer.

A fault is a change to what is replayed: another ``rrf_k``, older memories, a shorter window. It is
named only if replay, so changed, gives *every* answer that was seen, those that agreed before too.
What is left is counted, never guessed at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from sweeper.corpus import STORES, Store
from sweeper.golden import ItemId, QueryId
from sweeper.knobs import Settings, Value, knob
from sweeper.pools import Candidate, QueryCandidates
from sweeper.ranking import RankedRow, merge_stores, rank

__all__ = ["Cause", "Observation", "find_causes", "uncut"]

_SAME_SCORE = 1e-12
"""Relative difference up to which two scores count as tied: sums in another order differ so."""

_NAMED = 3
"""Rows that a sentence names; the others are counted."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the engine returned for one question, and the candidates that replay ranks for it."""

    query_id: QueryId
    settings: Settings
    candidates: QueryCandidates
    live: tuple[ItemId, ...]


@dataclass(frozen=True, slots=True)
class Cause:
    """A named fault.

    Attributes
    ----------
    kind
        ``no effect``, ``not told``, ``rrf_k``, ``window``, ``clock``, ``ties``, ``pool lacks``,
        ``engine lacks`` or ``unsteady``.
    text
        One or two sentences.
    n_explained
        Answers that differ and that it explains.
    knob
        The knob at fault, where there is one.
    """

    kind: str
    text: str
    n_explained: int
    knob: str | None = None


_Changed: TypeAlias = Callable[[Observation], tuple[QueryCandidates, Settings] | None]
"""A fault: what is ranked in place of an observation's own; ``None`` where it cannot be told."""


def uncut(
    candidates: QueryCandidates, settings: Settings, channels: Sequence[str]
) -> list[RankedRow]:
    """Return every candidate in replay's order, also those beyond the limit."""
    whole = {"depth": settings.effective_depth, "limit": 2**31 - 1}
    return rank(candidates, settings.with_values(whole), channels=channels)


def find_causes(
    observations: Sequence[Observation],
    channels: Sequence[str],
    *,
    stuck: Mapping[str, Sequence[Value]] | None = None,
) -> tuple[tuple[Cause, ...], int]:
    """Name what makes answers differ.

    Parameters
    ----------
    observations
        All answers seen, whether they equal the replay or not.
    channels
        In the order in which fusion adds them.
    stuck
        Knobs that were found to have no effect, and the values that the engine may use instead.

    Returns
    -------
    causes
        Several that explain the same answers stand side by side: more questions would part them.
    n_unexplained
        Answers that differ for no reason found.
    """
    foreign = [one for one in observations if _strangers(one)]
    causes = [_pool_lacks(foreign)] if foreign else []
    rest: list[Observation] = []
    alike: list[Observation] = []
    for one in observations:
        if not _strangers(one):
            (alike if _fits(_as_it_is, one, channels) else rest).append(one)
    tied = [one for one in alike if _differs(one, channels)]
    if rest:
        evidence = [*rest, *alike]  # what differs refutes a fault soonest
        explained = tuple(_faults(evidence, len(rest), channels, stuck or {}))
        if explained:
            causes += explained
            rest = []
    valued = [one for one in rest if _tied_value(one, channels)]
    if tied or valued:
        causes.append(_ties(tied, valued))
    return tuple(causes), len(rest) - len(valued)


# --- faults ---------------------------------------------------------------------------------------


def _faults(
    seen: Sequence[Observation],
    n_rest: int,
    channels: Sequence[str],
    stuck: Mapping[str, Sequence[Value]],
) -> Iterator[Cause]:
    """Yield each fault that explains every answer; the first ``n_rest`` of them differ."""

    def fits(fault: _Changed) -> bool:
        told = any(fault(one) is not None for one in seen[:n_rest])
        return told and all(_fits(fault, one, channels) for one in seen)

    for name, values in stuck.items():
        for value in values:
            if fits(_fixed(name, value)):
                text = f"{name}: the engine answers as under {knob(name).format(value)}, always."
                yield Cause("no effect", text, n_rest, name)
                break
    for shift, said in ((-1, "ours + 1: it counts ranks from 0"), (1, "ours - 1")):
        if fits(_shifted(shift)):
            text = f"with rrf_k {shift:+d} replay gives every answer. The engine's k = {said}."
            yield Cause("rrf_k", text, n_rest, "rrf_k")
    window = _window(seen, n_rest, fits)
    if window is not None:
        yield window
    skew = _skew(seen, n_rest, channels, fits)
    if skew is not None:
        yield skew
    lost = _lost(seen, channels)
    if lost and fits(_without(lost)):
        text = (
            f"the engine never returns {_listed(sorted(lost))}; without them replay gives every "
            "answer. They left its corpus after the capture: run the sweep afresh."
        )
        yield Cause("engine lacks", text, n_rest)


def _as_it_is(one: Observation) -> tuple[QueryCandidates, Settings]:
    return one.candidates, one.settings


def _fixed(name: str, value: Value) -> _Changed:
    return lambda one: (one.candidates, one.settings.with_values({name: value}))


def _shifted(by: int) -> _Changed:
    def fault(one: Observation) -> tuple[QueryCandidates, Settings] | None:
        if one.settings.rrf_k + by < 1:
            return None
        return one.candidates, replace(one.settings, rrf_k=one.settings.rrf_k + by)

    return fault


def _aged(days: float) -> _Changed:
    def fault(one: Observation) -> tuple[QueryCandidates, Settings]:
        return _changed(
            one, lambda rows: [row._replace(age_days=row.age_days + days) for row in rows]
        )

    return fault


def _without(items: frozenset[ItemId]) -> _Changed:
    return lambda one: _changed(one, lambda rows: [r for r in rows if r.item_id not in items])


def _changed(
    one: Observation, change: Callable[[Sequence[Candidate]], Sequence[Candidate]]
) -> tuple[QueryCandidates, Settings]:
    rows = {place: change(own) for place, own in one.candidates.rows.items()}
    return replace(one.candidates, rows=rows), one.settings


# --- a window shorter than what was asked for -----------------------------------------------------


def _window(
    seen: Sequence[Observation], n_rest: int, fits: Callable[[_Changed], bool]
) -> Cause | None:
    longest = max(len(one.live) for one in seen)
    limited = [one for one in seen[:n_rest] if one.settings.limit > longest]
    if longest and limited and fits(_first(longest)):
        asked = max(one.settings.limit for one in limited)
        text = f"the engine returns at most {longest} rows, where the limit is {asked}."
        return Cause("window", text, n_rest, "limit")
    deepest = max(one.settings.effective_depth for one in seen[:n_rest])
    for depth in range(deepest - 1, 0, -1):
        for fault, scope in ((_shallow(depth), "channel and store"), (_narrow(depth), "channel")):
            if fits(fault):
                text = (
                    f"the engine fuses only the best {depth} rows of each {scope}, where the "
                    f"depth is {deepest}: its window is shorter."
                )
                return Cause("window", text, n_rest, "depth")
    return None


def _first(limit: int) -> _Changed:
    return lambda one: (one.candidates, _at_most(one.settings, "limit", limit))


def _shallow(depth: int) -> _Changed:
    return lambda one: (one.candidates, _at_most(one.settings, "depth", depth))


def _at_most(settings: Settings, name: str, most: int) -> Settings:
    depth = settings.effective_depth  # stays what it is when the limit falls
    own = settings.with_values({"depth": depth})
    return own.with_values({name: min(most, depth if name == "depth" else own.limit)})


def _narrow(depth: int) -> _Changed:
    """Keep the best rows of each channel, after its stores were merged."""

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


# --- clocks ---------------------------------------------------------------------------------------


def _skew(
    seen: Sequence[Observation],
    n_rest: int,
    channels: Sequence[str],
    fits: Callable[[_Changed], bool],
) -> Cause | None:
    """Find one number of days that all memories are older, or younger, in the engine.

    A memory and a document change places at one age, so each neighbouring pair of an answer bounds
    the days from one side.
    """
    if fits(_fixed("recency_half_life_days", 0.0)):
        return None  # no decay at all looks like memories from the future
    low, high = -math.inf, math.inf
    for one in seen:
        for at_least, days in _bounds(one, channels):
            low, high = (max(low, days), high) if at_least else (low, min(high, days))
    if low > high or low <= 0 <= high:
        return None
    if math.isfinite(low) and math.isfinite(high):
        tries = [low + part * (high - low) for part in (0.5, 0.1, 0.9)]
        said = f"{low:.6g} to {high:.6g}"
    else:
        tries = [low + step if low > 0 else high - step for step in (1.0, 0.01)]
        said = f"at least {low:.6g}" if low > 0 else f"at most {high:.6g}"
    if not any(fits(_aged(days)) for days in tries):
        return None
    ahead = "ahead of" if low > 0 else "behind"
    text = (
        f"with {said} days added to every age replay gives every answer. The engine's clock is "
        f"{ahead} the instant from which the capture counts ages (as_of)."
    )
    return Cause("clock", text, n_rest, "recency_half_life_days")


def _bounds(one: Observation, channels: Sequence[str]) -> Iterator[tuple[bool, float]]:
    """Yield what an answer says of the days added: (whether at least, how many)."""
    half_life = one.settings.recency_half_life_days
    if half_life <= 0:
        return
    rows = {row.item_id: row for row in uncut(one.candidates, one.settings, channels)}
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


# --- corpora and ties -----------------------------------------------------------------------------


def _strangers(one: Observation) -> list[ItemId]:
    """Return rows of the engine that are no candidates of the question."""
    known = {row.item_id for rows in one.candidates.rows.values() for row in rows}
    return [item for item in one.live if item not in known]


def _pool_lacks(foreign: Sequence[Observation]) -> Cause:
    items = dict.fromkeys(item for one in foreign for item in _strangers(one))
    text = (
        f"the pool lacks {_listed(list(items))} (question {foreign[0].query_id!r} first). The "
        "corpus changed since the capture, or the engine looks deeper than the candidates it shows."
    )
    return Cause("pool lacks", text, len(foreign))


def _lost(seen: Sequence[Observation], channels: Sequence[str]) -> frozenset[ItemId]:
    """Return rows that replay returns and the engine never does."""
    replayed = {
        row.item_id for one in seen for row in rank(one.candidates, one.settings, channels=channels)
    }
    return frozenset(replayed - {item for one in seen for item in one.live})


def _ties(tied: Sequence[Observation], valued: Sequence[Observation]) -> Cause:
    parts = []
    if tied:
        parts.append(f"{len(tied)} only in the order of rows with equal scores")
    if valued:
        parts.append(f"{len(valued)} from two rows with equal values in a channel on")
    text = f"answers differ {' and '.join(parts)}: the engine orders ties otherwise."
    return Cause("ties", text, len(tied) + len(valued))


def _tied_value(one: Observation, channels: Sequence[str]) -> bool:
    """Return whether the first two rows that part have equal values where one overtakes."""
    rows = {row.item_id: row for row in uncut(one.candidates, one.settings, channels)}
    for mine, item in zip(list(rows.values())[: one.settings.limit], one.live, strict=False):
        other = rows.get(item)
        if other is not mine:
            return other is not None and any(
                mine.values.get(name) == value for name, value in other.values.items()
            )
    return False


# --- does a fault give an answer ------------------------------------------------------------------


def _differs(one: Observation, channels: Sequence[str]) -> bool:
    rows = rank(one.candidates, one.settings, channels=channels)
    return [row.item_id for row in rows] != list(one.live)


def _fits(fault: _Changed, one: Observation, channels: Sequence[str]) -> bool:
    """Return whether replay with a fault gives an answer, whatever the order of equal scores."""
    changed = fault(one)
    if changed is None:
        return True
    candidates, settings = changed
    rows = uncut(candidates, settings, channels)
    score = {row.item_id: row.score for row in rows}
    if len(one.live) != min(settings.limit, len(rows)) or len(set(one.live)) != len(one.live):
        return False
    return all(
        item in score and math.isclose(score[item], row.score, rel_tol=_SAME_SCORE)
        for item, row in zip(one.live, rows, strict=False)
    )


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - _NAMED
    return ", ".join(map(repr, names[:_NAMED])) + (f" and {more} more" if more > 0 else "")
