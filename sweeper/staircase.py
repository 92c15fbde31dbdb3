"""Step functions along an axis: from changes of place to outcomes per question to figures.

``exact`` finds where rows change places; this module adds those steps up. Sums are of integers, as
in ``evaluate``, so a figure on a stretch has the very bits that a replay there would give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sweeper.evaluate import Evaluator, join_limbs, split_limbs
from sweeper.metrics import Metric
from sweeper.pools import FloatArray
from sweeper.replay import Layout
from sweeper.runs import Judgments, Positions, lowest

__all__ = ["ABSENT", "Candidates", "Pieces", "Staircase", "Steps", "join_steps", "places_within"]

ABSENT = 1 << 24
"""Position of a row that is no candidate; above any limit."""

Candidates: TypeAlias = Callable[[NDArray[np.intp], FloatArray], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Changes along an axis: beyond ``at`` the position of ``target`` is larger by ``step``.

    ``other`` is the candidate slot of the row that it changes places with; -1 where several do, or
    where a floor takes a row away.
    """

    at: FloatArray
    target: NDArray[np.intp]
    step: NDArray[np.int64]
    other: NDArray[np.intp]

    def where(self, chosen: NDArray[np.bool_]) -> Steps:
        """Return some of the steps."""
        return Steps(self.at[chosen], self.target[chosen], self.step[chosen], self.other[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Each question's outcome as a step function: a piece is a stretch on which it is constant.

    Attributes
    ----------
    query : shape (n_pieces,)
        Index of the question; ascending.
    start : shape (n_pieces,)
        Where the piece begins on the axis, ascending per question; negative infinity for its first.
    first_position : shape (n_pieces,)
        Of any expected key; 0 is absent.
    values : shape (n_pieces, n_metrics)
        NaN where a metric is undefined.
    """

    query: NDArray[np.intp]
    start: FloatArray
    first_position: NDArray[np.integer]
    values: FloatArray

    def at(self, value: float, *, right_closed: bool) -> NDArray[np.intp]:
        """Return the number of each question's piece at a value of the axis."""
        begun = self.start < value if right_closed else self.start <= value
        queries, last = np.unique(self.query[begun][::-1], return_index=True)
        chosen: NDArray[np.intp] = np.flatnonzero(begun)[::-1][last]
        assert len(queries) == len(chosen)
        return chosen


class Staircase:
    """Adds steps up for one golden set and pool.

    Parameters
    ----------
    judgments
        The golden set as arrays.
    layout
        Gives the relevant rows.
    metrics
        What to compute.
    limit
        Rows returned; positions beyond it are absent.
    """

    def __init__(
        self, judgments: Judgments, layout: Layout, metrics: tuple[Metric, ...], limit: int
    ) -> None:
        self.judgments = judgments
        self.layout = layout
        self.metrics = metrics
        self.limit = limit
        self.evaluator = Evaluator(judgments, metrics, limit)

    def pieces(
        self,
        base: NDArray[np.int64],
        steps: Steps,
        candidates: Candidates,
        marks: tuple[NDArray[np.intp], FloatArray] | None = None,
    ) -> Pieces:
        """Turn positions at the lower end and their changes into outcomes per question.

        Parameters
        ----------
        base : shape (n_targets,)
            Positions before the first step.
        steps
            Changes; several may share a value.
        candidates
            Number of candidates of some questions in the pieces that begin at some values.
        marks
            Questions and values at which more than positions may change.
        """
        n_queries, of_target = self.judgments.n_queries, self.layout.target_query
        owner, at = of_target[steps.target], steps.at
        if marks is not None:
            owner, at = np.append(owner, marks[0]), np.append(at, marks[1])
        # A piece per distinct value and question, numbered by question, then by value.
        order = np.lexsort((at, owner))
        new = np.r_[True, (owner[order][1:] != owner[order][:-1]) | (np.diff(at[order]) != 0)]
        new = new[: len(order)]
        number = np.empty(len(order), np.intp)
        number[order] = np.cumsum(new) + owner[order]  # each question's first piece comes before
        query = np.sort(np.append(owner[order][new], np.arange(n_queries)))
        start = np.full(len(query), -np.inf)
        start[number[order][new]] = at[order][new]

        # Lay each target's positions out over its question's pieces and add the steps up.
        count = np.bincount(query, minlength=n_queries)
        first = np.cumsum(count) - count
        length = count[of_target]
        begin = np.cumsum(length) - length
        change = np.zeros(int(length.sum()), np.int64)
        np.add.at(
            change,
            begin[steps.target] + number[: len(steps.at)] - first[of_target[steps.target]],
            steps.step,
        )
        total = np.cumsum(change)
        offset = base - np.append(0, total)[begin]
        position = total + np.repeat(offset, length)
        position[position > self.limit] = 0
        target = np.repeat(np.arange(len(base)), length)
        piece = np.repeat(first[of_target], length) + places_within(length)

        returned = np.minimum(candidates(query, start), self.limit)

        # Keep the pieces in which anything differs from the piece before.
        differs = np.r_[True, returned[1:] != returned[:-1]][: len(query)]
        moved = np.flatnonzero(np.diff(position) != 0) + 1
        differs[piece[moved]] = True
        differs[first] = True
        kept = np.flatnonzero(differs)
        renumbered = np.cumsum(differs) - 1
        rows = np.flatnonzero(differs[piece])
        rows = rows[np.lexsort((target[rows], piece[rows]))]
        judgments = self.judgments.take(query[kept])
        key_start = np.cumsum(self.judgments.n_keys) - self.judgments.n_keys
        taken_start = np.cumsum(judgments.n_keys) - judgments.n_keys
        within = self.layout.target_key[target[rows]] - key_start[of_target[target[rows]]]
        positions = Positions(
            judgments,
            taken_start[renumbered[piece[rows]]] + within,
            position[rows][None].astype(np.int32),
            returned[kept][None],
        )
        values = np.full((len(kept), len(self.metrics)), np.nan)
        for place, metric in enumerate(self.metrics):
            values[metric.queries(judgments), place] = metric.values(positions)[0]
        return Pieces(query[kept], start[kept], _first_of_any(positions), values)

    def figures(self, pieces: Pieces) -> tuple[FloatArray, FloatArray]:
        """Add the pieces of all questions up: edges, and figures in the cells between them."""
        n_groups, n_metrics = len(self.evaluator.groups), len(self.metrics)
        known = np.nan_to_num(pieces.values)
        limbs = np.stack([limb.astype(np.int64) for limb in split_limbs(known)], axis=-1)
        change = limbs.copy()
        same = pieces.query[1:] == pieces.query[:-1]
        change[1:][same] -= limbs[:-1][same]
        edges, cell = np.unique(pieces.start, return_inverse=True)
        sums = np.zeros((len(edges), n_groups, n_metrics, limbs.shape[-1]), np.int64)
        np.add.at(sums, (cell, self.judgments.slice_of[pieces.query]), change)
        sums[:, -1] = sums[:, :-1].sum(axis=1)
        moved = np.flatnonzero(sums.any(axis=(1, 2, 3)) | np.isneginf(edges))
        sums = np.cumsum(sums[moved], axis=0)
        value = join_limbs(*np.moveaxis(sums, -1, 0))
        with np.errstate(invalid="ignore", divide="ignore"):
            figures: FloatArray = value / self.evaluator.n_queries
        return edges[moved][1:], figures


def join_steps(parts: Sequence[Steps]) -> Steps:
    """Return all steps together."""
    if not parts:
        empty = np.zeros(0, np.intp)
        return Steps(np.zeros(0), empty, empty.astype(np.int64), empty)
    return Steps(
        np.concatenate([part.at for part in parts]),
        np.concatenate([part.target for part in parts]),
        np.concatenate([part.step for part in parts]),
        np.concatenate([part.other for part in parts]),
    )


def places_within(length: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return 0, 1, ..., n - 1 for each length n, one after the other."""
    stop = np.cumsum(length)
    within: NDArray[np.intp] = np.arange(int(length.sum())) - np.repeat(stop - length, length)
    return within


def _first_of_any(positions: Positions) -> NDArray[np.integer]:
    """Return the first position of any expected key of each query of a single trial."""
    judgments = positions.judgments
    found = np.zeros(judgments.n_queries, np.int32)
    if len(judgments.answerable):
        found[judgments.answerable] = lowest(positions.first(), judgments.key_start)[0]
    return found
