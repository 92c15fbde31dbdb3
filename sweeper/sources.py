"""Where a sweep's figures come from: a replay of what was captured, the engine itself, or both.

``LiveSearch`` in ``live`` is the source of an engine that shows no candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from sweeper.fanout import Done, Fanout
from sweeper.golden import GoldenSet, Key, QueryId
from sweeper.knobs import Settings
from sweeper.live import LiveSearch, PartlyLive
from sweeper.manifest import pool_facts
from sweeper.metrics import Metric
from sweeper.opening import OpenSweep, Progress
from sweeper.pools import Pool
from sweeper.ranking import rank
from sweeper.replay import Replay
from sweeper.runs import Positions
from sweeper.store import Journal

__all__ = ["MixedSource", "ReplayedSource", "Source", "open_source"]


class Source(Protocol):
    """Where figures come from: a replay of what was captured, or the engine itself."""

    n_captured: int

    def prepare(self, settings: Sequence[Settings]) -> None:
        """Get ready for some settings; this may take long and may be interrupted."""

    def run(
        self, settings: Sequence[Settings], metrics: Sequence[Metric], stop: Callable[[], bool]
    ) -> Iterator[Done]:
        """Yield the figures of settings as they are ready."""

    def positions(self, settings: Sequence[Settings]) -> Positions:
        """Return the positions of expected keys; all settings of one origin."""

    def returned(self, settings: Settings, query_id: QueryId) -> list[Key]:
        """Return the key at each position of the answer to one question, best first."""

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of the candidates."""


def open_source(
    opened: OpenSweep,
    settings: Settings,
    *,
    fanout: Fanout,
    owner: str,
    answers: Callable[[], Journal],
    progress: Progress,
) -> Source:
    """Return where figures come from, its candidates captured.

    Parameters
    ----------
    opened
        Inputs and engines.
    settings
        The first to be asked for; their candidates are captured now.
    fanout
        Where settings are replayed.
    owner
        To whom the pools of a live engine belong.
    answers
        Opens the journal of what is asked of an engine that shows too few candidates.
    progress
        Told how far captures are.
    """
    golden = opened.inputs.golden
    timeout = fanout.timeout_seconds
    if opened.black_box:
        return LiveSearch(opened.engine, golden, answers(), timeout_seconds=timeout)
    captured = ReplayedSource(opened, fanout, owner, progress)
    captured.prepare([settings])
    missing = captured.live_questions
    if not missing:
        return captured
    asked = GoldenSet(tuple(q for q in golden.queries if q.query_id in missing))
    live = LiveSearch(opened.engine, asked, answers(), timeout_seconds=timeout)
    return MixedSource(captured, live)


class ReplayedSource:
    """Replays pools, which are captured when the first settings ask for them."""

    def __init__(self, opened: OpenSweep, fanout: Fanout, owner: str, progress: Progress) -> None:
        self._opened, self._fanout, self._owner, self._progress = opened, fanout, owner, progress
        self._pools: dict[str, Pool] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._replay: Replay | None = None
        self.n_captured = 0

    def prepare(self, settings: Sequence[Settings]) -> None:
        for name in dict.fromkeys(item.origin.captured for item in settings):
            if name in self._pools:
                continue
            capture = next(item for item in self._opened.captures if item.name == name)
            path = self._opened.pool_path(capture, owner=self._owner)
            pool, captured = self._opened.pool(capture, owner=self._owner, progress=self._progress)
            self._pools[name], self._replay = pool, None
            self._facts[name] = pool_facts(path, pool)
            self.n_captured += captured

    @property
    def replay(self) -> Replay:
        if self._replay is None:
            several = len(self._opened.captures) > 1
            pools = self._pools if several else next(iter(self._pools.values()))
            self._replay = Replay(pools, self._opened.inputs.golden)
        return self._replay

    @property
    def live_questions(self) -> frozenset[str]:
        """Questions of which the engine does not show all candidates."""
        told = (pool.provenance.get("live_questions", {}) for pool in self._pools.values())
        return frozenset(name for one in told for name in one)

    def run(
        self, settings: Sequence[Settings], metrics: Sequence[Metric], stop: Callable[[], bool]
    ) -> Iterator[Done]:
        # Decided for all of them together: their chunks alone are all small.
        self.replay.compiled = self.replay.pays(settings)
        return self._fanout.run(self.replay, metrics, settings, stop)

    def positions(self, settings: Sequence[Settings]) -> Positions:
        return self.replay.positions(settings)

    def returned(self, settings: Settings, query_id: QueryId) -> list[Key]:
        pool = self._pools[settings.origin.captured]
        candidates = pool.candidates(pool.query_ids.index(query_id))
        return [row.key for row in rank(candidates, settings, channels=pool.channels)]

    def facts(self) -> dict[str, Any]:
        today = self._opened.captures[0].name
        return {"pool": self._facts[today], "pools": dict(self._facts)}


class MixedSource:
    """Replays the questions that can be, and asks the engine the others, setting by setting."""

    def __init__(self, captured: ReplayedSource, live: LiveSearch) -> None:
        self._captured, self._live = captured, live
        self.n_captured = captured.n_captured

    def prepare(self, settings: Sequence[Settings]) -> None:
        self._captured.prepare(settings)

    def run(
        self, settings: Sequence[Settings], metrics: Sequence[Metric], stop: Callable[[], bool]
    ) -> Iterator[Done]:
        return PartlyLive(self._captured.replay, self._live).run(settings, metrics, stop)

    def positions(self, settings: Sequence[Settings]) -> Positions:
        return PartlyLive(self._captured.replay, self._live).positions(settings)

    def returned(self, settings: Settings, query_id: QueryId) -> list[Key]:
        source = self._live if query_id in self._captured.live_questions else self._captured
        return source.returned(settings, query_id)

    def facts(self) -> dict[str, Any]:
        return {**self._captured.facts(), "live_questions": sorted(self._captured.live_questions)}
