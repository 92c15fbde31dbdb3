"""What the report says of a sweep, computed once; ``document`` decides how much of it is shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sweeper.compare import Difference, compare_values, outcomes
from sweeper.comparison import Comparison, Moved, Side, compare_trials
from sweeper.constraints import Constraint, Objective
from sweeper.explain import Explanation, explain_many
from sweeper.golden import OVERALL, QueryId
from sweeper.intervals import Interval95
from sweeper.page.knob_lines import KnobLines, with_curves
from sweeper.pick import Answer, Pick
from sweeper.pictures import goals_of
from sweeper.results import Results
from sweeper.runs import lowest
from sweeper.settings import Settings
from sweeper.tables import plain

__all__ = ["Findings", "distinct_names"]

_SEED = 19_790_701  # any fixed number makes tests and intervals repeat

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
    def differences(self) -> tuple[Difference, ...]:
        """What the comparison says per slice and metric, and the same where less is better.

        The latter are tested among themselves, so that the former are those of the comparison.
        """
        if self.comparison is None:
            return ()
        order = [*self.results.golden.slices, OVERALL]
        found = [*self.comparison.differences, *self._where_less_is_better()]
        return tuple(sorted(found, key=lambda item: order.index(item.slice)))

    def _where_less_is_better(self) -> Iterator[Difference]:
        assert self.subject is not None
        results, trials = self.results, [self.current, self.subject.trial]
        texts = [str(metric) for metric in results.metrics]
        less = [text for text, goal in goals_of(results, *texts).items() if goal == "minimize"]
        values = results.scores(trials).values
        queries, slices = results.golden.queries, results.golden.slices
        own = [results.settings[n].for_class(q.query_class) for n in trials for q in queries]
        for metric in less:
            # Turned round and within -1 and 0; a power of two, so that no bit is lost.
            most = max(float(np.nanmax(values[metric], initial=1.0)), *(s.limit for s in own))
            unit = 2.0 ** math.ceil(math.log2(most))
            turned = -values[metric] / unit
            for item in compare_values(
                {metric: turned[0]},
                {metric: turned[1]},
                slices,
                np.array([slices.index(query.slice) for query in queries], np.intp),
                seed=_SEED,
            ):
                wide = item.interval
                yield replace(
                    item,
                    baseline=-unit * item.baseline + 0.0,
                    challenger=-unit * item.challenger + 0.0,
                    interval=wide and Interval95(-unit * wide.high, -unit * wide.low, wide.method),
                    needed=None,
                )

    @cached_property
    def deciding(self) -> list[str]:
        """Figures of the recommendation's objectives and bounds."""
        found = [item.address for item in self.objectives]
        found += [item.address for item in self.constraints]
        return list(dict.fromkeys(found))

    @cached_property
    def addresses(self) -> list[str]:
        """Every figure that is known: those that decide and are drawn, over all questions, rest."""
        results = self.results
        wide = results.wide()
        known = [address for address in wide.columns if wide[address].notna().any()]
        wanted = list(self.deciding)
        wanted += [plot[axis] for plot in results.manifest["plots"] for axis in ("x", "y")]
        wanted = [address for address in wanted if address in wide.columns]
        wanted += [address for address in known if address.rpartition(".")[0] == OVERALL]
        return list(dict.fromkeys([*wanted, *known]))

    @cached_property
    def names(self) -> dict[str, str]:
        """How each slice is called: without control characters, and apart from every other."""
        return distinct_names([*self.results.golden.slices, OVERALL])

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


def distinct_names(names: Sequence[str]) -> dict[str, str]:
    r"""Return names with whatever could hide text written out, each unlike the others.

    Examples
    --------
    >>> list(distinct_names(["a\x07", "a\\x07", "b"]).values())
    ['a\\x07 (2)', 'a\\x07', 'b']
    """
    taken = {name for name in names if plain(name) == name}
    found = {}
    for name in names:
        text = told = plain(name)
        number = 2
        while told != name and told in taken:
            told, number = f"{text} ({number})", number + 1
        taken.add(told)
        found[name] = told
    return found
