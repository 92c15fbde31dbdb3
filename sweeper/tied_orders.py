"""Every order in which the tied rows of one question's channels may stand (for ``ties``).

Orders that cannot change a figure are left out: rows that never come near a relevant row are
interchangeable, and so are rows that agree in all that counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sweeper.corpus import STORES
from sweeper.golden import Key, Query
from sweeper.pools import VECTOR, Candidate, FloatArray, QueryCandidates
from sweeper.ranking import NO_PRIOR, decay_factor
from sweeper.settings import Settings

__all__ = ["MOST_ORDERS", "TiedOrders"]

MOST_ORDERS = 5000
"""Channel orders of one question that are enumerated: some tens of milliseconds."""


@dataclass(slots=True)
class _TieGroup:
    """Rows of one channel with one value.

    ``above`` rows stand before it; ``taken`` of each store's rows lie within depth, whichever.
    """

    channel: int
    above: int
    rows: list[int]
    taken: tuple[int, ...]
    size: int
    classes: list[object] = field(default_factory=list)

    @property
    def cut(self) -> bool:
        """Whether depth takes only some of its rows."""
        return self.size < len(self.rows)

    @property
    def tied(self) -> bool:
        return len(self.rows) > 1


class TiedOrders:
    """The rows of one question under one setting, and what may change places.

    Attributes
    ----------
    key : shape (n_rows,)
        Which of the expected keys a row belongs to; -1 for the others.
    targets : shape (n_targets,)
        Rows with an expected key.
    """

    def __init__(
        self,
        candidates: QueryCandidates,
        query: Query,
        settings: Settings,
        channels: Sequence[str],
        prior: Mapping[Key, float] = NO_PRIOR,
    ) -> None:
        settings = settings.for_class(query.query_class)
        self.settings = settings
        self.channels = [name for name in channels if settings.weight(name) > 0]
        self._rows: list[Candidate] = []
        self._index: dict[str, int] = {}
        self._groups = [
            group
            for number, name in enumerate(self.channels)
            for group in self._tie_groups(candidates, number, name)
        ]
        half_life = settings.recency_half_life_days
        self._factor = np.array(
            [
                decay_factor(row.age_days, half_life) if row.store == "memory" else 1.0
                for row in self._rows
            ],
            np.float64,
        )
        self._prior = np.array([prior.get(row.key, 1.0) for row in self._rows], np.float64)
        number_of = {key: place for place, key in enumerate(query.expected)}
        self.key = np.array([number_of.get(row.key, -1) for row in self._rows], np.intp)
        self.targets = np.flatnonzero(self.key >= 0)
        self._find_ranges()

    def _tie_groups(
        self, candidates: QueryCandidates, number: int, channel: str
    ) -> Iterator[_TieGroup]:
        """Yield a channel's groups of equal value, best first, that reach into depth."""
        floor = self.settings.min_similarity if channel == VECTOR else None
        room = [self.settings.effective_depth] * len(STORES)
        rows = [row for store in STORES for row in candidates.rows.get((channel, store), ())]
        rows.sort(key=lambda row: -row.value)
        above = 0
        for value, tied in itertools.groupby(rows, key=lambda row: row.value):
            members = list(tied)
            if floor is not None and value < floor:
                return
            stores = [STORES.index(row.store) for row in members]
            taken = tuple(min(stores.count(n), left) for n, left in enumerate(room))
            room = [left - count for left, count in zip(room, taken, strict=True)]
            reaching = [
                self._number(row)
                for row, store in zip(members, stores, strict=True)
                if taken[store]
            ]
            if reaching:
                yield _TieGroup(number, above, reaching, taken, sum(taken))
            above += sum(taken)

    def _number(self, row: Candidate) -> int:
        number = self._index.setdefault(row.item_id, len(self._rows))
        if number == len(self._rows):
            self._rows.append(row)
        return number

    def _find_ranges(self) -> None:
        """Find between which scores each row stays, and whether it is certainly a candidate."""
        shape = (1, len(self.channels), len(self._rows))
        best, worst = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for group in self._groups:
            best[0, group.channel, group.rows] = group.above + 1
            last = group.above + group.size
            if not group.cut:
                worst[0, group.channel, group.rows] = last
                continue
            for row in group.rows:
                store = self._rows[row].store
                own = [other for other in group.rows if self._rows[other].store == store]
                if group.taken[STORES.index(store)] == len(own):
                    worst[0, group.channel, row] = last
        [self._highest], [self._lowest] = self._scores(best), self._scores(worst)
        self._certain = (worst[0] > 0).any(axis=0)
        # What a row that may be absent stands at least: below everything.
        self._lowest[~self._certain] = -1.0

    def _scores(self, ranks: NDArray[np.int64]) -> FloatArray:
        """Return scores, shape (n_orders, n_rows), from ranks (n_orders, n_channels, n_rows)."""
        fused = np.zeros((len(ranks), ranks.shape[2]))
        for number, name in enumerate(self.channels):
            own = ranks[:, number]
            share: FloatArray = self.settings.weight(name) / (self.settings.rrf_k + own)
            fused += np.where(own > 0, share, 0.0)
        scores: FloatArray = fused * self._factor * self._prior
        return scores

    def outcomes(self) -> NDArray[np.int64] | None:
        """Return the distinct outcomes of all orders, or ``None`` if these are too many.

        Returns
        -------
        shape (n, 1 + 2 * n_targets)
            Rows returned; per target, how many rows stand before it; per target, how many stand
            before it or at its score, itself included; 0 and 0 for a target that is absent.
        """
        ranks = self._orders()
        if ranks is None:
            return None
        there: NDArray[np.bool_] = np.any(ranks > 0, axis=1)
        score = np.where(there, self._scores(ranks), -1.0)
        own = score[:, self.targets]
        ahead = (score[:, :, None] > own[:, None, :]).sum(axis=1)
        until = (score[:, :, None] >= own[:, None, :]).sum(axis=1)
        present = there[:, self.targets]
        returned = np.minimum(there.sum(axis=1), self.settings.limit)
        every = np.concatenate([returned[:, None], ahead * present, until * present], axis=1)
        distinct: NDArray[np.int64] = np.unique(every, axis=0)
        return distinct

    def widest(self) -> tuple[dict[int, int], dict[int, int], tuple[int, int]]:
        """Return positions that no order improves, that none worsens, and how many rows return.

        Both map a place in ``targets`` to a position; an absent one may be absent in some order.
        """
        best, worst = {}, {}
        for place, row in enumerate(self.targets.tolist()):
            best[place] = 1 + int((self._lowest > self._highest[row]).sum())
            if self._certain[row]:
                worst[place] = int((self._highest >= self._lowest[row]).sum())
        limit = self.settings.limit
        least, most = min(int(self._certain.sum()), limit), min(len(self._rows), limit)
        return best, worst, (least, most)

    def _orders(self) -> NDArray[np.int64] | None:
        """Return the ranks under every order that may differ, or ``None`` if these are too many."""
        fixed = np.zeros((len(self.channels), len(self._rows)), np.int64)
        self._classify()
        choices: list[tuple[_TieGroup, NDArray[np.int64]]] = []
        n_orders = 1
        for group in self._groups:
            if not group.tied:
                fixed[group.channel, group.rows[0]] = group.above + 1
                continue
            most = MOST_ORDERS // n_orders
            found = list(itertools.islice(self._arrangements(group), most + 1))
            if len(found) > most:
                return None
            n_orders *= len(found)
            choices.append((group, np.array(found, np.int64)))
        ranks = np.repeat(fixed[None], n_orders, axis=0)
        order = np.arange(n_orders)
        rest = order
        for group, arrangements in choices:
            chosen = arrangements[rest % len(arrangements)]
            rest = rest // len(arrangements)
            places = np.arange(group.above + 1, group.above + 1 + group.size)
            ranks[order[:, None], group.channel, chosen] = places
        return ranks

    def _classify(self) -> None:
        """Give the rows of each tied group a class; rows of one class may change places unseen.

        Rows that agree in everything may change places in all their groups at once. So their order
        is fixed in the first group that holds them, and counts in the others.
        """
        near = self._near_a_target()
        count_matters = int(self._certain.sum()) < self.settings.limit
        groups_of: dict[int, list[int]] = {}
        for number, group in enumerate(self._groups):
            for row in group.rows:
                groups_of.setdefault(row, []).append(number)
        for number, group in enumerate(self._groups):
            if not group.tied:
                continue
            for row in group.rows:
                numbers = groups_of[row]
                if not near[row] and not (group.cut and count_matters):
                    kind: object = None
                elif number == next(n for n in numbers if self._groups[n].tied):
                    same = (self._rows[row].store, float(self._factor[row]), int(self.key[row]))
                    kind = (*same, float(self._prior[row]), *numbers)
                else:
                    kind = row
                group.classes.append(kind)

    def _near_a_target(self) -> NDArray[np.bool_]:
        """Return which rows are relevant, or may stand on either side of a relevant one."""
        low, high = self._lowest, self._highest
        # Relevant rows that stand beyond the limit in any order change nothing.
        ahead = (low[None, :] > high[self.targets, None]).sum(axis=1)
        targets = self.targets[ahead < self.settings.limit]
        overlap = (high[:, None] >= low[targets]) & (low[:, None] <= high[targets])
        near = np.zeros(len(high), bool)
        near[targets] = True
        near |= overlap.any(axis=1)
        return near

    def _arrangements(self, group: _TieGroup) -> Iterator[list[int]]:
        """Yield the distinct orders of a group's rows within depth."""
        # Which store a row is of counts only where depth cuts.
        quota = list(group.taken) if group.cut else [group.size]
        members: dict[tuple[int, object], list[int]] = {}
        for row, kind in zip(group.rows, group.classes, strict=True):
            store = STORES.index(self._rows[row].store) if group.cut else 0
            members.setdefault((store, kind), []).append(row)
        classes = [(store, rows) for (store, _), rows in members.items()]
        used = [0] * len(classes)
        placed: list[int] = []

        def extend() -> Iterator[list[int]]:
            if len(placed) == group.size:
                yield list(placed)
                return
            for number, (store, rows) in enumerate(classes):
                if used[number] < len(rows) and quota[store]:
                    placed.append(rows[used[number]])
                    used[number] += 1
                    quota[store] -= 1
                    yield from extend()
                    quota[store] += 1
                    used[number] -= 1
                    placed.pop()

        return extend()
