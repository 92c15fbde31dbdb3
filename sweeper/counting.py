"""Positions by counting: one more than the number of rows that stand before a relevant row.

Nothing is sorted, and only relevant rows get a position. Arrays are laid out candidate by relevant
row, so that every step is a long vector operation. Equal to ``ranking`` bit for bit, ties included.

Settings that differ only in the half-life share their work. With ``x = 1 / half_life`` the
logarithm of a score is a straight line in ``x``, so one crossing per pair of rows tells at which
half-lives of a grid the pair changes places (``Scene.by_lines``). Where floating-point
products could decide otherwise than real numbers, near a crossing, products decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.knobs import Value
from sweeper.layout import Layout
from sweeper.pools import VECTOR, FloatArray, IntArray
from sweeper.ranking import decay_factor
from sweeper.settings import Settings

__all__ = ["MARGIN", "UNDERFLOW", "Crossings", "Group", "Scene", "groups_of", "shared_work"]

_BLOCK = 1 << 16
"""Candidate slots per vector operation: 64K doubles are half a megabyte and stay in cache."""

MARGIN = 1e-10
"""In units of log2(score). Rounding of ages, half-lives and products amounts to 5e-13 at most."""

UNDERFLOW = 900.0
"""Beyond this many half-lives a product of doubles may underflow, and products decide."""

_SHORTEST = 1e-290
"""In days. Below, ``1 / half_life`` may overflow, and products decide."""

_LINES_FROM = 3
"""Half-lives from which crossings are cheaper than one product per half-life."""


def groups_of(layout: Layout, settings: Sequence[Settings]) -> Iterator[Group]:
    """Split settings of one depth into groups that differ in floor, half-life and limit."""
    trials: dict[tuple[object, ...], list[int]] = {}
    for number, item in enumerate(settings):
        trials.setdefault(shared_work(item), []).append(number)
    for members in trials.values():
        yield Group(layout, settings, members)


def shared_work(settings: Settings) -> tuple[object, ...]:
    """Return what trials of one depth have in common where they are scored together."""
    weights: tuple[tuple[str, Value], ...] = tuple(settings.weights.items())
    if settings.routing:
        weights += tuple(item for item in settings.routing.items() if ".weights." in item[0])
    return weights, settings.prior, settings.rrf_k


class Group:
    """Trials that share depth, weights, ``rrf_k`` and the usefulness prior.

    Attributes
    ----------
    active
        Number and weight of each channel that counts for some query; where classes have weights of
        their own, one weight per query, of shape (n_queries,).
    prior : shape (n_candidates, n_queries)
        What past usage multiplies scores by; ``None`` where it changes nothing.
    """

    def __init__(self, layout: Layout, settings: Sequence[Settings], trials: Sequence[int]) -> None:
        self.layout = layout
        self.settings = settings
        self.trials = trials
        one = settings[trials[0]]
        weights = layout.weights(one)
        self.active: list[tuple[int, float | FloatArray]] = [
            (number, own if len(own) > 1 else float(own[0]))
            for number, own in enumerate(weights)
            if (own > 0).any()
        ]
        self.prior = layout.prior(one)
        self.rrf_k = one.rrf_k
        names = list(layout.channels)
        self.vector = names.index(VECTOR) if VECTOR in names else -1
        self.floored = any(number == self.vector for number, _ in self.active)
        self._alone: NDArray[np.int64] | None = None

    def positions(self) -> Iterator[tuple[list[int], NDArray[np.integer]]]:
        """Yield some of the trials with their uncut positions, shape (n, n_targets).

        Trials with the same survivors of the floor in every query are computed once; so are
        queries with the same survivors under different floors.
        """
        layout = self.layout
        floors: dict[float | None, list[int]] = {}
        for trial in self.trials:
            floor = self.settings[trial].min_similarity if self.floored else None
            floors.setdefault(floor, []).append(trial)
        survivors = np.stack([layout.survivors(floor) for floor in floors])
        grid = self._shared_half_lives(list(floors.values()))
        if grid is None:
            for members, surviving in zip(floors.values(), survivors, strict=True):
                half_lives = [self.settings[t].recency_half_life_days for t in members]
                column = np.arange(layout.n_targets)
                yield members, self.columns(column, surviving[layout.target_query], half_lives)
            return
        state, inverse = _distinct_states(survivors[:, layout.target_query])
        target, count = state
        part = self.columns(target, count, grid)
        place = {half_life: number for number, half_life in enumerate(grid)}
        for members, columns in zip(floors.values(), inverse, strict=True):
            chosen = [place[self.settings[t].recency_half_life_days] for t in members]
            yield members, part[chosen][:, columns]

    def _shared_half_lives(self, members: list[list[int]]) -> list[float] | None:
        """Return the half-lives of all floors if computing their product wastes little."""
        if len(members) == 1:
            return None
        grid = dict.fromkeys(self.settings[t].recency_half_life_days for t in self.trials)
        wasteful = len(grid) * len(members) > 2 * len(self.trials)
        return None if wasteful else list(grid)

    def columns(
        self, target: NDArray[np.intp], survivors: NDArray[np.int32], half_lives: list[float]
    ) -> NDArray[np.integer]:
        """Return the positions of some targets, shape (n_half_lives, n_columns).

        Parameters
        ----------
        target : shape (n_columns,)
            Index of a target; it may repeat with another number of survivors.
        survivors : shape (n_columns,)
            Vector rows of the target's query that the floor leaves.
        half_lives
            Days; 0 is off. They may repeat.
        """
        unique = list(dict.fromkeys(half_lives))
        result = np.zeros((len(unique), len(target)), self.layout.dtype)
        step = max(1, _BLOCK // max(1, self.layout.n_slots))
        for start in range(0, len(target), step):
            part = slice(start, start + step)
            result[:, part] = self._block(target[part], survivors[part], unique)
        if unique == half_lives:
            return result
        place = {half_life: number for number, half_life in enumerate(unique)}
        return result[[place[half_life] for half_life in half_lives]]

    def _block(
        self, target: NDArray[np.intp], survivors: NDArray[np.int32], half_lives: list[float]
    ) -> NDArray[np.integer]:
        scene = Scene.build(self, target, survivors)
        oldest = float(self.layout.ages[-1])
        lined = [
            place
            for place, half_life in enumerate(half_lives)
            if half_life > _SHORTEST and oldest / half_life <= UNDERFLOW
        ]
        if len(lined) < _LINES_FROM or not scene.safe_for_lines:
            lined = []
        result = np.empty((len(half_lives), len(target)), self.layout.dtype)
        if lined:
            result[lined] = scene.by_lines([half_lives[place] for place in lined])
        for place in sorted(set(range(len(half_lives))) - set(lined)):
            result[place] = scene.by_products(half_lives[place])
        return result

    def count_returned(self, returned: NDArray[np.int32]) -> None:
        """Write how many rows each query returns into the rows of this group's trials."""
        queries = np.arange(returned.shape[1])
        known: dict[float | None, NDArray[np.int64]] = {}
        for trial in self.trials:
            item = self.settings[trial]
            floor = item.min_similarity if self.floored else None
            if floor not in known:
                known[floor] = self.candidates(queries, self.layout.survivors(floor))
            limit = self.layout.limits([item])[0] if item.routing else item.limit
            returned[trial] = np.minimum(known[floor], limit)

    def candidates(
        self, query: NDArray[np.intp], survivors: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Return how many candidates some queries have, given the vector rows that a floor leaves.

        Parameters
        ----------
        query, survivors : shape (n,)
            A query may repeat with another number of survivors.
        """
        if self._alone is None:
            ranks = self.layout.ranks
            held = np.zeros(ranks.shape[1:], bool)
            for number, weight in self.active:
                if number != self.vector:
                    held |= (ranks[number] > 0) & (np.asarray(weight) > 0)
            # alone[q, m] is how many of the first m vector rows no other channel holds.
            alone = np.zeros((ranks.shape[2], self.layout.cosines.shape[1] + 1), np.int64)
            if self.floored:
                counts = np.asarray(dict(self.active)[self.vector]) > 0
                slot, owner = np.nonzero((ranks[self.vector] > 0) & counts & ~held)
                alone[owner, ranks[self.vector][slot, owner]] = 1
            self._alone = held.sum(axis=0)[:, None] + np.cumsum(alone, axis=1)
        found: NDArray[np.int64] = self._alone[query, survivors]
        return found


def _distinct_states(
    survivors: NDArray[np.int32],
) -> tuple[tuple[NDArray[np.intp], NDArray[np.int32]], NDArray[np.intp]]:
    """Return the distinct (target, survivors) columns and, per floor and target, which one it is.

    Parameters
    ----------
    survivors : shape (n_floors, n_targets)
        Vector rows that each floor leaves in the target's query.
    """
    n_targets = survivors.shape[1]
    width = int(survivors.max(initial=0)) + 1
    code = np.arange(n_targets) * width + survivors
    unique, inverse = np.unique(code, return_inverse=True)
    state = ((unique // width).astype(np.intp), (unique % width).astype(np.int32))
    return state, inverse.reshape(survivors.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Crossings:
    """Changes of place with a column's target along ``x = 1 / half_life``.

    Attributes
    ----------
    ahead : shape (n_candidates, n_columns)
        Whether a row stands before the target without decay.
    slot, column : shape (n,)
        Which row changes places with which target.
    x : shape (n,)
        Where; 0 for rows of equal fused score, which part as soon as anything decays.
    days : shape (n,)
        Difference of their ages, above 0.
    step : shape (n,)
        Change of the number of rows ahead of the target, 1 or -1.
    close
        Slots and columns of rows whose fused score differs from the target's by rounding alone.
    """

    ahead: NDArray[np.bool_]
    slot: NDArray[np.intp]
    column: NDArray[np.intp]
    x: FloatArray
    days: FloatArray
    step: FloatArray
    close: tuple[NDArray[np.intp], ...]


@dataclass(slots=True, eq=False)
class Scene:
    """Some targets beside all candidates of their queries; shapes are (n_candidates, n_columns)."""

    layout: Layout
    fused: FloatArray
    prior: FloatArray | None
    present: NDArray[np.bool_]
    key: IntArray
    age_number: NDArray[np.int32]
    slot: NDArray[np.intp]

    @classmethod
    def build(cls, group: Group, target: NDArray[np.intp], survivors: NDArray[np.int32]) -> Scene:
        layout = group.layout
        query = layout.target_query[target]
        shape = (layout.n_slots, len(target))
        fused = np.zeros(shape)
        step = np.int32(layout.longest_rank + 1)
        key = np.zeros(shape, np.int32)
        share = np.zeros(layout.longest_rank + 1)
        numbers = np.arange(1, layout.longest_rank + 1)
        for order, (number, weight) in enumerate(group.active):
            rank = layout.ranks[number][:, query]
            if number == group.vector:
                rank[rank > survivors] = 0
            if isinstance(weight, float):
                share[1:] = weight / (group.rrf_k + numbers)
                fused += share[rank]
            else:
                own = weight[query]
                rank = np.where(own > 0, rank, 0)
                fused += np.where(rank > 0, own / (group.rrf_k + rank.astype(np.int64)), 0.0)
            # The key counts from 1 where a row is present; the first channel that holds it decides.
            key = np.where((key == 0) & (rank > 0), rank + order * step, key)
        prior = None if group.prior is None else group.prior[:, query]
        ages, slot = layout.age_number[:, query], layout.target_slot[target]
        return cls(layout, fused, prior, key > 0, key, ages, slot)

    @property
    def level(self) -> FloatArray:
        """Scores without decay."""
        return self.fused if self.prior is None else self.fused * self.prior

    def scores(self, half_life: float) -> FloatArray:
        """Return the score of every row, as products in the order of ``ranking``."""
        score = self.fused
        if half_life > 0:
            score = score * self.layout.factors([half_life])[0][self.age_number]
        return score if self.prior is None else score * self.prior

    @property
    def column(self) -> NDArray[np.intp]:
        return np.arange(len(self.slot))

    @property
    def safe_for_lines(self) -> bool:
        """Whether logarithms of all fused scores are finite and well away from underflow."""
        level = self.level
        smallest = float(level.min(where=self.present, initial=np.inf))
        largest = float(level.max(initial=0.0))
        return smallest > 1e-30 and largest < 1e30

    def by_products(self, half_life: float) -> NDArray[np.integer]:
        """Return positions at one half-life: score every row, count those that stand before."""
        score = self.scores(half_life)
        own = score[self.slot, self.column]
        ahead = (score > own).sum(axis=0, dtype=np.int32)
        tied = (score == own) & self.present
        shared = np.flatnonzero(tied.sum(axis=0, dtype=np.int32) > 1)
        if len(shared):
            own_key = self.key[self.slot[shared], shared]
            before = tied[:, shared] & (self.key[:, shared] < own_key)
            ahead[shared] += before.sum(axis=0, dtype=np.int32)
        return self._position(ahead)

    def by_lines(self, half_lives: list[float]) -> NDArray[np.integer]:
        """Return positions at several half-lives (all above 0), shape (n_half_lives, n_columns)."""
        x = 1.0 / np.asarray(half_lives)
        order = np.argsort(x, kind="stable")
        grid = x[order]
        cross = self.crossings()
        width = len(grid) + 1
        bucket = np.searchsorted(grid, cross.x, side="right")
        steps = np.bincount(
            cross.column * width + bucket,
            weights=cross.step,
            minlength=width * len(self.slot),
        ).reshape(len(self.slot), width)[:, :-1]
        count = cross.ahead.sum(axis=0)[:, None] + np.cumsum(steps, axis=1)

        with np.errstate(over="ignore", invalid="ignore"):  # as in crossings()
            reach = MARGIN / cross.days
            first = np.searchsorted(grid, cross.x - reach, side="left")
            last = np.searchsorted(grid, cross.x + reach, side="right")
        for pair in np.flatnonzero(first < last).tolist():
            slot, column = int(cross.slot[pair]), int(cross.column[pair])
            for place in range(int(first[pair]), int(last[pair])):
                said = bool(cross.ahead[slot, column]) != (place >= int(bucket[pair]))
                truth = self._before(slot, column, half_lives[order[place]])
                count[column, place] += int(truth) - int(said)
        # Rows whose scores differ by rounding alone: every half-life is decided by products.
        for slot, column in zip(*(part.tolist() for part in cross.close), strict=True):
            for place in range(len(grid)):
                truth = self._before(slot, column, half_lives[order[place]])
                count[column, place] += int(truth) - int(cross.ahead[slot, column])
        result = np.empty((len(half_lives), len(self.slot)), self.layout.dtype)
        result[order] = self._position(count.T.astype(np.int32))
        return result

    def crossings(self) -> Crossings:
        """Return where rows change places with their column's target as ``x`` grows from 0.

        Where two rows have different ages, they change places at most once, at
        ``x = log2(fused_j / fused_e) / (age_j - age_e)``: a row ahead falls behind when it is
        older, a row behind comes forward when it is younger.
        """
        ages, level = self.layout.ages, self.level
        own = level[self.slot, self.column]
        older = ages[self.age_number] - ages[self.age_number[self.slot, self.column]]
        tied = (level == own) & self.present
        own_key = self.key[self.slot, self.column]
        ahead = (level > own) | (tied & (self.key < own_key))
        if self.prior is not None:  # equal products of unequal factors may part when decay rounds
            tied &= self.fused == self.fused[self.slot, self.column]
            tied &= self.prior == self.prior[self.slot, self.column]
        close = (np.abs(level - own) <= own * MARGIN) & ~tied & self.present
        moves = np.where(ahead, older > 0, (older < 0) & self.present) & ~close
        moves &= own > 0  # a target that is no candidate has no crossings
        slot, column = np.nonzero(moves)
        base, fused = own[column], level[slot, column]
        days = np.abs(older[slot, column])
        with np.errstate(over="ignore", divide="ignore"):  # ages that are all but equal: never
            # Over the smaller score: log1p of a ratio close to -1 would lose all its digits.
            ratio = np.abs(fused - base) / np.minimum(fused, base)
            x = np.log1p(ratio) / (math.log(2.0) * days)
        return Crossings(
            ahead=ahead,
            slot=slot,
            column=column,
            x=x,
            days=days,
            step=np.where(ahead[slot, column], -1.0, 1.0),
            close=np.nonzero(close & (own > 0)),
        )

    def _before(self, slot: int, column: int, half_life: float) -> bool:
        """Return whether a row stands before its column's target, by products."""
        own = int(self.slot[column])
        score, target = (self._score(row, column, half_life) for row in (slot, own))
        if score != target:
            return score > target
        return bool(self.key[slot, column] < self.key[own, column])

    def _score(self, slot: int, column: int, half_life: float) -> float:
        age = float(self.layout.ages[self.age_number[slot, column]])
        score = float(self.fused[slot, column]) * decay_factor(age, half_life)
        return score if self.prior is None else score * float(self.prior[slot, column])

    def _position(self, ahead: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return 1-based positions from counts of rows ahead; 0 for a target that is no candidate.

        An uncut position never exceeds the number of candidates.
        """
        there = self.present[self.slot, self.column]
        return np.where(there, ahead + 1, 0).astype(self.layout.dtype)
