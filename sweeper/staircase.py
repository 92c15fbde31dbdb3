"""Step functions along an axis: from changes of place to outcomes per question to figures.

``exact`` finds where rows change places; this module adds those steps up. Sums are of integers, as
in ``evaluate``, so a figure on a stretch has the very bits that a replay there would give.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sweeper.evaluate import exact_sums, join_limbs, split_limbs
from sweeper.golden import OVERALL
from sweeper.knobs import Knob, Value
from sweeper.layout import Layout
from sweeper.metrics import Metric
from sweeper.pools import FloatArray
from sweeper.runs import Judgments, Positions, lowest
from sweeper.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ABSENT",
    "Candidates",
    "Curve",
    "Pieces",
    "Staircase",
    "Steps",
    "join_steps",
    "places_within",
]

ABSENT = 1 << 40
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


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Every figure along one knob, the others fixed.

    Attributes
    ----------
    knob
        What varies.
    settings
        Gives the other knobs.
    groups, metrics
        As in ``Figures``.
    low, high
        Ends of the axis.
    edges : shape (n_edges,)
        Ascending values at which some figure changes.
    value : shape (n_edges + 1, n_groups, n_metrics)
        Figures of each cell; cell ``i`` ends at ``edges[i]``.
    right_closed
        Whether a cell holds its upper edge (a floor equal to a cosine keeps the row).
    points
        Values that stand apart from the axis (off, none, weight 0), each with its figures of shape
        (n_groups, n_metrics).
    underflow
        Half-lives between which scores underflow; the figures of that cell are those at its middle.
    unsettled
        Questions in which two rows' scores differ by rounding alone.
    doubt : shape (n, 2)
        Stretches of the axis, apart and ascending, ends included, in which the rounding of scores
        may decide: around every value at which two rows tie, and wherever cells promise nothing.
    replayed
        Gives the figures at one value by a replay.
    pieces, steps
        The same per question and per relevant row, from the upper end of ``underflow`` on.
    """

    knob: Knob
    settings: Settings
    groups: tuple[str, ...]
    metrics: tuple[Metric, ...]
    low: float
    high: float
    edges: FloatArray
    value: FloatArray
    right_closed: bool
    points: tuple[tuple[Value, FloatArray], ...]
    underflow: tuple[float, float] | None
    unsettled: tuple[int, ...]
    doubt: FloatArray
    replayed: Callable[[Value], FloatArray] = field(repr=False)
    pieces: Pieces
    steps: Steps

    def _repr_html_(self) -> str:
        from sweeper.reprs import curve_html

        return curve_html(self)

    def cell(self, value: float) -> int:
        """Return the number of the cell that holds a value of the axis."""
        if self.right_closed:
            return int(np.searchsorted(self.edges, value, side="left"))
        return int(np.searchsorted(self.edges, value, side="right"))

    def bounds(self, cell: int) -> tuple[float, float]:
        """Return the ends of a cell."""
        low = self.low if cell == 0 else float(self.edges[cell - 1])
        high = self.high if cell == len(self.edges) else float(self.edges[cell])
        return low, high

    def middle(self, cell: int) -> float:
        """Return a value well inside a cell: the geometric middle on a logarithmic axis."""
        return self.middle_of(*self.bounds(cell))

    def middle_of(self, low: float, high: float) -> float:
        """Return a value well inside a stretch of the axis."""
        if math.isinf(high):
            return low * 2 if low > 0 else 1.0
        if not self.knob.log_scale:
            return (low + high) / 2
        return math.sqrt(low) * math.sqrt(high) if low > 0 else high / 2

    def point(self, value: Value) -> FloatArray | None:
        """Return the figures at a value that stands apart from the axis, if it is one."""
        return next((figures for name, figures in self.points if name == value), None)

    def at(self, value: Value) -> FloatArray:
        """Return the figures at any value of the knob, shape (n_groups, n_metrics).

        They are those of a replay of that value, bit for bit: read off the cells where real
        numbers decide, and replayed where rounding may, or beyond the ends of the axis.

        Raises
        ------
        ValueError
            If the knob has no such value.
        """
        apart = self.point(value)
        if apart is not None:
            return apart
        if self.knob.integer:
            value = self.knob.parse(value)
        assert isinstance(value, int | float)  # curves have numbers for an axis
        if not self.low <= value <= self.high or self.is_doubtful(value):
            return self.replayed(value)
        figures: FloatArray = self.value[self.cell(value)]
        return figures

    def is_doubtful(self, value: float) -> bool:
        """Return whether rounding may decide at a value of the axis."""
        number = int(np.searchsorted(self.doubt[:, 0], value, side="right")) - 1
        return number >= 0 and bool(value <= self.doubt[number, 1])

    def to_frame(self) -> pd.DataFrame:
        """Return every cell of every figure, in long form.

        Returns
        -------
        DataFrame
            One row per cell, slice and metric, along the axis: ``low``, ``high`` (ends of the cell;
            both NaN for a value that stands apart), ``slice``, ``metric``, ``value`` (NaN where the
            metric is undefined), and ``exact`` (whether the figure holds in the whole cell).
        """
        import pandas as pd

        n_cells, n_points = len(self.value), len(self.points)
        ends = [(math.nan, math.nan)] * n_points + [self.bounds(cell) for cell in range(n_cells)]
        exact = [self.underflow is None or low != self.underflow[0] for low, _ in ends]
        names = [(group, str(metric)) for group in self.groups for metric in self.metrics]
        values = np.concatenate([*(figures[None] for _, figures in self.points), self.value])
        return pd.DataFrame(
            {
                "low": np.repeat([low for low, _ in ends], len(names)),
                "high": np.repeat([high for _, high in ends], len(names)),
                "slice": [group for group, _ in names] * len(ends),
                "metric": [metric for _, metric in names] * len(ends),
                "value": values.ravel(),
                "exact": np.repeat(exact, len(names)),
            }
        )


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
    settings
        Limit and budgets: positions beyond them are absent.

    Attributes
    ----------
    groups
        Slice names, then ``overall``.
    n_queries : shape (n_groups, n_metrics)
        Queries that a figure is the mean of.
    """

    def __init__(
        self,
        judgments: Judgments,
        layout: Layout,
        metrics: tuple[Metric, ...],
        settings: Settings,
    ) -> None:
        self.judgments = judgments
        self.layout = layout
        self.metrics = metrics
        limits = layout.limits([settings])[0]
        self.limits = np.broadcast_to(limits, (judgments.n_queries,))
        self.groups = (*judgments.slices, OVERALL)
        self._member = np.zeros((judgments.n_queries, len(self.groups)))
        self._member[np.arange(judgments.n_queries), judgments.slice_of] = 1.0
        self._member[:, -1] = 1.0
        self.n_queries = np.stack(
            [self._member[metric.queries(judgments)].sum(axis=0) for metric in metrics], axis=1
        )

    def replayed(self, positions: Positions) -> FloatArray:
        """Return the figures of replayed trials, shape (n_trials, n_groups, n_metrics)."""
        sums = [
            exact_sums(metric.values(positions), self._member[metric.queries(self.judgments)])
            for metric in self.metrics
        ]
        with np.errstate(invalid="ignore"):
            figures: FloatArray = np.stack(sums, axis=-1) / self.n_queries
        return figures

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
        position[position > np.repeat(self.limits[of_target], length)] = 0
        target = np.repeat(np.arange(len(base)), length)
        piece = np.repeat(first[of_target], length) + places_within(length)

        returned = np.minimum(candidates(query, start), self.limits[query])

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
        n_groups, n_metrics = len(self.groups), len(self.metrics)
        limbs = np.stack(list(split_limbs(np.nan_to_num(pieces.values))))
        change = limbs.copy()
        same = pieces.query[1:] == pieces.query[:-1]
        change[:, 1:][:, same] -= limbs[:, :-1][:, same]
        edges, cell = np.unique(pieces.start, return_inverse=True)
        place = cell * n_groups + self.judgments.slice_of[pieces.query]
        size = len(edges) * n_groups
        # Integers below 2**53: doubles add them exactly.
        sums = np.empty((len(limbs), len(edges), n_groups, n_metrics))
        for limb, metric in np.ndindex(len(limbs), n_metrics):
            added = np.bincount(place, weights=change[limb, :, metric], minlength=size)
            sums[limb, :, :, metric] = added.reshape(-1, n_groups)
        sums[:, :, -1] = sums[:, :, :-1].sum(axis=2)
        moved = np.flatnonzero(sums.any(axis=(0, 2, 3)) | np.isneginf(edges))
        value = join_limbs(*np.cumsum(sums[:, moved], axis=1).astype(np.int64))
        with np.errstate(invalid="ignore", divide="ignore"):
            figures: FloatArray = value / self.n_queries
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
