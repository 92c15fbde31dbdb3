"""Where a sweep's figures come from: a replay of what was captured, the engine itself, or both.

How a live engine is asked is in ``live``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from sweeper.engines.base import PartlyShown
from sweeper.fanout import Done, Fanout
from sweeper.golden import Key, Query, QueryId
from sweeper.live import LiveSearch, PartlyLive
from sweeper.manifest import pool_facts
from sweeper.metrics import Metric
from sweeper.opening import OpenSweep, Progress
from sweeper.pools import KeyFactors, Pool
from sweeper.prior import Usefulness
from sweeper.ranking import returned_keys
from sweeper.replay import Replay
from sweeper.runs import Positions
from sweeper.settings import Settings
from sweeper.store import Journal

__all__ = ["LiveSource", "MixedSource", "ReplayedSource", "Source", "open_source"]


class Source(Protocol):
    """Where figures come from: a replay of what was captured, or the engine itself."""

    @property
    def n_captured(self) -> int:
        """How many pools were captured."""

    def prepare(self, settings: Sequence[Settings]) -> None:
        """Get ready for some settings; this may take long and may be interrupted."""

    def digest_of(self, settings: Settings) -> str:
        """Return what identifies the candidates that some settings rank."""

    def run(
        self, settings: Sequence[Settings], metrics: Sequence[Metric], stop: Callable[[], bool]
    ) -> Iterator[Done]:
        """Yield the figures of settings as they are ready."""

    def positions(self, settings: Sequence[Settings]) -> Positions:
        """Return the positions of expected keys; all settings of one origin."""

    def returned(self, settings: Settings, query_id: QueryId) -> list[Key]:
        """Return the key at each position of the answer to one question, best first."""

    @property
    def usefulness(self) -> KeyFactors | None:
        """What past usage says of pages, if there is any and it can be applied."""

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
    if opened.black_box:
        return LiveSource(opened, _live(opened, answers(), fanout))
    captured = ReplayedSource(opened, fanout, owner, progress)
    captured.prepare([settings])
    if not isinstance(opened.engine, PartlyShown):
        return captured
    live = _live(opened, answers(), fanout, captured.live_questions)
    return MixedSource(captured, live)


def _live(
    opened: OpenSweep,
    answers: Journal,
    fanout: Fanout,
    questions_of: Callable[[Settings], Sequence[Query]] | None = None,
) -> LiveSearch:
    return LiveSearch(
        lambda settings: opened.capture_of(settings).engine,
        opened.inputs.golden,
        answers,
        questions_of=questions_of,
        timeout_seconds=fanout.timeout_seconds,
    )


class LiveSource:
    """Asks an engine that shows no candidates, setting by setting."""

    n_captured = 0
    usefulness = None

    def __init__(self, opened: OpenSweep, live: LiveSearch) -> None:
        self._opened, self._live = opened, live

    def prepare(self, settings: Sequence[Settings]) -> None:
        """Nothing is captured."""

    def digest_of(self, settings: Settings) -> str:
        return ""

    def run(
        self, settings: Sequence[Settings], metrics: Sequence[Metric], stop: Callable[[], bool]
    ) -> Iterator[Done]:
        return self._live.run(settings, metrics, stop)

    def positions(self, settings: Sequence[Settings]) -> Positions:
        return self._live.positions(settings)

    def answers(self, settings: Settings) -> Mapping[QueryId, Sequence[Key]]:
        """Return the answer to each question under some settings."""
        return self._live.answers(settings)

    def returned(self, settings: Settings, query_id: QueryId) -> list[Key]:
        return self._live.returned(settings, query_id)

    def facts(self) -> dict[str, Any]:
        provenance = {"engine": self._opened.engine.provenance}
        return {"pool": {"file": "", "digest": "", "channels": [], "provenance": provenance}}


class ReplayedSource:
    """Replays pools, which are captured when the first settings ask for them."""

    def __init__(self, opened: OpenSweep, fanout: Fanout, owner: str, progress: Progress) -> None:
        self._opened, self._fanout, self._owner, self._progress = opened, fanout, owner, progress
        self._pools: dict[str, Pool] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._replay: Replay | None = None
        self.n_captured = 0

    def prepare(self, settings: Sequence[Settings]) -> None:
        for name, item in {item.origin.captured: item for item in settings}.items():
            if name in self._pools:
                continue
            capture = self._opened.capture_of(item)
            path = self._opened.pool_path(capture, owner=self._owner)
            pool, captured = self._opened.pool(capture, owner=self._owner, progress=self._progress)
            self._pools[name], self._replay = pool, None
            self._facts[name] = pool_facts(path, pool)
            self.n_captured += captured

    @property
    def replay(self) -> Replay:
        if self._replay is None:
            alone = list(self._pools) == [""]
            pools = self._pools[""] if alone else self._pools
            self._replay = Replay(pools, self._opened.inputs.golden)
        return self._replay

    def live_questions(self, settings: Settings) -> tuple[Query, ...]:
        """Return the questions of which the engine does not show all candidates."""
        told = self._pools[settings.origin.captured].provenance.get("live_questions", ())
        if not told:
            return ()
        golden = self._opened.inputs.golden
        return tuple(query for query in golden.queries if query.query_id in told)

    @property
    def all_live_questions(self) -> list[QueryId]:
        """Questions that some engine does not show all candidates of, in the golden set's order."""
        told = {
            q for pool in self._pools.values() for q in pool.provenance.get("live_questions", ())
        }
        return [q for q in self._opened.inputs.golden.query_ids if q in told]

    def digest_of(self, settings: Settings) -> str:
        return str(self._facts[settings.origin.captured]["digest"])

    def run(
        self, settings: Sequence[Settings], metrics: Sequence[Metric], stop: Callable[[], bool]
    ) -> Iterator[Done]:
        # Decided for all of them together: their chunks alone are all small.
        self.replay.compiled = self.replay.pays(settings)
        return self._fanout.run(self.replay, metrics, settings, stop)

    def positions(self, settings: Sequence[Settings]) -> Positions:
        return self.replay.positions(settings)

    def returned(self, settings: Settings, query_id: QueryId) -> list[Key]:
        query = next(q for q in self._opened.inputs.golden.queries if q.query_id == query_id)
        return returned_keys(self._pools[settings.origin.captured], settings, query)

    @property
    def usefulness(self) -> KeyFactors | None:
        return self._opened.usefulness

    def facts(self) -> dict[str, Any]:
        today, usage = self._opened.today.name, self.usefulness
        told = {} if not isinstance(usage, Usefulness) else {"usage": usage.facts}
        return {"pool": self._facts[today], "pools": dict(self._facts), **told}


