"""Exact trade-off curves: every figure as a step function of one knob, computed, not sampled.

With the other knobs fixed, two rows change places at a value that has a closed form: for the
half-life, ``log2(score) = log2(fused) - age * x`` is a straight line in ``x = 1 / half_life``; a
channel's weight enters every score linearly; a floor matters only where it passes a cosine;
``rrf_k`` is an integer. Only pairs with a relevant row matter, so a curve costs one crossing per
(relevant row, candidate) and one sort.

Inside a cell the curve equals the replay. Edges are open ends: within rounding of an edge the order
of floats is not that of real numbers. Two things cannot be promised of a cell and are said: rows
whose scores differ by rounding alone (``Curve.unsettled``), and half-lives so short that scores
underflow (``Curve.underflow``), where products decide. All such values lie in ``Curve.doubt``, by a
bound on the rounding of scores, and there ``Curve.at`` replays: it is exact at any float.

References
----------
Och, ACL 2003 (exact line search over a piecewise constant error). Asudeh, Jagadish, Miklau,
Stoyanovich, PVLDB 12(3), 2018 (stable rankings).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sweeper.counting import MARGIN, UNDERFLOW, Crossings, Group, Scene
from sweeper.knobs import TRIPLES, Value, knob
from sweeper.layout import Layout
from sweeper.metrics import Metric
from sweeper.pools import FloatArray
from sweeper.replay import Replay
from sweeper.rounding import LIGHTEST, NO_DOUBT, doubt_along_weight, doubt_along_x, stretches
from sweeper.settings import Settings
from sweeper.staircase import (
    ABSENT,
    Curve,
    Pieces,
    Staircase,
    Steps,
    join_steps,
    places_within,
)

__all__ = ["exact_curve", "extreme_weight", "just_above_zero"]

_ALL_ZERO = 1100.0
"""Half-lives of age after which every score is 0: 2**-1075 rounds to 0, fused scores are small."""

_WEIGHTS = (1e-100, 1e100)
"""Products of weights beyond these leave the range of doubles too soon."""

_TINY = 5e-324

_BLOCK = 1 << 16

_HIGHEST_K = 1000
"""``rrf_k`` is enumerated up to here unless the caller gives a range."""


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
        ``recency_half_life_days``, ``min_similarity``, ``rrf_k``, ``weights.<channel>`` or
        ``routing.<class>.weights.<channel>``.
    metrics
        What to compute.
    highest_k
        ``rrf_k`` is enumerated from 1 to here.

    Raises
    ------
    ValueError
        If the knob has no exact curve (``limit``, ``depth``, budgets, the prior), the channel is
        unknown, a weight is outside [1e-100, 1e100] and not 0, or a channel's weight is varied
        while that of triples follows it.
    """
    replay = replay.of(settings)
    layout = replay.layout(settings.effective_depth)
    extreme = extreme_weight(layout, settings)
    if extreme is not None:
        low, high = _WEIGHTS
        raise ValueError(f"{extreme}: exact curves need weights of 0 or from {low:g} to {high:g}")
    builder = _Builder(replay, layout, settings, tuple(metrics))
    if name == "recency_half_life_days":
        return builder.half_life()
    if name == "min_similarity":
        return builder.floor()
    if name == "rrf_k":
        return builder.constant(highest_k)
    _, of_weights, channel = name.rpartition("weights.")
    if of_weights and channel in layout.channels:
        if channel != TRIPLES and TRIPLES in layout.channels and _follows(settings, layout):
            raise ValueError(
                f"{name} has no exact curve while the weight of triples is safe, because that "
                "weight follows it. Give triples a number"
            )
        return builder.weight(name)
    raise ValueError(f"{name} has no exact curve")


def extreme_weight(layout: Layout, settings: Settings) -> str | None:
    """Return the weight that is too small or too large for exact curves, if there is one."""
    low, high = _WEIGHTS
    for channel, weights in zip(layout.channels, layout.weights(settings), strict=True):
        given = weights[weights > 0]
        if ((given < low) | (given > high)).any():
            return f"weights.{channel}"
    return None


