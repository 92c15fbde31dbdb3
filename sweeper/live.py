"""Live search: every setting is asked of an engine that shows no candidates, or too few.

Each answer is kept as it arrives, so a sweep that is interrupted asks nothing twice. A question
that is not answered fails its settings; it is never taken for an empty answer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sweeper.engines.base import Engine, PartlyShown
from sweeper.errors import EngineError, SweeperError
from sweeper.evaluate import Evaluator
from sweeper.fanout import Done
from sweeper.golden import GoldenSet, Key, Query, QueryId
from sweeper.knobs import Settings
from sweeper.metrics import Metric
from sweeper.replay import Replay
from sweeper.runs import Judgments, Positions, Run
from sweeper.store import Journal

__all__ = ["LiveSearch", "PartlyLive"]

_NAMED = 3
"""Unanswered questions that a message names; the others are counted."""


class LiveSearch:
    """Asks an engine for its ranking of every question.

    Parameters
    ----------
    engine
        Asked by as many threads at once as it says it can take.
    golden
    answers
        Where answers are kept; those in it already are not asked again.
    timeout_seconds
        Longest time for all questions of one settings.
    """

    def __init__(
        self,
        engine: Engine,
        golden: GoldenSet,
        answers: Journal,
        *,
        timeout_seconds: float | None = None,
    ) -> None:
        self._search = engine.search_keys if isinstance(engine, PartlyShown) else engine.search
        self._engine = engine
        self._golden = golden
        self._answers = answers
        self._timeout = timeout_seconds
        self._runs: dict[str, dict[QueryId, tuple[Key, ...]]] = {}
        self.judgments = Judgments(golden)
        self.n_asked = 0
        self.n_captured = 0
        for record in answers.records:
            own = self._runs.setdefault(str(record["trial"]), {})
            own[str(record["query"])] = tuple(record["keys"])

    def prepare(self, settings: Sequence[Settings]) -> None:
        """Nothing is captured from a black box."""

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of the candidates: there are none."""
        provenance = {"engine": self._engine.provenance}
        return {"pool": {"file": "", "digest": "", "channels": [], "provenance": provenance}}

    def run(
        self, settings: Sequence[Settings], metrics: Sequence[Metric], stop: Callable[[], bool]
    ) -> Iterator[Done]:
        """Ask what has not been asked yet and yield the figures of each settings, in order.

        Parameters
        ----------
        settings
            Distinct.
        metrics
            What to compute.
        stop
            Asked before a question; once it says yes, nothing more is asked.

        Raises
        ------
        EngineError
            If the engine answers not one question of some settings: it is down, and the answers so
            far are kept.
        """
        for item in settings:
            started = time.perf_counter()
            failures = self._ask(item, stop)
            seconds = time.perf_counter() - started
            if failures:
                if len(failures) == len(self._golden):
                    raise EngineError(
                        f"the engine answers no question under {item.text} "
                        f"({next(iter(failures.values()))}). What it answered before is kept; the "
                        "same command goes on from there."
                    )
                yield Done((item,), None, _told(failures), seconds, os.getpid())
            elif len(self._runs.get(item.trial_id, {})) < len(self._golden):
                return  # stopped in the middle
            else:
                positions = self.positions([item])
                deepest = max(1, int(positions.position.max(initial=0)))
                evaluator = Evaluator(self.judgments, metrics, deepest)
                yield Done((item,), evaluator.figures(positions).value, None, seconds, os.getpid())

    def positions(self, settings: Sequence[Settings]) -> Positions:
        """Return the positions of expected keys in the answers to some settings, one trial each."""
        parts = [Run(self.answers(item)).positions(self.judgments) for item in settings]
        return _together(parts)

    def returned(self, settings: Settings, query_id: QueryId) -> list[Key]:
        """Return the keys that the engine answered one question with."""
        return list(self.answers(settings)[query_id])

    def answers(self, settings: Settings) -> Mapping[QueryId, tuple[Key, ...]]:
        """Return the ranked keys of each question that was answered under some settings."""
        return self._runs.get(settings.trial_id, {})

    def _ask(self, settings: Settings, stop: Callable[[], bool]) -> dict[QueryId, str]:
        """Ask the questions that lack an answer; return what went wrong with each that failed."""
        from joblib import Parallel, delayed

        known = self._runs.setdefault(settings.trial_id, {})
        queries = [query for query in self._golden.queries if query.query_id not in known]
        until = None if self._timeout is None else time.monotonic() + self._timeout
        late = False

        def feed() -> Iterator[Query]:
            nonlocal late
            for query in queries:
                late = until is not None and time.monotonic() > until
                if late or stop():
                    return
                yield query

        failures: dict[QueryId, str] = {}
        n_threads = max(1, min(self._engine.n_threads, len(queries)))
        asked = Parallel(n_jobs=n_threads, backend="threading", return_as="generator_unordered")(
            delayed(self._answer)(query, settings) for query in feed()
        )
        for query_id, keys, error in asked:
            self.n_asked += 1
            if keys is None:
                failures[query_id] = error
                continue
            known[query_id] = keys
            record = {"trial": settings.trial_id, "query": query_id, "keys": list(keys)}
            self._answers.append([record])
        if late:
            missing = len(self._golden) - len(known) - len(failures)
            said = f"it took longer than {self._timeout:g} seconds; {missing} questions are left"
            failures.setdefault("", said)
        return failures

    def _answer(
        self, query: Query, settings: Settings
    ) -> tuple[QueryId, tuple[Key, ...] | None, str]:
        try:
            return query.query_id, tuple(self._search(query, settings)), ""
        except SweeperError as error:
            return query.query_id, None, str(error)