class MixedSource:
    """Replays the questions that can be, and asks the engine the others, setting by setting."""

    def __init__(self, captured: ReplayedSource, live: LiveSearch) -> None:
        self._captured, self._live = captured, live

    @property
    def n_captured(self) -> int:
        return self._captured.n_captured

    @property
    def usefulness(self) -> KeyFactors | None:
        return self._captured.usefulness

    def prepare(self, settings: Sequence[Settings]) -> None:
        self._captured.prepare(settings)

    def digest_of(self, settings: Settings) -> str:
        return self._captured.digest_of(settings)

    def run(
        self, settings: Sequence[Settings], metrics: Sequence[Metric], stop: Callable[[], bool]
    ) -> Iterator[Done]:
        shown = [item for item in settings if not self._captured.live_questions(item)]
        partly = [item for item in settings if self._captured.live_questions(item)]
        if shown:
            yield from self._captured.run(shown, metrics, stop)
        if partly:
            yield from self._partly.run(partly, metrics, stop)

    def positions(self, settings: Sequence[Settings]) -> Positions:
        return self._partly.positions(settings)

    def returned(self, settings: Settings, query_id: QueryId) -> list[Key]:
        live = {query.query_id for query in self._captured.live_questions(settings)}
        source = self._live if query_id in live else self._captured
        return source.returned(settings, query_id)

    def facts(self) -> dict[str, Any]:
        live = self._captured.all_live_questions
        return {**self._captured.facts(), **({"live_questions": live} if live else {})}

    @property
    def _partly(self) -> PartlyLive:
        return PartlyLive(self._captured.replay, self._live, self._captured.live_questions)
