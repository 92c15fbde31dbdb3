"""How long a setting holds while its content stands still and grows old.

All ages grow together. Two memories keep their order; a memory falls behind rows that do not decay
(documents, memories of unknown age) at a date that has a closed form, so a figure is a step
function of time, computed as in ``exact``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sweeper.counting import UNDERFLOW, Group, Scene
from sweeper.metrics import Metric
from sweeper.pools import FloatArray
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.staircase import ABSENT, Staircase, Steps, join_steps

__all__ = ["Expiry", "expiry_of"]

_BLOCK = 1 << 16

_AT_ONCE = 5e-324
"""Days after which rows whose scores are equal today have parted: later than now, that is all."""


@dataclass(frozen=True, slots=True, eq=False)
class Expiry:
    """Every figure as a step function of days from the pool's ``as_of``.

    Attributes
    ----------
    groups, metrics
        As in ``Figures``.
    edges : shape (n_edges,)
        Days from now at which some figure changes; ascending, above 0.
    value : shape (n_edges + 1, n_groups, n_metrics)
        Figures between them; the first row is today's.
    until
        Days until which this holds. Later the scores of the relevant memories underflow.
    undated : item ids
        Memories that never decay because their age is unknown.
    clamped : item ids
        Memories dated in the future, which begin to decay on their date.
    """

    groups: tuple[str, ...]
    metrics: tuple[Metric, ...]
    edges: FloatArray
    value: FloatArray
    until: float
    undated: tuple[str, ...]
    clamped: tuple[str, ...]

    def at(self, days: float) -> FloatArray:
        """Return the figures after some days, shape (n_groups, n_metrics)."""
        figures: FloatArray = self.value[int(np.searchsorted(self.edges, days, side="right"))]
        return figures

    def first_fall(self) -> tuple[float, str, str] | None:
        """Return when the first slice's figure falls below today's: days, slice and metric."""
        counted = [place for place, metric in enumerate(self.metrics) if metric.larger_is_better]
        fallen = self.value[1:, :-1][:, :, counted] < self.value[0, :-1][:, counted]
        when, group, metric = np.nonzero(fallen)
        if not len(when):
            return None
        return (
            float(self.edges[when[0]]),
            self.groups[group[0]],
            str(self.metrics[counted[metric[0]]]),
        )


def expiry_of(replay: Replay, settings: Settings, metrics: Sequence[Metric]) -> Expiry:
    """Compute every figure of one settings as its content ages unchanged.

    Parameters
    ----------
    replay
        Pool and golden set.
    settings
        With decay off, nothing ever changes.
    metrics
        What to compute.
    """
    replay = replay.of(settings)
    layout = replay.layout(settings.effective_depth)
    staircase = Staircase(replay.judgments, layout, tuple(metrics), settings)
    group = Group(layout, [settings], [0])
    left = layout.survivors(settings.min_similarity if group.floored else None)
    pool = replay.pool
    memory = pool.item_store == 1
    ages = np.where(memory, pool.item_age_days, np.nan)
    base = np.full(layout.n_targets, ABSENT, np.int64)
    parts: list[Steps] = []
    size = max(1, _BLOCK // max(1, layout.n_slots))
    for start in range(0, layout.n_targets, size):
        target = np.arange(start, min(start + size, layout.n_targets))
        scene = Scene.build(group, target, left[layout.target_query[target]])
        [today] = group.columns(
            target, left[layout.target_query[target]], [settings.recency_half_life_days]
        )
        base[target] = np.where(today > 0, today.astype(np.int64), ABSENT)
        if settings.recency_half_life_days > 0:
            own = ages[layout.item[:, layout.target_query[target]]]
            parts.append(_falls(scene, own, target, settings.recency_half_life_days))
    pieces = staircase.pieces(
        base, join_steps(parts), lambda query, _: group.candidates(query, left[query])
    )
    edges, value = staircase.figures(pieces)
    names = np.array(pool.item_ids, dtype=object)
    return Expiry(
        groups=staircase.groups,
        metrics=tuple(metrics),
        edges=edges,
        value=value,
        until=_until(replay, settings),
        undated=tuple(names[memory & np.isnan(pool.item_age_days)]),
        clamped=tuple(names[memory & (pool.item_age_days < 0)]),
    )


def _falls(
    scene: Scene,
    ages: FloatArray,
    target: np.ndarray[tuple[int], np.dtype[np.intp]],
    half_life: float,
) -> Steps:
    """Return when rows and targets change places as all dated memories age.

    ``ages`` has shape (n_candidates, n_columns): days, negative for a future date, NaN for rows
    that never decay. The exponent of a row after t days is ``max(age + t, 0) / half_life``, so the
    gap between two rows moves in one direction only and closes at most once.
    """
    column = np.arange(len(target))

    def own(values: FloatArray) -> FloatArray:
        found: FloatArray = values[scene.slot, column]
        return found

    # How far a row's exponent is behind today, and whether it will ever move.
    now = np.where(ages > 0, ages, 0.0)
    score, level = scene.scores(half_life), scene.level
    first = scene.key < scene.key[scene.slot, column]
    before = (score > own(score)) | ((score == own(score)) & first)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # log2(fused_j / fused_e): how many days of age the row is better than the target. Over the
        # smaller of the two, because log1p of a ratio close to -1 loses all its digits.
        better = level - own(level)
        ratio = np.abs(better) / np.minimum(level, own(level))
        lead = np.copysign(np.log1p(ratio), better) * (half_life / math.log(2.0))
    gap = lead - (now - own(now))
    # In the long run the exponents of two dated rows differ by their ages, those of a dated and an
    # undated one without bound. Where both decay already nothing changes.
    dated, own_dated = ~np.isnan(ages), ~np.isnan(own(ages))
    late = lead - (ages - own(ages))
    after = np.where(
        dated & own_dated, (late > 0) | ((late == 0) & first), np.where(dated, False, own_dated)
    )
    moves = (dated | own_dated) & ~((ages >= 0) & (own(ages) >= 0))
    moves &= scene.present & scene.present[scene.slot, column]
    slot, which = np.nonzero((before != after) & moves)
    # The row that falls begins to decay when its date is reached.
    falling = before[slot, which]
    starts = np.where(falling, ages[slot, which], own(ages)[which])
    at = np.abs(gap[slot, which]) + np.maximum(-starts, 0.0)
    step = np.where(falling, -1, 1).astype(np.int64)
    return Steps(np.maximum(at, _AT_ONCE), target[which], step, slot)


def _until(replay: Replay, settings: Settings) -> float:
    """Return for how many days no relevant memory's score underflows."""
    if settings.recency_half_life_days == 0:
        return math.inf
    replay = replay.of(settings)
    layout = replay.layout(settings.effective_depth)
    item = layout.item[layout.target_slot, layout.target_query]
    pool = replay.pool
    ages = pool.item_age_days[item[pool.item_store[item] == 1]]
    oldest = float(np.nanmax(ages, initial=-math.inf)) if len(ages) else -math.inf
    return UNDERFLOW * settings.recency_half_life_days - oldest
