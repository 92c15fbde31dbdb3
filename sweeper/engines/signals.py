"""Channels put together again from fused rows that tell their rank in each channel.

A hybrid search that answers with its best rows and, per row, the rank that each channel gave it
shows the beginning of each channel: the ranks 1, 2, 3, ... up to the first that is missing. That
is all of a channel that a sweep needs once it holds ``depth`` rows of every store, because the rows
behind can never be taken, or once the channel is known to end there. Where neither holds, answers
that search one store alone may complete it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sweeper.corpus import STORES, Store
from sweeper.golden import ItemId, Key, QueryId
from sweeper.pools import Candidate, QueryCandidates
from sweeper.ranking import merge_stores

__all__ = ["Answer", "SignalRow", "fusion_fault", "put_together"]

_SCORE_TOLERANCE = 1e-9  # relative; the same sum in another order differs by 1e-16


class SignalRow(NamedTuple):
    """One returned row: what it is, and what each channel that found it says of it.

    ``ranks`` start at 1. ``values`` holds the channels whose value is told, a cosine for
    ``vector``. ``score`` is ``None`` where it is not told.
    """

    item_id: ItemId
    key: Key
    store: Store
    ranks: Mapping[str, int]
    values: Mapping[str, float]
    score: float | None = None
    age_days: float = math.nan


@dataclass(frozen=True, slots=True)
class Answer:
    """Fused rows, best first.

    Parameters
    ----------
    rows
        With distinct item ids.
    n_asked
        How many rows the server may return; fewer mean that it had no more.
    rrf_k
        That the rows were fused with, without weights or decay; ``None`` if that is not known.

    Raises
    ------
    ValueError
        If two rows share an item or a rank, or a rank is below 1.
    """

    rows: Sequence[SignalRow]
    n_asked: int
    rrf_k: int | None = None

    def __post_init__(self) -> None:
        seen: set[ItemId] = set()
        held: dict[tuple[str, int], ItemId] = {}
        for row in self.rows:
            if row.item_id in seen:
                raise ValueError(f"{row.item_id!r} is returned twice")
            seen.add(row.item_id)
            for channel, place in row.ranks.items():
                if place < 1:
                    raise ValueError(
                        f"{row.item_id!r} has rank {place} in the {channel} channel; ranks are "
                        "read as starting at 1"
                    )
                other = held.setdefault((channel, place), row.item_id)
                if other != row.item_id:
                    raise ValueError(
                        f"{other!r} and {row.item_id!r} share rank {place} in the {channel} channel"
                    )

    @property
    def is_whole(self) -> bool:
        """Whether nothing was cut off: fewer rows than asked for, and no rank is missing."""
        if len(self.rows) >= self.n_asked:
            return False
        highest: dict[str, int] = {}
        count: dict[str, int] = {}
        for row in self.rows:
            for channel, place in row.ranks.items():
                highest[channel] = max(place, highest.get(channel, 0))
                count[channel] = count.get(channel, 0) + 1
        return highest == count

    def beginning(self, channel: str) -> list[SignalRow]:
        """Return a channel's rows from rank 1 up to the first rank that is missing."""
        by_rank = {row.ranks[channel]: row for row in self.rows if channel in row.ranks}
        ranks = itertools.takewhile(by_rank.__contains__, itertools.count(1))
        return [by_rank[place] for place in ranks]

    def ends(self, channel: str) -> bool:
        """Whether a channel is known to hold no row behind its ``beginning``.

        Either nothing was cut off, or the next rank alone would have scored above the last row that
        was returned: a row that had it would be here.
        """
        if self.is_whole:
            return True
        if self.rrf_k is None or not self.rows:
            return False
        following = len(self.beginning(channel)) + 1
        return 1.0 / (self.rrf_k + following) > self.fused[-1] * (1 + _SCORE_TOLERANCE)

    @property
    def fused(self) -> list[float]:
        """Each row's score as its ranks give it. Needs ``rrf_k``."""
        assert self.rrf_k is not None
        return [
            sum(1.0 / (self.rrf_k + place) for place in row.ranks.values()) for row in self.rows
        ]


def fusion_fault(answer: Answer) -> str | None:
    """Say how an answer contradicts fusion by ``1 / (rrf_k + rank)``; ``None`` if it does not.

    Found so: a server that ignores the k it was sent, counts ranks otherwise, weighs channels or
    lets rows decay although told not to. A replay would differ from it.
    """
    if answer.rrf_k is None:
        return None
    fused, sent = answer.fused, f"the rrf_k of {answer.rrf_k} that was sent"
    for place, (row, expected) in enumerate(zip(answer.rows, fused, strict=True), start=1):
        if row.score is not None and not math.isclose(
            row.score, expected, rel_tol=_SCORE_TOLERANCE
        ):
            return (
                f"row {place} has the score {row.score:.6g}, and its ranks give {expected:.6g} at "
                f"{sent}"
            )
    for place, (before, after) in enumerate(itertools.pairwise(fused), start=2):
        if after > before * (1 + _SCORE_TOLERANCE):
            return f"row {place} stands below a row that its ranks outdo at {sent}"
    return None


