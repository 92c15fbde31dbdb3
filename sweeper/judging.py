"""What any setting can show: the complete judging pool, and how high each question can rise.

Within a box of settings (``rrf_k``, floor and half-life each between two values) the best position
that a row can reach is computed, not sampled: ``rrf_k`` is enumerated, the half-life is covered by
the crossings of lines, and of all floors only two can be best for a row. A higher floor only takes
shares away from others until it takes the row's own: so either the highest floor that keeps the row
in the vector channel, or the highest floor of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sweeper.counting import UNDERFLOW, Group, Scene
from sweeper.exact import just_above_zero
from sweeper.golden import Key
from sweeper.layout import Layout
from sweeper.pools import FloatArray
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.staircase import ABSENT

__all__ = ["Box", "JudgingPool", "judging_pool"]

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Box:
    """Ranges of the three knobs.

    Attributes
    ----------
    rrf_k
        Least and greatest, both included.
    floors
        Least and greatest floor, ``None`` being less than any.
    half_lives
        Least and greatest half-life above 0, in days; ``None`` if decay is always off.
    off
        Whether decay may be off.
    """

    rrf_k: tuple[int, int]
    floors: tuple[float | None, float | None]
    half_lives: tuple[float, float] | None
    off: bool

    @classmethod
    def around(cls, settings: Sequence[Settings]) -> Box:
        """Return the smallest box that holds some settings."""
        constants = [item.rrf_k for item in settings]
        floors = sorted(
            {item.min_similarity for item in settings}, key=lambda f: -2.0 if f is None else f
        )
        days = [item.recency_half_life_days for item in settings]
        positive = [value for value in days if value > 0]
        return cls(
            rrf_k=(min(constants), max(constants)),
            floors=(floors[0], floors[-1]),
            half_lives=(min(positive), max(positive)) if positive else None,
            off=0.0 in days,
        )


@dataclass(frozen=True, slots=True, eq=False)
class JudgingPool:
    """Which documents some setting in a box returns, per question.

    Attributes
    ----------
    box
        The settings considered.
    limit
        Rows that each of them returns.
    shown
        Per question, the keys that some setting returns, with the best position found (exact for
        expected keys; for the others no worse than the limit, but perhaps not their best).
    unjudged
        Per question, those that are neither expected nor judged: what to label.
    unreachable
        Per question, expected keys that no setting in the box returns.
    absent
        Per question, those of them that no channel found at the pool's depth: no knob can show
        them.
    ceiling : shape (n_queries,)
        Best position of any expected key over all settings; 0 where none is returned.
    """

    box: Box
    limit: int
    shown: tuple[dict[Key, int], ...]
    unjudged: tuple[tuple[Key, ...], ...]
    unreachable: tuple[tuple[Key, ...], ...]
    absent: tuple[tuple[Key, ...], ...]
    ceiling: NDArray[np.integer]


def judging_pool(replay: Replay, base: Settings, box: Box) -> JudgingPool:
    """Compute which documents can enter the first ``limit`` positions anywhere in a box.

    Parameters
    ----------
    replay
        Pool and golden set.
    base
        Gives limit, depth and weights.
    box
        Ranges of the other knobs.
    """
    replay = replay.of(base)
    layout = _with_every_row(replay.layout(base.effective_depth))
    expected = _expected_rows(replay, layout)
    best = np.full(layout.n_targets, ABSENT, np.int64)
    limits = np.broadcast_to(layout.limits([base])[0], (len(layout.query_classes),))
    limits = limits[layout.target_query]
    for k in range(box.rrf_k[0], box.rrf_k[1] + 1):
        # A row that some setting returns needs no second proof, unless it is expected.
        open_rows = np.flatnonzero(expected | (best > limits))
        group = Group(layout, [base.with_values({"rrf_k": k})], [0])
        for target, left in _states(layout, group, open_rows, box):
            np.minimum.at(best, target, _best_in(group, target, left, box))
    pool, queries = replay.pool, replay.judgments.query_ids
    shown: list[dict[Key, int]] = [{} for _ in queries]
    for row in np.flatnonzero(best <= limits).tolist():
        query = int(layout.target_query[row])
        key = pool.item_keys[layout.item[layout.target_slot[row], query]]
        shown[query][key] = min(int(best[row]), shown[query].get(key, ABSENT))
    golden = replay.golden.queries
    unreachable = tuple(
        tuple(key for key in q.expected if key not in keys)
        for keys, q in zip(shown, golden, strict=True)
    )
    return JudgingPool(
        box=box,
        limit=base.limit,
        shown=tuple(shown),
        unjudged=tuple(
            tuple(key for key in keys if key not in q.expected and key not in q.judged)
            for keys, q in zip(shown, golden, strict=True)
        ),
        unreachable=unreachable,
        absent=tuple(_absent(replay, query, keys) for query, keys in enumerate(unreachable)),
        ceiling=np.array(
            [
                min((keys[key] for key in q.expected if key in keys), default=0)
                for keys, q in zip(shown, golden, strict=True)
            ]
        ),
    )


def _absent(replay: Replay, query: int, keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Return those keys of a question that no channel of the pool holds."""
    if not keys:
        return ()
    found = {row.key for rows in replay.pool.candidates(query).rows.values() for row in rows}
    return tuple(key for key in keys if key not in found)


