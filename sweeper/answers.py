"""An engine's own answers beside the expected ones, position by position.

What is expected is the replay of the candidates that a sweep captured; where the engine does not
show them all, what it answered the sweep. Such answers are keys, replayed ones are item ids.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sweeper.asking import ask
from sweeper.causes import Cause
from sweeper.engines.base import Boosted, Engine, PartlyShown
from sweeper.errors import EngineError, InputError, SweeperError
from sweeper.evaluate import evaluate
from sweeper.faults import Observation, uncut
from sweeper.golden import GoldenSet, ItemId, Key, Query, QueryId
from sweeper.knobs import Value, knob
from sweeper.opening import Progress, silent
from sweeper.pools import QueryCandidates
from sweeper.ranking import NO_PRIOR, RankedRow, rank
from sweeper.results import Results
from sweeper.runs import Judgments, Run
from sweeper.settings import Settings

__all__ = ["Answers", "Check", "Difference", "Probe", "Repeats"]

_N_CALLS = 3
"""Identical calls per question; the spread of their figures is what no gate can tell apart."""

_PROBES = 10
"""Questions on which a knob has to show that it does something."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first position at which an answer differs from the expected one.

    ``live`` and ``replayed`` are the ids there; ``None`` past the end of the shorter answer.
    ``live_row`` and ``replayed_row`` are what replay says of them, at the position where it has
    them; ``None`` for a row that it has nowhere.
    """

    query_id: QueryId
    slice: str
    text: str
    position: int
    live: ItemId | None
    replayed: ItemId | None
    live_row: RankedRow | None = None
    replayed_row: RankedRow | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One settings: how many questions were compared, and those that differ."""

    name: str
    settings: Settings
    n_questions: int
    differences: tuple[Difference, ...]

    @property
    def n_equal(self) -> int:
        return self.n_questions - len(self.differences)


@dataclass(frozen=True, slots=True)
class Repeats:
    """What identical calls gave under today's setting.

    ``unsteady`` are questions whose answers differ between calls; ``spread`` is, per figure, the
    highest minus the lowest value over the calls, on the questions asked.
    """

    n_calls: int
    n_questions: int
    unsteady: tuple[QueryId, ...]
    spread: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Probe:
    """The two ends of one knob, compared; ``idle`` says that the engine does not obey it."""

    checks: tuple[Check, ...]
    idle: Cause | None


