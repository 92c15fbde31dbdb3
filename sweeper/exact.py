"""Exact trade-off curves: every figure as a step function of one knob, computed, not sampled.

With the other knobs fixed, two rows change places at a value that has a closed form: for the
half-life, ``log2(score) = log2(fused) - age * x`` is a straight line in ``x = 1 / half_life``; a
channel's weight enters every score linearly; a floor matters only where it passes a cosine;
``rrf_k`` is an integer. Only pairs with a relevant row matter, so a curve costs one crossing per
(relevant row, candidate) and one sort.

Inside a cell the curve equals the replay. Edges are open ends: within rounding of an edge the order
of floats is not that of real numbers. Two things cannot be promised and are said: rows whose scores
differ by rounding alone (``Curve.unsettled``), and half-lives so short that scores underflow
(``Curve.underflow``), where products decide.

References
----------
Och, ACL 2003 (exact line search over a piecewise constant error). Asudeh, Jagadish, Miklau,
Stoyanovich, PVLDB 12(3), 2018 (stable rankings).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.knobs import Knob, Settings, Value, knob
from sweeper.metrics import Metric
from sweeper.pools import FloatArray
from sweeper.ranking import decay_factor
from sweeper.replay import MARGIN, UNDERFLOW, Group, Layout, Replay, Scene
from sweeper.staircase import ABSENT, Pieces, Staircase, Steps, join_steps, places_within

__all__ = ["Curve", "exact_curve"]

_ALL_ZERO = 1100.0
"""Half-lives of age after which every score is 0: 2**-1075 rounds to 0, fused scores are small."""

_LIGHTEST = 1e-9
"""Lighter weights (and heavier ones than its inverse) drown in the rounding of the other shares."""

_BLOCK = 1 << 16

_HIGHEST_K = 1000
"""``rrf_k`` is enumerated up to here unless the caller gives a range."""


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
    pieces: Pieces
    steps: Steps

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
        low, high = self.bounds(cell)
        if math.isinf(high):
            return low * 2 if low > 0 else 1.0
        if not self.knob.log_scale:
            return (low + high) / 2
        return math.sqrt(low * high) if low > 0 else high / 2

    def point(self, value: Value) -> FloatArray | None:
        """Return the figures at a value that stands apart from the axis, if it is one."""
        return next((figures for name, figures in self.points if name == value), None)

    def at(self, value: Value) -> FloatArray:
        """Return the figures at any value of the knob, shape (n_groups, n_metrics)."""
        apart = self.point(value)
        if apart is not None:
            return apart
        assert value is not None
        figures: FloatArray = self.value[self.cell(value)]
        return figures


def exact_curve(
    replay: Replay,
    settings: Settings,
    name: str,
    metrics: Sequence[Metric],
    *,
    highest_k: int = _HIGHEST_K,
) -> Curve:
    """Compute every figure along one knob, the other knobs as in ``settings``.

    Parameters
    ----------
    replay
        Pool and golden set.
    settings
        The other knobs.
    name
        ``recency_half_life_days``, ``min_similarity``, ``rrf_k`` or ``weights.<channel>``.
    metrics
        What to compute.
    highest_k
        ``rrf_k`` is enumerated from 1 to here.

    Raises
    ------
    ValueError
        If the knob has no exact curve (``limit`` and ``depth``), or the channel is unknown.
    """
    layout = replay.layout(settings.effective_depth)
    builder = _Builder(replay, layout, settings, tuple(metrics))
    if name == "recency_half_life_days":
        return builder.half_life()
    if name == "min_similarity":
        return builder.floor()
    if name == "rrf_k":
        return builder.constant(highest_k)
    channel = name.removeprefix("weights.")
    if channel != name and channel in layout.channels:
        return builder.weight(channel)
    raise ValueError(f"{name} has no exact curve")


class _Builder:
    """Makes the curves of one pool, golden set and base settings."""

    def __init__(
        self, replay: Replay, layout: Layout, settings: Settings, metrics: tuple[Metric, ...]
    ) -> None:
        self.replay = replay
        self.layout = layout
        self.settings = settings
        self.metrics = metrics
        self.judgments = replay.judgments
        self.staircase = Staircase(self.judgments, layout, metrics, settings.limit)
        self.group = Group(layout, [settings], [0])

    def half_life(self) -> Curve:
        """Return the curve over (0, inf), and off as its own point."""
        base, steps, unsettled = self._along_x()
        # Upwards in half-life is downwards in x, so begin where all rows have changed places.
        np.add.at(base, steps.target, steps.step)
        steps = steps.where(steps.at > 0)
        steps = Steps(1.0 / steps.at, steps.target, -steps.step, steps.other)
        ages = self.layout.ages[1:]
        underflow = None
        if len(ages):
            underflow = (float(ages[0]) / _ALL_ZERO, float(ages[-1]) / UNDERFLOW)
            early = steps.where(steps.at <= underflow[1])
            np.add.at(base, early.target, early.step)
            steps = steps.where(steps.at > underflow[1])
        pieces = self.staircase.pieces(base, steps, self._candidates)
        edges, value = self.staircase.figures(pieces)
        if underflow is not None:
            inside = [underflow[0] / 2, math.sqrt(underflow[0] * underflow[1])]
            edges = np.concatenate([underflow, edges])
            value = np.concatenate([self._replayed("recency_half_life_days", inside), value])
        return self._curve(
            "recency_half_life_days",
            edges=edges,
            value=value,
            ends=(0.0, math.inf),
            point=0.0,
            pieces=pieces,
            steps=steps,
            underflow=underflow,
            unsettled=unsettled,
        )

    def _along_x(self) -> tuple[NDArray[np.int64], Steps, tuple[int, ...]]:
        """Return positions just above x = 0, and how they change as x grows."""
        base = np.full(self.layout.n_targets, ABSENT, np.int64)
        parts: list[Steps] = []
        unsettled: set[int] = set()
        for target in self._blocks():
            scene = self._scene(self.group, target)
            cross = scene.crossings()
            there = scene.present[scene.slot, scene.column]
            base[target] = np.where(there, cross.ahead.sum(axis=0) + 1, ABSENT)
            parts.append(
                Steps(cross.x, target[cross.column], cross.step.astype(np.int64), cross.slot)
            )
            # Rows apart by rounding alone: their ages part them at once, unless those are equal.
            slot, column = cross.close
            ages = self.layout.ages[scene.age_number]
            older = ages[slot, column] - ages[scene.slot[column], column]
            settled = cross.ahead[slot, column] == (older < 0)
            moved = (older != 0) & ~settled
            step = np.where(cross.ahead[slot, column], -1, 1)[moved]
            at = np.zeros(int(moved.sum()))
            parts.append(Steps(at, target[column[moved]], step.astype(np.int64), slot[moved]))
            bound = (older == 0) & (ages[slot, column] > 0)
            unsettled |= set(self.layout.target_query[target[column[bound]]].tolist())
        steps = join_steps(parts)
        at_once = steps.where(steps.at == 0)
        np.add.at(base, at_once.target, at_once.step)
        return base, steps.where(steps.at > 0), tuple(sorted(unsettled))

    def floor(self) -> Curve:
        """Return the curve over [-1, 1], and none as its own point."""
        layout = self.layout
        values = layout.cosines if self.group.floored else layout.cosines[:, :0]
        # A floor above a cosine leaves the rows before the first one of that cosine.
        first = np.isfinite(values)
        first[:, 1:] &= values[:, 1:] < values[:, :-1]
        owner, left = np.nonzero(first)
        at = values[owner, left]
        everything = layout.survivors(None)
        base = self._positions(np.arange(layout.n_targets), everything[layout.target_query])
        steps = self._floor_steps(owner, at, left, base)

        def candidates(query: NDArray[np.intp], start: FloatArray) -> NDArray[np.int64]:
            return self.group.candidates(query, (values[query] > start[:, None]).sum(axis=1))

        pieces = self.staircase.pieces(base, steps, candidates, (owner, at))
        edges, value = self.staircase.figures(pieces)
        below = int((edges < -1).sum())
        edges = edges[below : int((edges < 1).sum())]
        return self._curve(
            "min_similarity",
            edges=edges,
            value=value[below : below + len(edges) + 1],
            ends=(-1.0, 1.0),
            point=None,
            pieces=pieces,
            steps=steps,
            right_closed=True,
        )

    def _floor_steps(
        self,
        owner: NDArray[np.intp],
        at: FloatArray,
        left: NDArray[np.intp],
        base: NDArray[np.int64],
    ) -> Steps:
        """Return how each target's position changes where the floor passes a cosine."""
        start = np.searchsorted(self.layout.target_query, np.arange(self.judgments.n_queries + 1))
        count = (start[1:] - start[:-1])[owner]
        target = np.repeat(start[owner], count) + places_within(count)
        position = self._positions(target, np.repeat(left, count).astype(np.int32))
        at = np.repeat(at, count)
        order = np.lexsort((at, target))
        target, at, position = target[order], at[order], position[order]
        before = np.empty_like(position)
        before[1:] = position[:-1]
        starts = np.flatnonzero(np.r_[True, target[1:] != target[:-1]][: len(target)])
        before[starts] = base[target[starts]]
        steps = Steps(at, target, position - before, np.full(len(at), -1, np.intp))
        return steps.where(steps.step != 0)

    def constant(self, highest: int) -> Curve:
        """Return the curve over rrf_k = 1, 2, ..., highest; an edge lies between two integers."""
        settings = [self.settings.with_values({"rrf_k": k}) for k in range(1, max(1, highest) + 1)]
        positions = self.replay.positions(settings)
        base = np.where(positions.position[0] > 0, positions.position[0], ABSENT).astype(np.int64)
        every = np.where(positions.position > 0, positions.position, ABSENT).astype(np.int64)
        place, target = np.nonzero(every[1:] != every[:-1])
        steps = Steps(
            (place + 1.5).astype(np.float64),
            target,
            (every[1:] - every[:-1])[place, target],
            np.full(len(place), -1),
        )
        pieces = self.staircase.pieces(base, steps, self._candidates)
        edges, value = self.staircase.figures(pieces)
        return self._curve(
            "rrf_k",
            edges=edges,
            value=value,
            ends=(1.0, float(len(settings))),
            pieces=pieces,
            steps=steps,
        )

    def weight(self, channel: str) -> Curve:
        """Return the curve over a channel's weight from 1e-9 to 1e9, and 0 as its own point."""
        name = f"weights.{channel}"
        without = self.settings.with_values({name: 0.0})
        alone = self.settings.with_values(
            {f"weights.{other}": float(other == channel) for other in self.layout.channels}
        )
        ages = self.layout.ages.tolist()
        half_life = self.settings.recency_half_life_days
        decay = np.array([decay_factor(age, half_life) for age in ages])
        base = np.full(self.layout.n_targets, ABSENT, np.int64)
        parts: list[Steps] = []
        unsettled: set[int] = set()
        fixed_group = Group(self.layout, [without], [0])
        moving_group = Group(self.layout, [alone], [0])
        both = Group(self.layout, [self.settings.with_values({name: 1.0})], [0])
        for target in self._blocks():
            whole = self._scene(both, target)
            factor = decay[whole.age_number]
            fixed = self._scene(fixed_group, target).fused * factor
            slope = self._scene(moving_group, target).fused * factor
            column = np.arange(len(target))
            own_fixed, own_slope = fixed[whole.slot, column], slope[whole.slot, column]
            first = whole.key < whole.key[whole.slot, column]
            more, steeper = fixed - own_fixed, slope - own_slope
            start = (more > 0) | ((more == 0) & ((steeper > 0) | ((steeper == 0) & first)))
            end = (steeper > 0) | ((steeper == 0) & ((more > 0) | ((more == 0) & first)))
            there = whole.present[whole.slot, column]
            live = whole.present & there
            base[target] = np.where(there, (start & live).sum(axis=0) + 1, ABSENT)
            slot, which = np.nonzero((start != end) & live)
            at = -more[slot, which] / steeper[slot, which]
            step = np.where(start[slot, which], -1, 1)
            parts.append(Steps(at, target[which], step.astype(np.int64), slot))
            tiny = (np.abs(more) <= MARGIN * own_fixed) & (np.abs(steeper) <= MARGIN * own_slope)
            bound = tiny & live & ((more != 0) | (steeper != 0))
            unsettled |= set(self.layout.target_query[target[np.nonzero(bound)[1]]].tolist())
        steps = join_steps(parts)
        early = steps.where(steps.at <= _LIGHTEST)
        np.add.at(base, early.target, early.step)
        steps = steps.where((steps.at > _LIGHTEST) & (steps.at < 1 / _LIGHTEST))
        left = self._survivors(both)
        pieces = self.staircase.pieces(
            base, steps, lambda query, start: both.candidates(query, left[query])
        )
        edges, value = self.staircase.figures(pieces)
        return self._curve(
            name,
            edges=edges,
            value=value,
            ends=(_LIGHTEST, 1 / _LIGHTEST),
            point=0.0,
            pieces=pieces,
            steps=steps,
            unsettled=tuple(sorted(unsettled)),
        )

    def _blocks(self) -> Iterator[NDArray[np.intp]]:
        """Yield the targets in blocks whose scenes stay in cache."""
        size = max(1, _BLOCK // max(1, self.layout.n_slots))
        for start in range(0, self.layout.n_targets, size):
            yield np.arange(start, min(start + size, self.layout.n_targets))

    def _scene(self, group: Group, target: NDArray[np.intp]) -> Scene:
        return Scene.build(group, target, self._survivors(group)[self.layout.target_query[target]])

    def _survivors(self, group: Group) -> NDArray[np.int32]:
        return self.layout.survivors(self.settings.min_similarity if group.floored else None)

    def _candidates(self, query: NDArray[np.intp], start: FloatArray) -> NDArray[np.int64]:
        return self.group.candidates(query, self._survivors(self.group)[query])

    def _positions(
        self, target: NDArray[np.intp], survivors: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Return uncut positions at the base settings, given what a floor leaves."""
        half_life = self.settings.recency_half_life_days
        [found] = self.group.columns(target, survivors.astype(np.int32), [half_life])
        return np.where(found > 0, found, ABSENT).astype(np.int64)

    def _replayed(self, name: str, values: Sequence[Value]) -> FloatArray:
        chosen = [self.settings.with_values({name: value}) for value in values]
        return self.replay.figures(chosen, self.metrics).value

    def _curve(
        self,
        name: str,
        *,
        edges: FloatArray,
        value: FloatArray,
        ends: tuple[float, float],
        pieces: Pieces,
        steps: Steps,
        point: Value = math.nan,
        right_closed: bool = False,
        underflow: tuple[float, float] | None = None,
        unsettled: tuple[int, ...] = (),
    ) -> Curve:
        apart = () if point is not None and math.isnan(point) else (point,)
        return Curve(
            knob=knob(name),
            settings=self.settings,
            groups=self.staircase.evaluator.groups,
            metrics=self.metrics,
            low=ends[0],
            high=ends[1],
            edges=edges,
            value=value,
            right_closed=right_closed,
            points=tuple((p, self._replayed(name, [p])[0]) for p in apart),
            underflow=underflow,
            unsettled=unsettled,
            pieces=pieces,
            steps=steps,
        )