class PartlyLive:
    """Replays the questions whose candidates were captured and asks the engine the others.

    Parameters
    ----------
    replay
        What was captured, and the golden set.
    live
        Asks the questions of which the engine does not show all candidates.
    """

    def __init__(self, replay: Replay, live: LiveSearch) -> None:
        self._replay, self._live = replay, live
        number = {query_id: place for place, query_id in enumerate(replay.judgments.query_ids)}
        self._asked = np.array([number[q] for q in live.judgments.query_ids], np.intp)

    def run(
        self, settings: Sequence[Settings], metrics: Sequence[Metric], stop: Callable[[], bool]
    ) -> Iterator[Done]:
        """Yield the figures of each settings, in order; see :meth:`LiveSearch.run`."""
        for done in self._live.run(settings, metrics, stop):
            if done.value is None:
                yield done
                continue
            positions = self.positions(done.settings)
            deepest = max(1, int(positions.position.max(initial=0)))
            evaluator = Evaluator(self._replay.judgments, metrics, deepest)
            yield done._replace(value=evaluator.figures(positions).value)

    def positions(self, settings: Sequence[Settings]) -> Positions:
        """Return the positions of expected keys: of some questions replayed, of others answered."""
        judgments = self._replay.judgments
        parts = []
        for item in settings:
            replayed = self._replay.positions([item])
            answered = Run(self._live.answers(item)).positions(judgments)
            kept = ~np.isin(judgments.key_query[replayed.row_key], self._asked)
            row_key = np.concatenate([replayed.row_key[kept], answered.row_key])
            position = np.concatenate([replayed.position[0, kept], answered.position[0]])
            order = np.argsort(row_key, kind="stable")
            returned = replayed.returned.copy()
            returned[0, self._asked] = answered.returned[0, self._asked]
            parts.append(Positions(judgments, row_key[order], position[None, order], returned))
        return _together(parts)


def _together(parts: Sequence[Positions]) -> Positions:
    """Join positions of one trial each."""
    judgments = parts[0].judgments
    n_keys = len(judgments.keys)
    counts = np.zeros(n_keys, np.intp)
    for part in parts:
        np.maximum(counts, np.bincount(part.row_key, minlength=n_keys), out=counts)
    row_key = np.repeat(np.arange(n_keys), counts)
    start = np.cumsum(counts) - counts
    position = np.zeros((len(parts), len(row_key)), np.int32)
    for trial, part in enumerate(parts):
        first = np.searchsorted(part.row_key, part.row_key)  # rows of one key stand together
        place = start[part.row_key] + np.arange(len(part.row_key)) - first
        position[trial, place] = part.position[0]
    returned = np.concatenate([part.returned for part in parts])
    return Positions(judgments, row_key, position, returned)


def _told(failures: Mapping[QueryId, str]) -> str:
    named = [f"{name!r}: {text}" if name else text for name, text in failures.items()][:_NAMED]
    more = len(failures) - len(named)
    rest = f"; and {more} more" if more > 0 else ""
    return f"{len(failures)} of the questions were not answered ({'; '.join(named)}{rest})"