class Answers:
    """Asks an engine, each question once per settings, and compares as answers come.

    Parameters
    ----------
    results
        Say what is expected.
    engine_of
        Returns the engine that searches under some settings.
    progress
        Told how many questions of a step were answered.
    """

    def __init__(
        self,
        results: Results,
        engine_of: Callable[[Settings], Engine],
        progress: Progress = silent,
    ) -> None:
        self._results, self._engine_of, self._progress = results, engine_of, progress
        self._live: dict[tuple[Settings, QueryId], tuple[ItemId, ...]] = {}
        self._places: dict[str, dict[QueryId, int]] = {}
        self._n_compared = self._n_different = 0
        self.observations: list[Observation] = []
        """What was returned to each question asked, with the candidates that replay ranks."""
        self.channels: tuple[str, ...] = results.pool.channels if results.replayable else ()

    def expected(self, settings: Settings, query: Query) -> tuple[ItemId, ...]:
        """Return the ids that are expected, best first; keys where there are no candidates.

        Raises
        ------
        InputError
            If nothing was captured, or answered, under these settings.
        """
        if self._results.replayable:
            rows = rank(
                self._candidates(settings, query),
                settings,
                channels=self.channels,
                query_class=query.query_class,
                prior=self._prior(settings),
            )
            return tuple(row.item_id for row in rows)
        try:
            number = self._results.trial(settings.trial_id)
        except InputError:
            raise InputError(
                f"{self._results.address}: its engine does not show all candidates, and it was "
                f"never asked under {settings.text}. Choose one of the sweep's trials."
            ) from None
        return tuple(self._results.returned(number, query.query_id))

    def _prior(self, settings: Settings) -> Mapping[Key, float]:
        """Return what usage says of keys, if the engine's own search applies that."""
        if not isinstance(self._engine_of(settings), Boosted):
            return NO_PRIOR
        return self._results.pool.prior_factors(settings)

    def check(self, name: str, settings: Settings, questions: Sequence[Query]) -> Check:
        """Compare the answers to some questions under one settings; those not compared before.

        Raises
        ------
        EngineError
            If one is not answered. It says what was compared before.
        """
        new = [query for query in questions if (settings, query.query_id) not in self._live]
        for query, live in self._ask(name, settings, new):
            self._live[settings, query.query_id] = live
            self._n_compared += 1
            self._n_different += live != self.expected(settings, query)
            if self._results.replayable:
                seen = Observation(
                    query.query_id,
                    settings.for_class(query.query_class),
                    self._candidates(settings, query),
                    live,
                    self._prior(settings),
                )
                self.observations.append(seen)
        differences = [self._difference(settings, query) for query in new]
        return Check(name, settings, len(new), tuple(one for one in differences if one))

    def probe(
        self,
        name: str,
        ends: tuple[Value, Value],
        bases: Sequence[Settings],
        questions: Sequence[Query],
    ) -> Probe | None:
        """Ask at two far ends of a knob's range what replay answers differently there.

        Parameters
        ----------
        name
            The knob.
        ends
            Its values.
        bases
            Give the other knobs; the first is taken under which replay depends on the knob.
        questions
            Come first; then those of the golden set.

        Returns
        -------
        Probe or None
            ``None`` if replay gives the same at both ends, whatever the question.
        """
        others = [query for query in self._results.golden.queries if query not in questions]
        for base in bases:
            pair = [base.with_values({name: value}) for value in ends]
            moved = self._moved(pair[0], pair[1], (*questions, *others))
            asked = list(itertools.islice(moved, _PROBES))
            if asked:
                break
        else:
            return None
        low, high = (knob(name).format(value) for value in ends)
        checks = tuple(
            self.check(f"{name}={text}", own, asked)
            for text, own in zip((low, high), pair, strict=True)
        )
        if any(self._live[pair[0], q.query_id] != self._live[pair[1], q.query_id] for q in asked):
            return Probe(checks, None)
        obeyed = self._engine_of(pair[0]).knobs
        told = obeyed is None or name in obeyed
        text = (
            f"{name}: the engine gives the same answers at {low} and at {high} to {len(asked)} "
            f"question{'s' * (len(asked) > 1)} that replay answers differently. "
            f"It {'ignores' if told else 'is never told'} this knob."
        )
        n_explained = sum(
            self._live[own, query.query_id] != self.expected(own, query)
            for own in pair
            for query in asked
        )
        return Probe(checks, Cause("no effect" if told else "not told", text, n_explained, name))

    def repeats(self, settings: Settings, questions: Sequence[Query]) -> Repeats:
        """Ask again what was checked under some settings, and see what changes.

        Raises
        ------
        EngineError
            If a question is not answered this time.
        """
        calls = [{q.query_id: self._live[settings, q.query_id] for q in questions}]
        for number in range(2, _N_CALLS + 1):
            answers = self._ask(f"call {number}", settings, questions)
            calls.append({query.query_id: live for query, live in answers})
        ids = [query.query_id for query in questions]
        unsteady = tuple(name for name in ids if len({call[name] for call in calls}) > 1)
        return Repeats(len(calls), len(ids), unsteady, self._spread(questions, calls))

    def _spread(
        self, questions: Sequence[Query], calls: Sequence[Mapping[QueryId, Sequence[ItemId]]]
    ) -> dict[str, float]:
        """Return, per objective, how far its figure over the questions moves between calls."""
        keys: dict[ItemId, str] = {}
        if self._results.replayable:
            pool = self._results.pool
            keys = dict(zip(pool.item_ids, pool.item_keys, strict=True))
        judgments = Judgments(GoldenSet(tuple(questions)))
        figures = []
        for call in calls:
            run = Run(
                {name: [keys.get(item, item) for item in live] for name, live in call.items()}
            )
            figures.append(evaluate(run.positions(judgments), self._results.metrics))
        spread = {}
        for address in (item.address for item in self._results.objectives):
            if address.rpartition(".")[0] in figures[0].groups:  # a small sample may lack a slice
                values = [one.get(address) for one in figures]
                if not any(map(math.isnan, values)):
                    spread[address] = max(values) - min(values)
        return spread

    def _moved(self, low: Settings, high: Settings, queries: Sequence[Query]) -> Iterator[Query]:
        """Yield the questions that replay answers differently under two settings."""
        for query in queries:
            if self.expected(low, query) != self.expected(high, query):
                yield query

    def _candidates(self, settings: Settings, query: Query) -> QueryCandidates:
        """Return the candidates of both stores; ranking leaves out what is out of scope."""
        try:
            pool = self._results.replay.of(settings.with_values({"stores": "all"})).pool
        except ValueError as error:
            raise InputError(f"{settings.text}: {error}. Add it to the sweep's space.") from error
        if settings.effective_depth > pool.depth:
            raise InputError(
                f"{settings.text}: the candidates reach down to {pool.depth} only. Choose a depth "
                "of at most that."
            )
        captured = settings.origin.captured
        if captured not in self._places:
            self._places[captured] = {own: place for place, own in enumerate(pool.query_ids)}
        return pool.candidates(self._places[captured][query.query_id])

    def _difference(self, settings: Settings, query: Query) -> Difference | None:
        """Return where the answer to a question first differs from the expected one."""
        live, expected = self._live[settings, query.query_id], self.expected(settings, query)
        pairs = enumerate(itertools.zip_longest(live, expected), start=1)
        parted = next(((place, *pair) for place, pair in pairs if pair[0] != pair[1]), None)
        if parted is None:
            return None
        place, ours, theirs = parted
        rows: dict[ItemId, RankedRow] = {}
        if self._results.replayable:
            every = uncut(
                self._candidates(settings, query),
                settings.for_class(query.query_class),
                self.channels,
                self._prior(settings),
            )
            rows = {row.item_id: row for row in every}
        return Difference(
            query.query_id,
            query.slice,
            query.text,
            place,
            ours,
            theirs,
            None if ours is None else rows.get(ours),
            None if theirs is None else rows.get(theirs),
        )

    def _ask(
        self, step: str, settings: Settings, questions: Sequence[Query]
    ) -> Iterator[tuple[Query, tuple[ItemId, ...]]]:
        """Yield the answers in the order of the questions."""
        engine = self._engine_of(settings)
        search: Callable[[Query, Settings], Sequence[str]] = engine.search
        if not self._results.replayable and isinstance(engine, PartlyShown):
            search = engine.search_keys  # a sweep that had to ask kept keys
        self._progress(step, 0, len(questions))
        answers = ask(search, settings, questions, n_threads=engine.n_threads)
        for done, (query, answer) in enumerate(answers, start=1):
            if isinstance(answer, SweeperError):
                raise self._failed(query, answer)
            yield query, answer
            self._progress(step, done, len(questions))

    def _failed(self, query: Query, error: SweeperError) -> SweeperError:
        if isinstance(error, InputError):  # a missing key or package
            return error
        told = f"{self._n_different} of them differ" if self._n_different else "all as expected"
        before = f"{self._n_compared} answers were compared before, {told}."
        if not self._n_compared:
            before = "Nothing was compared before."
        return EngineError(f"question {query.query_id!r}: {error} {before}")
