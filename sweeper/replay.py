"""Replay: any number of settings over a captured pool, as fast as the machine allows.

``counting`` computes positions with numpy; for large sweeps ``kernels`` counts feature values with
compiled code (extra ``fast``). Both equal ``ranking`` bit for bit.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sweeper.counting import groups_of, shared_work
from sweeper.evaluate import Evaluator, Figures
from sweeper.golden import GoldenSet
from sweeper.layout import Layout
from sweeper.metrics import Metric
from sweeper.pools import Pool
from sweeper.runs import Judgments, Positions
from sweeper.settings import Settings

__all__ = ["Replay"]

_CHUNK = 1 << 22
"""Positions held at once while figures are computed."""

_MANY_HALF_LIVES = 100
"""Half-lives per combination of the other knobs from which numpy is the faster way."""

_COUNTS = 1 << 23
"""Bin counts held at once by the compiled kernel, which keeps no positions."""

_COMPILED_FROM = 20_000_000
"""Trial-queries from which loading the compiled kernel pays: some seconds of plain numpy."""

CountFeatures: TypeAlias = Callable[[Layout, Evaluator, Sequence[Settings]], NDArray[np.integer]]


class Replay:
    """Replays what was captured against one golden set.

    Parameters
    ----------
    pool
        Must hold every query of the golden set. Where knobs decide what is retrieved, one pool per
        text of these knobs (``Settings.origin.captured``).
    golden
        Its queries decide which rows are relevant.
    compiled
        Whether to use the compiled kernel (extra ``fast``); by default for large sweeps. The
        figures are the same either way.

    Raises
    ------
    ValueError
        If a pool lacks a query of the golden set.
    """

    def __init__(
        self,
        pool: Pool | Mapping[str, Pool],
        golden: GoldenSet,
        *,
        compiled: bool | None = None,
    ) -> None:
        self.compiled = compiled
        self.golden = golden
        self.judgments = Judgments(golden)
        self._pools = {"": pool} if isinstance(pool, Pool) else dict(pool)
        self._several = not isinstance(pool, Pool)
        self._parts: dict[tuple[str, str], Replay] = {}
        self._part_of: tuple[str, str] | None = None
        self._layouts: dict[int, Layout] = {}
        for one in self._pools.values():
            place = {query_id: number for number, query_id in enumerate(one.query_ids)}
            missing = [q for q in golden.query_ids if q not in place]
            if missing:
                raise ValueError(f"the pool lacks {len(missing)} queries, {missing[0]!r} first")
        self._pool_query = np.array([place[q] for q in golden.query_ids], np.intp)

    def __getstate__(self) -> dict[str, object]:
        """Leave the pools out: workers replay the layouts that were prepared."""
        return {**self.__dict__, "_pools": {}, "golden": None}

    @property
    def pool(self) -> Pool:
        """The pool, where there is one alone; see ``of``."""
        if len(self._pools) != 1:
            raise ValueError(f"a replay of {len(self._pools)} pools has no one pool; ask of()")
        return next(iter(self._pools.values()))

    def of(self, settings: Settings) -> Replay:
        """Return the replay of the one pool that some settings rank, their stores alone.

        Raises
        ------
        ValueError
            If nothing was captured for these settings.
        """
        if not self._several and settings.stores == "all":
            return self
        captured, stores, _ = settings.origin
        if (captured, stores) == self._part_of:
            return self
        part = self._parts.get((captured, stores))
        if part is None:
            pool = self._pools.get(captured) if self._several else self.pool
            if pool is None:
                raise ValueError(f"nothing was captured for {captured or 'these settings'}")
            if stores != "all":
                pool = pool.within("document" if stores == "document" else "memory")
            part = self._parts[captured, stores] = Replay(pool, self.golden)
            part._part_of = (captured, stores)
        part.compiled = self.compiled
        return part

    def prepare(self, settings: Iterable[Settings]) -> None:
        """Build the arrays of some settings, so that workers find them ready."""
        for origin, one in {item.origin: item for item in settings}.items():
            self.of(one).layout(origin.depth)

    def layout(self, depth: int) -> Layout:
        """Return the pool's arrays at one depth, prepared once.

        Raises
        ------
        ValueError
            If the pool was captured less deep.
        """
        if depth not in self._layouts:
            if depth > self.pool.depth:
                raise ValueError(f"depth {depth} is more than the pool's {self.pool.depth}")
            self._layouts[depth] = Layout.build(self.pool, self.judgments, self._pool_query, depth)
        return self._layouts[depth]

    def positions(self, settings: Sequence[Settings]) -> Positions:
        """Return the position of every relevant row under each settings, in their order.

        Parameters
        ----------
        settings
            At least one; all of one origin.
        """
        origins = {item.origin for item in settings}
        if len(origins) != 1:
            raise ValueError(f"settings of one origin are needed, got {len(origins)}")
        part = self.of(settings[0])
        return self._positions(settings) if part is self else part._positions(settings)

    def _positions(self, settings: Sequence[Settings]) -> Positions:
        layout = self.layout(settings[0].effective_depth)
        position = np.zeros((len(settings), layout.n_targets), layout.dtype)
        returned = np.zeros((len(settings), self.judgments.n_queries), np.int32)
        for group in groups_of(layout, settings):
            for trials, part in group.positions():
                limits = layout.limits([settings[t] for t in trials])
                if limits.shape[1] > 1:
                    limits = limits[:, layout.target_query]
                position[trials] = np.where(part <= limits, part, 0)
            group.count_returned(returned)
        return Positions(self.judgments, layout.target_key, position, returned)

    def figures(self, settings: Sequence[Settings], metrics: Sequence[Metric]) -> Figures:
        """Return the figures of each settings, in their order, in bounded memory."""
        if not settings:
            raise ValueError("at least one settings is needed")
        members: dict[Replay, list[int]] = {}
        for trial, item in enumerate(settings):
            members.setdefault(self.of(item), []).append(trial)
        found = []
        for part, trials in members.items():
            found.append(part._figures([settings[trial] for trial in trials], metrics))
        if len(found) == 1:
            return found[0]
        value = np.empty((len(settings), *found[0].value.shape[1:]))
        for trials, figures in zip(members.values(), found, strict=True):
            value[trials] = figures.value
        return replace(found[0], value=value)

    def _figures(self, settings: Sequence[Settings], metrics: Sequence[Metric]) -> Figures:
        # No position is higher than the number of candidates, whatever the limit.
        depths = {item.effective_depth for item in settings}
        deepest = max(self.layout(depth).n_slots for depth in depths)
        limit = min(max(item.limit for item in settings), max(1, deepest))
        evaluator = Evaluator(self.judgments, metrics, limit)
        count = self._compiled(evaluator, settings)
        value = np.empty((len(settings), len(evaluator.groups), len(metrics)))
        at_once = None if count is None else max(1, _COUNTS // evaluator.n_bins)
        for trials in self._chunks(settings, at_once):
            chosen = [settings[t] for t in trials]
            if count is not None:
                counts = count(self.layout(chosen[0].effective_depth), evaluator, chosen)
                value[trials] = evaluator.figures(None, counts).value
            else:
                value[trials] = evaluator.figures(self._positions(chosen)).value
        return Figures(evaluator.groups, evaluator.metrics, value, evaluator.n_queries)

    def pays(self, settings: Sequence[Settings]) -> bool:
        """Return whether so many settings are worth loading the compiled kernel.

        Crossings find any number of half-lives at once, where the kernel scores each of them: many
        half-lives for few other knobs are left to numpy.
        """
        large = len(settings) * self.judgments.n_queries >= _COMPILED_FROM
        return large and len(settings) < _MANY_HALF_LIVES * len({_group_key(s) for s in settings})

    def _compiled(self, evaluator: Evaluator, settings: Sequence[Settings]) -> CountFeatures | None:
        """Return the compiled kernel if it is installed, covers the metrics, and would pay."""
        wanted = self.pays(settings) if self.compiled is None else self.compiled
        if not wanted or evaluator.needs_positions or not len(self.judgments.answerable):
            return None
        if importlib.util.find_spec("numba") is None:
            return None
        from sweeper.kernels import count_features

        return count_features

    def _chunks(self, settings: Sequence[Settings], most: int | None = None) -> Iterator[list[int]]:
        """Split trials so that those which share work stay together and chunks stay small.

        ``most`` trials at once, or as many as keep the positions within bounds.
        """
        by_depth: dict[int, list[int]] = {}
        for trial, item in enumerate(settings):
            by_depth.setdefault(item.effective_depth, []).append(trial)
        for depth, trials in by_depth.items():
            size = most or max(1, _CHUNK // max(1, self.layout(depth).n_targets))
            if len(trials) > size:
                trials.sort(key=lambda t: _group_key(settings[t]))
            for start in range(0, len(trials), size):
                yield trials[start : start + size]


def _group_key(item: Settings) -> tuple[object, ...]:
    floor = -math.inf if item.min_similarity is None else item.min_similarity
    weights, prior, rrf_k = shared_work(item)
    routed = bool(item.routing)  # such weights may be None, which does not sort
    usage = "" if prior is None else str(prior)
    return (item.origin, routed, str(weights) if routed else weights, usage, rrf_k, floor)