def _with_every_row(layout: Layout) -> Layout:
    """Return a layout in which every candidate is a target."""
    query, slot = np.nonzero((layout.ranks > 0).any(axis=0).T)
    return replace(layout, target_query=query, target_slot=slot, target_key=np.arange(len(query)))


def _expected_rows(replay: Replay, layout: Layout) -> NDArray[np.bool_]:
    expected = [set(query.expected) for query in replay.golden.queries]
    keys = replay.pool.item_keys
    item = layout.item[layout.target_slot, layout.target_query]
    pairs = zip(layout.target_query.tolist(), item.tolist(), strict=True)
    return np.array([keys[i] in expected[query] for query, i in pairs], bool)


def _states(
    layout: Layout, group: Group, rows: NDArray[np.intp], box: Box
) -> list[tuple[NDArray[np.intp], NDArray[np.int32]]]:
    """Return rows with the numbers of surviving vector rows that can be best for them."""
    query = layout.target_query[rows]
    if not group.floored:
        return [(rows, layout.survivors(None)[query])]
    most, fewest = (layout.survivors(floor)[query] for floor in box.floors)
    weight = np.broadcast_to(dict(group.active)[group.vector], (len(layout.query_classes),))
    rank = layout.ranks[group.vector][layout.target_slot[rows], query]
    rank = np.where(weight[query] > 0, rank, 0)
    # The highest floor that keeps a row is its own cosine: all rows tied with it stay too.
    cosines = layout.cosines[query]
    cosine = np.full(len(rows), np.inf)
    cosine[rank > 0] = cosines[rank > 0, rank[rank > 0] - 1]
    tied = (cosines >= cosine[:, None]).sum(axis=1, dtype=np.int32)
    kept = (rank > 0) & (rank <= most)
    keeping = np.maximum(np.where(box.floors[1] is None, most, tied), fewest)
    lost = (rank == 0) | (rank > fewest)
    return [(rows[kept], keeping[kept]), (rows[lost], fewest[lost])]


def _best_in(
    group: Group, target: NDArray[np.intp], left: NDArray[np.int32], box: Box
) -> NDArray[np.int64]:
    """Return the best position of each row over the half-lives of a box."""
    best: NDArray[np.int64] = np.full(len(target), ABSENT, np.int64)
    if not len(target):
        return best
    typed = [0.0] if box.off else []
    if box.half_lives is not None:
        typed += list(dict.fromkeys(box.half_lives))
    found = group.columns(target, left, typed).astype(np.int64)
    best = np.where(found > 0, found, ABSENT).min(axis=0)
    if box.half_lives is None or box.half_lives[0] == box.half_lives[1]:
        return best
    size = max(1, _BLOCK // max(1, group.layout.n_slots))
    for start in range(0, len(target), size):
        part = slice(start, start + size)
        scene = Scene.build(group, target[part], left[part])
        best[part] = np.minimum(best[part], _best_between(scene, box.half_lives))
    return best


def _best_between(scene: Scene, half_lives: tuple[float, float]) -> NDArray[np.int64]:
    """Return the best position of each column's target strictly between two half-lives."""
    ages = scene.layout.ages[scene.age_number[scene.slot, scene.column]]
    low = 1.0 / half_lives[1]
    with np.errstate(divide="ignore", over="ignore"):
        high = np.minimum(1.0 / np.float64(half_lives[0]), UNDERFLOW / ages)
    cross = scene.crossings()
    position = just_above_zero(scene, cross)[0].sum(axis=0).astype(np.int64) + 1
    early = cross.x <= low
    np.add.at(position, cross.column[early], cross.step[early].astype(np.int64))
    inside = (cross.x > low) & (cross.x < high[cross.column])
    column, x, step = cross.column[inside], cross.x[inside], cross.step[inside]
    order = np.lexsort((x, column))
    column, x, step = column[order], x[order], step[order]
    # Running position after all changes at one x; the lowest of a column counts.
    running = position[column] + _cumulative(step, column)
    final = np.append((column[1:] != column[:-1]) | (x[1:] != x[:-1]), True)[: len(column)]
    best: NDArray[np.int64] = position.copy()
    np.minimum.at(best, column[final], running[final])
    best[~scene.present[scene.slot, scene.column]] = ABSENT
    return best


def _cumulative(step: FloatArray, group: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return running sums that begin anew in each run of equal group numbers."""
    total = np.cumsum(step).astype(np.int64)
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]][: len(group)])
    before = np.append(0, total)[starts]
    length = np.diff(np.append(starts, len(group)))
    sums: NDArray[np.int64] = total - np.repeat(before, length)
    return sums
