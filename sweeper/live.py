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
from sweeper.evaluate import evaluate
from sweeper.fanout import Done
from sweeper.golden import GoldenSet, Key, Query, QueryId
from sweeper.metrics import Metric
from sweeper.replay import Replay
from sweeper.runs import Judgments, Positions, Run
from sweeper.settings import Settings
from sweeper.store import Journal

__all__ = ["LiveSearch", "PartlyLive"]

_KEPT_EVERY = 0.2
"""Seconds between two writes of answers."""

_GIVE_UP = 3
"""Questions that fail before any is answered under some settings: the engine is down."""

_NAMED = 3
"""Unanswered questions that a message names; the others are counted."""


class LiveSearch:
    """Asks engines for their rankings of questions.

    Parameters
    ----------
    engine_of
        Gives the engine that answers under some settings; it is asked by as many threads at once
        as it says it can take.
    golden
        All questions.
    answers
        Where answers are kept; those in it already are not asked again.
    questions_of
        Gives the questions to ask under some settings; all of them by default.
    timeout_seconds
        Longest time for all questions of one settings.
    """

    def __init__(
        self,
        engine_of: Callable[[Settings], Engine],
        golden: GoldenSet,
        answers: Journal,
        *,
        questions_of: Callable[[Settings], Sequence[Query]] | None = None,
        timeout_seconds: float | None = None,
    ) -> None:
        self._engine_of = engine_of
        self._questions_of = questions_of or (lambda settings: golden.queries)
        self._answers = answers
        self._timeout = timeout_seconds
        self._runs: dict[str, dict[QueryId, tuple[Key, ...]]] = {}
        self.judgments = Judgments(golden)
        self.n_captured = 0
        for record in answers.records:
            own = self._runs.setdefault(str(record["trial"]), {})
            own[str(record["query"])] = tuple(record["keys"])
        answers.records.clear()

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
            If the first questions under some settings all fail: the engine is down, and the answers
            so far are kept.
        """
        for item in settings:
            started = time.perf_counter()
            queries = self._questions_of(item)
            failures, late = self._ask(item, queries, stop)
            seconds = time.perf_counter() - started
            if failures and not self.answers(item):
                raise EngineError(
                    f"the engine answers no question under {item.text} "
                    f"({next(iter(failures.values()))}). What it answered before is kept; the "
                    "same command goes on from there."
                )
            if failures or late:
                yield Done((item,), None, _told(failures, late), seconds, os.getpid())
            elif any(query.query_id not in self.answers(item) for query in queries):
                return  # stopped in the middle
            else:
                value = evaluate(self.positions([item]), metrics).value
                yield Done((item,), value, None, seconds, os.getpid())

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

    def _ask(
        self, settings: Settings, queries: Sequence[Query], stop: Callable[[], bool]
    ) -> tuple[dict[QueryId, str], str]:
        """Ask the questions that lack an answer.

        Returns
        -------
        failures
            What went wrong with each question that was asked and not answered.
        rest
            Why others were not asked; empty if all were.
        """
        from joblib import Parallel, delayed

        known = self._runs.setdefault(settings.trial_id, {})
        waiting = [query for query in queries if query.query_id not in known]
        until = None if self._timeout is None else time.monotonic() + self._timeout
        late = down = False
        answered = 0

        def feed() -> Iterator[Query]:
            nonlocal late, down
            for query in waiting:
                late = until is not None and time.monotonic() > until
                down = not answered and len(failures) >= _GIVE_UP
                if late or down or stop():
                    return
                yield query

        failures: dict[QueryId, str] = {}
        engine = self._engine_of(settings)
        search = engine.search_keys if isinstance(engine, PartlyShown) else engine.search

        def answer(query: Query) -> tuple[QueryId, tuple[Key, ...] | None, str]:
            try:
                own = settings.for_class(query.query_class)
                return query.query_id, tuple(search(query, own)), ""
            except SweeperError as error:
                return query.query_id, None, str(error)

        n_threads = max(1, min(engine.n_threads, len(waiting)))
        parallel = Parallel(n_jobs=n_threads, backend="threading", return_as="generator_unordered")
        with _Keeper(self._answers) as keeper:
            for query_id, keys, error in parallel(delayed(answer)(query) for query in feed()):
                if keys is None:
                    failures[query_id] = error
                    continue
                known[query_id] = keys
                answered += 1
                keeper.keep({"trial": settings.trial_id, "query": query_id, "keys": list(keys)})
        left = sum(query.query_id not in known for query in queries) - len(failures)
        if down and left:
            return failures, f"{left} more were not asked"
        if late:
            said = f"it took longer than {self._timeout:g} seconds; {left} questions are left"
            return failures, said
        return failures, ""


class _Keeper:
    """Writes answers a few times a second: waiting for the disk takes longer than many answers."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting: list[dict[str, Any]] = []
        self._written = time.monotonic()

    def keep(self, record: dict[str, Any]) -> None:
        self._waiting.append(record)
        if time.monotonic() - self._written > _KEPT_EVERY:
            self._write()

    def _write(self) -> None:
        self._journal.append(self._waiting)
        self._waiting, self._written = [], time.monotonic()

    def __enter__(self) -> _Keeper:
        return self

    def __exit__(self, *_: object) -> None:
        if self._waiting:
            self._write()


class PartlyLive:
    """Replays the questions whose candidates were captured and asks the engine the others.

    Parameters
    ----------
    replay
        What was captured, and the golden set.
    live
        Asks the questions of which the engine does not show all candidates.
    questions_of
        Gives these questions under some settings.
    """

    def __init__(
        self,
        replay: Replay,
        live: LiveSearch,
        questions_of: Callable[[Settings], Sequence[Query]],
    ) -> None:
        self._replay, self._live, self._questions_of = replay, live, questions_of

    def run(
        self, settings: Sequence[Settings], metrics: Sequence[Metric], stop: Callable[[], bool]
    ) -> Iterator[Done]:
        """Yield the figures of each settings, in order; see ``LiveSearch.run``."""
        for done in self._live.run(settings, metrics, stop):
            if done.value is None:
                yield done
            else:
                yield done._replace(value=evaluate(self.positions(done.settings), metrics).value)

    def positions(self, settings: Sequence[Settings]) -> Positions:
        """Return the positions of expected keys: of some questions replayed, of others answered."""
        judgments = self._replay.judgments
        number = {query_id: place for place, query_id in enumerate(judgments.query_ids)}
        parts = []
        for item in settings:
            asked = np.array([number[q.query_id] for q in self._questions_of(item)], np.intp)
            replayed = self._replay.positions([item])
            answered = Run(self._live.answers(item)).positions(judgments)
            kept = ~np.isin(judgments.key_query[replayed.row_key], asked)
            row_key = np.concatenate([replayed.row_key[kept], answered.row_key])
            position = np.concatenate([replayed.position[0, kept], answered.position[0]])
            order = np.argsort(row_key, kind="stable")
            returned = replayed.returned.copy()
            returned[0, asked] = answered.returned[0, asked]
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


def _told(failures: Mapping[QueryId, str], late: str) -> str:
    if not failures:
        return late
    named = [f"{name!r}: {text}" for name, text in failures.items()][:_NAMED]
    more = len(failures) - len(named)
    rest = f"; and {more} more" if more > 0 else ""
    said = f"{len(failures)} of the questions were not answered ({'; '.join(named)}{rest})"
    return f"{said}; {late}" if late else said