def _follows(settings: Settings, layout: Layout) -> bool:
    """Return whether some class's weight of triples hangs on other weights."""
    classes = set(layout.query_classes)
    return any(TRIPLES not in settings.for_class(name).weights for name in classes)


def just_above_zero(scene: Scene, cross: Crossings) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return which rows stand before each target as soon as anything decays.

    Rows whose scores differ by rounding alone are parted by their ages at once. Where these are
    equal nothing is certain: such columns come second. (``crossings`` leaves these pairs out; those
    of equal scores it reports at x = 0.)
    """
    slot, column = cross.close
    ages = scene.layout.ages[scene.age_number]
    own = ages[scene.slot[column], column]
    older = ages[slot, column] - own
    ahead = cross.ahead.copy()
    ahead[slot, column] = np.where(older == 0, ahead[slot, column], older < 0)
    doubtful: NDArray[np.intp] = column[(older == 0) & (own > 0)]
    return ahead, doubtful


def _absent_last(position: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return positions in which an absent row, 0, stands behind all others."""
    wide = position.astype(np.int64)  # first: the number does not fit a short integer
    return np.where(wide > 0, wide, ABSENT)


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
        self.staircase = Staircase(self.judgments, layout, metrics, settings)
        self.group = Group(layout, [settings], [0])

    def half_life(self) -> Curve:
        """Return the curve over (0, inf), and off as its own point."""
        base, steps, unsettled, spans = self._along_x()
        # Upwards in half-life is downwards in x, so begin where all rows have changed places.
        np.add.at(base, steps.target, steps.step)
        with np.errstate(over="ignore", divide="ignore"):  # half-lives beyond all numbers: never
            steps = Steps(1.0 / steps.at, steps.target, -steps.step, steps.other)
            # Where x is all but 0, and where it overflows, the half-life has no bound.
            doubt = 1.0 / np.where(spans > 0, spans, 0.0)[:, ::-1]
        underflow = self._underflow()
        typed = [0.0]
        if underflow is not None:
            doubt = np.concatenate([doubt, [underflow]])
            early = steps.where(steps.at <= underflow[1])
            np.add.at(base, early.target, early.step)
            steps = steps.where(steps.at > underflow[1])
            shortest, longest = underflow
            typed += [
                max(shortest / 2, _TINY),
                max(math.sqrt(shortest) * math.sqrt(longest), _TINY),
            ]
        pieces = self.staircase.pieces(base, steps, self._candidates)
        edges, value = self.staircase.figures(pieces)
        off, *below = self._replayed("recency_half_life_days", typed)
        if underflow is not None:
            edges = np.concatenate([underflow, edges])
            value = np.concatenate([below, value])
        return self._curve(
            "recency_half_life_days",
            edges=edges,
            value=value,
            ends=(0.0, math.inf),
            points=((0.0, off),),
            pieces=pieces,
            steps=steps,
            underflow=underflow,
            unsettled=unsettled,
            doubt=doubt,
        )

    def _along_x(self) -> tuple[NDArray[np.int64], Steps, tuple[int, ...], FloatArray]:
        """Return positions just above x = 0, how they change as x grows, and where rounding may."""
        base = np.full(self.layout.n_targets, ABSENT, np.int64)
        parts: list[Steps] = []
        spans: list[FloatArray] = [NO_DOUBT]
        unsettled: set[int] = set()
        for target in self._blocks():
            scene = self._scene(self.group, target)
            cross = scene.crossings()
            ahead, doubtful = just_above_zero(scene, cross)
            there = scene.present[scene.slot, scene.column]
            base[target] = np.where(there, ahead.sum(axis=0) + 1, ABSENT)
            parts.append(
                Steps(cross.x, target[cross.column], cross.step.astype(np.int64), cross.slot)
            )
            spans += doubt_along_x(scene, cross)
            unsettled |= set(self.layout.target_query[target[doubtful]].tolist())
        steps = join_steps(parts)
        at_once = steps.where(steps.at == 0)
        np.add.at(base, at_once.target, at_once.step)
        doubt = np.concatenate(spans)
        return base, steps.where(steps.at > 0), tuple(sorted(unsettled)), doubt

    def _underflow(self) -> tuple[float, float] | None:
        """Return the half-lives between which products may underflow where lines do not.

        A pair of rows is beyond doubt unless both have underflowed, so only the ages of relevant
        rows count.
        """
        layout = self.layout
        held = np.zeros(layout.age_number.shape, bool)
        longest = 0
        for number, weight in self.group.active:
            ranks = np.where(np.asarray(weight) > 0, layout.ranks[number], 0)
            held |= ranks > 0
            longest = max(longest, int(ranks.max(initial=0)))
        slot, query = layout.target_slot, layout.target_query
        own = layout.age_number[slot, query][held[slot, query]]
        oldest = float(layout.ages[own].max(initial=0.0))
        if oldest == 0:
            return None
        decaying = np.unique(layout.age_number[held])
        youngest = float(layout.ages[decaying[decaying > 0]].min())
        weights = [np.atleast_1d(weight) for _, weight in self.group.active] or [np.ones(1)]
        least = min(float(weight[weight > 0].min()) for weight in weights)
        most = sum(float(weight.max()) for weight in weights)
        smallest = least / (self.group.rrf_k + longest)
        spread = most / (self.group.rrf_k + 1) / smallest
        if self.group.prior is not None:
            lowest, highest = float(self.group.prior.min()), float(self.group.prior.max())
            smallest *= min(lowest, 1.0)
            spread *= highest / lowest
        room = min(UNDERFLOW, 1000 + math.log2(smallest), 1000 - math.log2(spread))
        return youngest / _ALL_ZERO, oldest / room

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
            points=((None, self._replayed("min_similarity", [None])[0]),),
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
        position = self.replay.positions(settings).position
        base = _absent_last(position[0])
        place, target = np.nonzero(position[1:] != position[:-1])
        before, after = (
            _absent_last(rows[place, target]) for rows in (position[:-1], position[1:])
        )
        at = (place + 1.5).astype(np.float64)
        steps = Steps(at, target, after - before, np.full(len(place), -1, np.intp))
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

    def weight(self, name: str) -> Curve:
        """Return the curve over a channel's weight from 1e-9 to 1e9, and 0 as its own point."""
        without = self.settings.with_values({name: 0.0})
        routed = [other for other in self.settings.routing if ".weights." in other]
        nothing = dict.fromkeys([*(f"weights.{c}" for c in self.layout.channels), *routed], 0.0)
        alone = self.settings.with_values({**nothing, name: 1.0})
        [decay] = self.layout.factors([self.settings.recency_half_life_days])
        base = np.full(self.layout.n_targets, ABSENT, np.int64)
        parts: list[Steps] = []
        unsettled: set[int] = set()
        spans: list[FloatArray] = [NO_DOUBT]
        fixed_group = Group(self.layout, [without], [0])
        moving_group = Group(self.layout, [alone], [0])
        both = Group(self.layout, [self.settings.with_values({name: 1.0})], [0])
        for target in self._blocks():
            whole = self._scene(both, target)
            factor = decay[whole.age_number]
            if whole.prior is not None:
                factor = factor * whole.prior
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
            with np.errstate(over="ignore"):  # a weight beyond all numbers: never
                at = -more[slot, which] / steeper[slot, which]
            step = np.where(start[slot, which], -1, 1)
            parts.append(Steps(at, target[which], step.astype(np.int64), slot))
            spans.append(doubt_along_weight(whole, both, target, fixed, slope, decay, live))
            doubtful = live & self._doubtful(both, target, whole, fixed, slope, factor)
            unsettled |= set(self.layout.target_query[target[np.nonzero(doubtful)[1]]].tolist())
        steps = join_steps(parts)
        early = steps.where(steps.at <= LIGHTEST)
        np.add.at(base, early.target, early.step)
        steps = steps.where((steps.at > LIGHTEST) & (steps.at < 1 / LIGHTEST))
        left = self._survivors(both)
        pieces = self.staircase.pieces(
            base, steps, lambda query, start: both.candidates(query, left[query])
        )
        edges, value = self.staircase.figures(pieces)
        return self._curve(
            name,
            edges=edges,
            value=value,
            ends=(LIGHTEST, 1 / LIGHTEST),
            points=((0.0, self._replayed(name, [0.0])[0]),),
            pieces=pieces,
            steps=steps,
            unsettled=tuple(sorted(unsettled)),
            doubt=np.concatenate(spans),
        )

    def _doubtful(
        self,
        group: Group,
        target: NDArray[np.intp],
        scene: Scene,
        fixed: FloatArray,
        slope: FloatArray,
        factor: FloatArray,
    ) -> NDArray[np.bool_]:
        """Return which rows' scores differ from the target's by rounding alone at every weight."""
        column = scene.column

        def own(values: FloatArray) -> FloatArray:
            found: FloatArray = values[scene.slot, column]
            return found

        near = np.abs(fixed - own(fixed)) <= MARGIN * own(fixed)
        near &= np.abs(slope - own(slope)) <= MARGIN * own(slope)
        # The same shares of one or two channels add up to the same score in any order.
        query = self.layout.target_query[target]
        held = (self.layout.ranks[[number for number, _ in group.active]][:, :, query] > 0).sum(0)
        alike = (fixed == own(fixed)) & (slope == own(slope)) & (factor == own(factor))
        alike &= (held <= 2) & (held[scene.slot, column] <= 2)
        rough = (factor < 2.0**-UNDERFLOW) & (own(factor) < 2.0**-UNDERFLOW)
        zero = (factor == 0) & (own(factor) == 0)
        doubtful: NDArray[np.bool_] = (near & ~alike & ~zero) | (rough & ~zero & ~alike)
        doubtful[scene.slot, column] = False
        return doubtful

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
        every = np.arange(self.judgments.n_queries)
        found: NDArray[np.int64] = self.group.candidates(every, self._survivors(self.group))[query]
        return found

    def _positions(
        self, target: NDArray[np.intp], survivors: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Return uncut positions at the base settings, given what a floor leaves."""
        half_life = self.settings.recency_half_life_days
        [found] = self.group.columns(target, survivors.astype(np.int32), [half_life])
        return _absent_last(found)

    def _replayed(self, name: str, values: Sequence[Value]) -> FloatArray:
        chosen = [self.settings.with_values({name: value}) for value in values]
        return self.staircase.replayed(self.replay.positions(chosen))

    def _replayed_at(self, name: str, value: Value) -> FloatArray:
        figures: FloatArray = self._replayed(name, [value])[0]
        return figures

    def _curve(
        self,
        name: str,
        *,
        edges: FloatArray,
        value: FloatArray,
        ends: tuple[float, float],
        pieces: Pieces,
        steps: Steps,
        points: tuple[tuple[Value, FloatArray], ...] = (),
        right_closed: bool = False,
        underflow: tuple[float, float] | None = None,
        unsettled: tuple[int, ...] = (),
        doubt: FloatArray = NO_DOUBT,
    ) -> Curve:
        return Curve(
            knob=knob(name),
            settings=self.settings,
            groups=self.staircase.groups,
            metrics=self.metrics,
            low=ends[0],
            high=ends[1],
            edges=edges,
            value=value,
            right_closed=right_closed,
            points=points,
            underflow=underflow,
            unsettled=unsettled,
            doubt=stretches(doubt),
            replayed=partial(self._replayed_at, name),
            pieces=pieces,
            steps=steps,
        )
