"""What the report says of a sweep, computed once; ``document`` decides how much of it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sweeper.compare import outcomes
from sweeper.comparison import Comparison, Moved, Side, compare_trials
from sweeper.constraints import Constraint, Objective
from sweeper.explain import Explanation, explain_many
from sweeper.golden import QueryId
from sweeper.page.knob_lines import KnobLines, with_curves
from sweeper.pick import Answer, Pick
from sweeper.pictures import goals_of
from sweeper.results import Results
from sweeper.runs import lowest
from sweeper.settings import Settings

__all__ = ["Findings"]

_EACH_WAY = 12
"""Questions that are explained of those that gain most, and of those that lose most."""


@dataclass(frozen=True, eq=False)
class Findings:
    """One sweep and its recommendation, seen as a page shows them.

    Attributes
    ----------
    results
        A finished sweep.
    pick
        Its recommendation; ``None`` where there is none.
    problem
        Why there is none.
    """

    results: Results
    pick: Pick | None
    problem: str | None = None

    @cached_property
    def current(self) -> int:
        """Trial of the settings that run today."""
        return self.results.trial("current")

    @cached_property
    def subject(self) -> Answer | None:
        """The setting that is held against today's: the pick, else the best feasible one."""
        if self.pick is None:
            return None
        answer = self.pick.best if self.pick.keep else self.pick.chosen
        return None if answer.trial == self.current else answer

    @cached_property
    def settings(self) -> Settings | None:
        """The subject's settings, as they are recommended."""
        return None if self.subject is None else self.subject.settings

    @cached_property
    def comparison(self) -> Comparison | None:
        """The subject against today's setting, with intervals and tests."""
        if self.subject is None:
            return None
        sides = (Side(self.results, number) for number in (self.current, self.subject.trial))
        return compare_trials(*sides)

    @cached_property
    def curves(self) -> tuple[list[KnobLines], list[str]]:
        """The exact curves, and what is said of knobs without one."""
        return with_curves(self.results, self.results.settings[self.current], self.settings)

    @cached_property
    def ranked(self) -> list[int]:
        """Trials with figures, those that a reader asks for first: the rest is evenly mixed."""
        results = self.results
        wanted = [self.current]
        if self.pick is not None:
            answers = (self.pick.chosen, self.pick.best, self.pick.supported)
            wanted += [answer.trial for answer in answers if answer is not None]
        wanted += results.trials.index[results.trials["arm"].notna()].tolist()
        goals = {item.address: item.direction for item in self.objectives}
        wanted += results.pareto(goals)["number"].tolist()
        for plot in results.manifest["plots"]:
            wanted += results.pareto(goals_of(results, plot["x"], plot["y"]))["number"].tolist()
        wanted += [n for name in results.varied_knobs for n in results.plane(name)]
        figures = results.wide().to_numpy(np.float64)
        known = ~np.isnan(figures).all(axis=0)
        wanted += np.nanargmax(figures[:, known], axis=0).tolist()
        wanted += np.nanargmin(figures[:, known], axis=0).tolist()
        # An id is a hash, so their order is a shuffle that repeats.
        wanted += results.trials.sort_values("trial_id")["number"].tolist()
        done = (results.trials["status"] != "failed").to_numpy()
        return [n for n in dict.fromkeys(int(n) for n in wanted) if done[n]]

    @cached_property
    def objectives(self) -> tuple[Objective, ...]:
        """What the recommendation looks for; the sweep's own where there is none."""
        return self.results.objectives if self.pick is None else self.pick.objectives

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The bounds of the recommendation; the sweep's own where there is none."""
        return self.results.constraints if self.pick is None else self.pick.constraints

    def meets(self, trials: Sequence[int]) -> list[bool]:
        """Return which trials meet every constraint."""
        wide = self.results.wide([item.address for item in self.constraints])
        figures = {address: wide[address].tolist() for address in wide.columns}
        return [
            all(
                item.holds(figures[item.address][number], figures[item.address][self.current])
                for item in self.constraints
            )
            for number in trials
        ]

    def tally(self, trials: Sequence[int]) -> list[tuple[int, int]]:
        """Return how many questions each trial answers better and worse than today's."""
        return [(item.better, item.worse) for item in self.results.tallies(trials)]

    def outcomes(self, trials: Sequence[int]) -> NDArray[np.int8]:
        """Return how each question fares against today, as in ``compare.outcomes``."""
        scores = self.results.scores([self.current, *trials])
        return outcomes(scores.values, self.results.metrics, 0)[1:]

    def first_positions(self, trials: Sequence[int]) -> Iterator[tuple[int, NDArray[np.integer]]]:
        """Yield trials with the first position of an expected key per question; 0 is absent."""
        results = self.results
        if not results.replayable:
            for number in trials:
                yield number, results.per_query(number)["first_position"].to_numpy(np.int64)
            return
        groups: dict[object, list[int]] = {}
        for number in trials:
            groups.setdefault(results.settings[number].origin, []).append(number)
        found: dict[int, NDArray[np.integer]] = {}
        for members in groups.values():
            positions = results.positions(members)
            judgments = positions.judgments
            first = np.zeros((len(members), judgments.n_queries), np.int64)
            if len(judgments.answerable):
                by_query = lowest(positions.first(), judgments.key_start)
                first[:, judgments.answerable] = by_query
            found |= dict(zip(members, first, strict=True))
        yield from ((number, found[number]) for number in trials)

    @cached_property
    def explanations(self) -> list[tuple[Moved | None, Explanation, Explanation | None]]:
        """Questions under today's settings and the subject's, those that moved most first.

        Without a subject: the questions that are answered worst today.
        """
        results = self.results
        if not results.replayable:
            return []
        today = results.settings[self.current]
        if self.comparison is None or self.settings is None:
            now = explain_many(results.replay, self._worst(), today)
            return [(None, answer, None) for answer in now]
        moved = self.comparison.moved
        losses = [item for item in moved if item.gain < 0][:_EACH_WAY]
        gains = [item for item in moved if item.gain > 0][:_EACH_WAY]
        told = [*losses, *gains]
        ids = [item.query_id for item in told]
        sides = (explain_many(results.replay, ids, item) for item in (today, self.settings))
        return list(zip(told, *sides, strict=True))

    def _worst(self) -> list[QueryId]:
        [(_, first)] = self.first_positions([self.current])
        queries = self.results.golden.queries
        places = [(place or 10**9, n) for n, place in enumerate(first) if queries[n].answerable]
        worst = sorted((-place, n) for place, n in places if place > 1)
        return [queries[n].query_id for _, n in worst[:_EACH_WAY]]
