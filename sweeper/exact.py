"""Exact trade-off curves: every figure as a step function of one knob, computed, not sampled.

With the other knobs fixed, two rows change places at a value that has a closed form: for the
half-life, ``log2(score) = log2(fused) - age * x`` is a straight line in ``x = 1 / half_life``; a
channel's weight enters every score linearly; a floor matters only where it passes a cosine;
``rrf_k`` is an integer. Only pairs with a relevant row matter, so a curve costs one crossing per
(relevant row, candidate) and one sort.

Edges are open ends: within rounding of an edge the order of floats is not that of real numbers.
Inside a cell the curve equals the replay. What cannot be promised is said: pairs of rows whose
scores differ by rounding alone (``Curve.unsettled``), and half-lives so short that scores underflow
(``Curve.underflow``).

References
----------
Och, ACL 2003 (exact line search over a piecewise constant error). Asudeh, Jagadish, Miklau,
Stoyanovich, PVLDB 12(3), 2018 (stable rankings).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.evaluate import Evaluator, Figures, join_limbs, split_limbs
from sweeper.knobs import Knob, Settings, Value, knob
from sweeper.metrics import Metric
from sweeper.pools import FloatArray
from sweeper.ranking import decay_factor
from sweeper.replay import MARGIN, UNDERFLOW, Group, Layout, Replay, Scene
from sweeper.runs import Judgments, Positions

__all__ = ["Curve", "Flip", "curve"]

_ABSENT = 1 << 24
"""Stands for the position of a row that is no candidate; above any cut."""

_ZERO = 1100.0
"""Beyond this many half-lives every score is 0: 2**-1075 rounds to 0, and fused scores are below 1."""


@dataclass(frozen=True, slots=True)
class Flip:
    """One change of a question's outcome along a knob.

    Attributes
    ----------
    at
        Value of the knob.
    query
        Index of the question.
    item
        The relevant row that moves.
    other
        The row that it changes places with; ``None`` where a floor takes or gives a row.
    forward
        Whether the relevant row moves towards the top as the knob's value grows.
    """

    at: float
    query: int
    item: str
    other: str | None
    forward: bool


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Changes along an axis: at ``at`` the position of ``target`` grows by ``step``.

    ``other`` is the candidate slot of the row that it changes places with, -1 where there is none.
    """

    at: FloatArray
    target: NDArray[np.intp]
    step: NDArray[np.int64]
    other: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Each question's outcome as a step function: one piece per stretch on which it is constant.

    Attributes
    ----------
    query : shape (n_pieces,)
        Ascending.
    start : shape (n_pieces,)
        Where the piece begins on the axis; negative infinity for a question's first piece.
    values : shape (n_metrics, n_pieces)
        NaN where a metric is undefined.
    """

    query: NDArray[np.intp]
    start: FloatArray
    values: FloatArray


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
    edges : shape (n_edges,)
        Ascending values of the knob at which some figure changes; open ends.
    value : shape (n_edges + 1, n_groups, n_metrics)
        Figures in each cell; cell ``i`` ends at ``edges[i]``.
    points
        Values that stand apart from the axis: off, none, or weight 0; and the figures there.
    low, high
        Ends of the axis.
    right_closed
        Whether a cell includes its upper edge (a floor equal to a cosine keeps the row).
    underflow
        Half-lives between which scores underflow, so that products decide and nothing is promised.
    unsettled
        Questions in which two rows' scores differ by rounding alone.
    pieces
        The same per question.
    """

    knob: Knob
    settings: Settings
    groups: tuple[str, ...]
    metrics: tuple[Metric, ...]
    edges: FloatArray
    value: FloatArray
    points: tuple[tuple[Value, FloatArray], ...]
    low: float
    high: float
    right_closed: bool
    underflow: tuple[float, float] | None
    unsettled: tuple[int, ...]
    pieces: Pieces
    steps: Steps

    def cell(self, value: float) -> int:
        """Return the number of the cell that holds a value of the axis."""
        return int(np.searchsorted(self.edges, value, side="left" if self.right_closed else "right"))

    def bounds(self, cell: int) -> tuple[float, float]:
        """Return the ends of a cell."""
        low = self.low if cell == 0 else float(self.edges[cell - 1])
        high = self.high if cell == len(self.edges) else float(self.edges[cell])
        return low, high
