"""Why an engine's answers differ from the replay: known faults, each tested on every answer.

A fault is a change to what is replayed: another ``rrf_k``, older memories, a shorter window. It is
named only if replay, so changed, gives *every* answer that was seen, those that agreed before too.
What is left is counted, never guessed at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sweeper.faults import (
    Fault,
    Observation,
    aged,
    as_it_is,
    days_added,
    fixed,
    gives,
    narrow,
    shallow,
    shifted,
    shortened,
    uncut,
    without,
)
from sweeper.golden import ItemId
from sweeper.knobs import Value, knob
from sweeper.ranking import rank

__all__ = ["Cause", "find_causes"]

_NAMED = 3
"""Rows that a sentence names; the others are counted."""


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
            (alike if gives(as_it_is, one, channels) else rest).append(one)
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

    def fits(fault: Fault) -> bool:
        told = any(fault(one) is not None for one in seen[:n_rest])
        return told and all(gives(fault, one, channels) for one in seen)

    for name, values in stuck.items():
        for value in values:
            if fits(fixed(name, value)):
                text = f"{name}: the engine answers as under {knob(name).format(value)}, always."
                yield Cause("no effect", text, n_rest, name)
                break
    for shift, said in ((-1, "ours + 1: it counts ranks from 0"), (1, "ours - 1")):
        if fits(shifted(shift)):
            text = f"with rrf_k {shift:+d} replay gives every answer. The engine's k = {said}."
            yield Cause("rrf_k", text, n_rest, "rrf_k")
    window = _window(seen, n_rest, fits)
    if window is not None:
        yield window
    skew = _skew(seen, n_rest, channels, fits)
    if skew is not None:
        yield skew
    lost = _lost(seen, channels)
    if lost and fits(without(lost)):
        text = (
            f"the engine never returns {_listed(sorted(lost))}; without them replay gives every "
            "answer. They left its corpus after the capture: run the sweep afresh."
        )
        yield Cause("engine lacks", text, n_rest)


# --- a window shorter than what was asked for -----------------------------------------------------


def _window(
    seen: Sequence[Observation], n_rest: int, fits: Callable[[Fault], bool]
) -> Cause | None:
    longest = max(len(one.live) for one in seen)
    limited = [one for one in seen[:n_rest] if one.settings.limit > longest]
    if longest and limited and fits(shortened(longest)):
        asked = max(one.settings.limit for one in limited)
        text = f"the engine returns at most {longest} rows, where the limit is {asked}."
        return Cause("window", text, n_rest, "limit")
    deepest = max(one.settings.effective_depth for one in seen[:n_rest])
    for depth in range(deepest - 1, 0, -1):
        for fault, scope in ((shallow(depth), "channel and store"), (narrow(depth), "channel")):
            if fits(fault):
                text = (
                    f"the engine fuses only the best {depth} rows of each {scope}, where the "
                    f"depth is {deepest}: its window is shorter."
                )
                return Cause("window", text, n_rest, "depth")
    return None


# --- clocks ---------------------------------------------------------------------------------------


def _skew(
    seen: Sequence[Observation],
    n_rest: int,
    channels: Sequence[str],
    fits: Callable[[Fault], bool],
) -> Cause | None:
    """Find one number of days by which all memories are older, or younger, in the engine."""
    if fits(fixed("recency_half_life_days", 0.0)):
        return None  # no decay at all looks like memories from the future
    low, high = -math.inf, math.inf
    for one in seen:
        for at_least, days in days_added(one, channels):
            low, high = (max(low, days), high) if at_least else (low, min(high, days))
    if low > high or low <= 0 <= high:
        return None
    if math.isfinite(low) and math.isfinite(high):
        tries = [low + part * (high - low) for part in (0.5, 0.1, 0.9)]
        said = f"{low:.6g} to {high:.6g}"
    else:
        tries = [low + step if low > 0 else high - step for step in (1.0, 0.01)]
        said = f"at least {low:.6g}" if low > 0 else f"at most {high:.6g}"
    if not any(fits(aged(days)) for days in tries):
        return None
    ahead = "ahead of" if low > 0 else "behind"
    text = (
        f"with {said} days added to every age replay gives every answer. The engine's clock is "
        f"{ahead} the instant from which the capture counts ages (as_of)."
    )
    return Cause("clock", text, n_rest, "recency_half_life_days")


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
        row.item_id
        for one in seen
        for row in rank(one.candidates, one.settings, channels=channels, prior=one.prior)
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
    rows = {row.item_id: row for row in uncut(one.candidates, one.settings, channels, one.prior)}
    for mine, item in zip(list(rows.values())[: one.settings.limit], one.live, strict=False):
        other = rows.get(item)
        if other is not mine:
            return other is not None and any(
                mine.values.get(name) == value for name, value in other.values.items()
            )
    return False


def _differs(one: Observation, channels: Sequence[str]) -> bool:
    rows = rank(one.candidates, one.settings, channels=channels, prior=one.prior)
    return [row.item_id for row in rows] != list(one.live)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(map(repr, names[:_NAMED])) + (f" and {more} more" if more > 0 else "")