def put_together(
    query_id: QueryId,
    answer: Answer,
    *,
    channels: Sequence[str],
    valued: Sequence[str],
    stores: Sequence[Store] = STORES,
    depth: int,
    ask_store: Callable[[Store], Answer | None],
) -> tuple[QueryCandidates, str | None]:
    """Return the best ``depth`` rows per channel and store, and what is missing of them.

    Parameters
    ----------
    query_id
        Goes into the result.
    answer
        To a search of all stores.
    channels
        Names in the order in which fusion adds them.
    valued
        Channels whose values rows tell, comparable between answers. In the others a row's value is
        minus its rank, which descends as the channel's own does.
    stores
        Those that the engine has.
    depth
        Rows per channel and store.
    ask_store
        Searches one store alone, asked only where that can help; ``None`` if it cannot be done.

    Returns
    -------
    tuple of QueryCandidates and str or None
        With a reason, the candidates are not all there, and a replay of them would be wrong.
    """
    rows: dict[tuple[str, Store], Sequence[Candidate]] = {}
    reason: str | None = None
    for channel in channels:
        found, missing = _channel(answer, channel, channel in valued, stores, depth, ask_store)
        reason = reason or missing
        rows.update(((channel, store), listed) for store, listed in found.items())
    return QueryCandidates(query_id, rows), reason


def _channel(
    answer: Answer,
    channel: str,
    valued: bool,
    stores: Sequence[Store],
    depth: int,
    ask_store: Callable[[Store], Answer | None],
) -> tuple[dict[Store, list[Candidate]], str | None]:
    known = answer.beginning(channel)
    shown = {store: [row for row in known if row.store == store][:depth] for store in stores}
    behind: dict[Store, list[SignalRow]] = {store: [] for store in stores}
    reason = None
    for store in stores:
        if answer.ends(channel) or len(shown[store]) == depth:
            continue
        behind[store], missing = _rows_behind(channel, store, shown[store], depth, ask_store)
        reason = reason or missing
    if not valued:
        if sum(map(bool, behind.values())) > 1:
            reason = reason or (
                f"the order of {channel} rows between the stores is unknown from rank "
                f"{len(known) + 1} on"
            )
        # Whatever is behind comes after every known rank.
        place = {row.item_id: number for number, row in enumerate(known, start=1)}
        for rows in behind.values():
            for number, row in enumerate(rows, start=len(known) + 1):
                place[row.item_id] = number
        return {
            store: [_candidate(row, -float(place[row.item_id])) for row in rows + behind[store]]
            for store, rows in shown.items()
        }, reason
    found = {
        store: [_candidate(row, row.values[channel]) for row in rows + behind[store]]
        for store, rows in shown.items()
    }
    return found, reason or _contradiction(channel, known, found)


def _rows_behind(
    channel: str,
    store: Store,
    shown: Sequence[SignalRow],
    depth: int,
    ask_store: Callable[[Store], Answer | None],
) -> tuple[list[SignalRow], str | None]:
    """Return a store's rows behind those shown, down to ``depth``, and what is missing of them."""
    scoped = ask_store(store)
    if scoped is None:
        return [], (
            f"only {len(shown)} of the best {depth} {channel} rows of the {store} store were "
            "shown, and no further request shows more"
        )
    rows = scoped.beginning(channel)[:depth]
    if [row.item_id for row in rows[: len(shown)]] != [row.item_id for row in shown]:
        return [], f"the {channel} rows of the {store} store differ between two requests"
    if len(rows) < depth and not scoped.ends(channel):
        return [], f"only {len(rows)} of the best {depth} {channel} rows of the {store} store show"
    return rows[len(shown) :], None


def _contradiction(
    channel: str, known: Sequence[SignalRow], found: Mapping[Store, Sequence[Candidate]]
) -> str | None:
    """Say where values and ranks disagree; replay merges the stores by value."""
    for rows in found.values():
        if any(a.value < b.value for a, b in itertools.pairwise(rows)):
            return f"the {channel} values contradict the {channel} ranks"
    taken = {row.item_id for rows in found.values() for row in rows}
    expected = [row.item_id for row in known if row.item_id in taken]
    held = set(expected)
    merged = merge_stores(list(found.values()))  # documents first
    if [row.item_id for row in merged if row.item_id in held] != expected:
        return f"the {channel} ranks order equal or unlike values of the stores otherwise than here"
    return None


def _candidate(row: SignalRow, value: float) -> Candidate:
    return Candidate(row.item_id, row.key, row.store, value, row.age_days)
