"""Named settings side by side: their figures, and what each moves against what it is built on."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sweeper.golden import OVERALL
from sweeper.intervals import mean_interval
from sweeper.knobs import knob
from sweeper.metrics import ClassAccuracy
from sweeper.pools import FloatArray
from sweeper.recommend import Scores
from sweeper.result_tables import Table, figure_columns, tallies, worth_of_a_question
from sweeper.results import Results
from sweeper.settings import Settings
from sweeper.tables import Column, plain

__all__ = ["Arm", "Move", "arms_of", "arms_table", "moves_of", "moves_tables", "verdict_table"]

_SEED = 0
_TODAY = "today"
_CHANGES_SHOWN = 60


class Arm(NamedTuple):
    """A named setting, its trial, and the arm that it is built on (``today`` by default)."""

    name: str
    trial: int
    base: str
    base_trial: int


class Move(NamedTuple):
    """What an arm moves a metric by in one slice: the mean difference per question.

    ``low`` and ``high`` are the ends of a 95 % interval; ``None`` where there is none.
    """

    arm: str
    metric: str
    group: str
    n_queries: int
    difference: float
    low: float | None
    high: float | None

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` where the interval excludes 0, else ``no difference shown``."""
        if self.low is not None and self.low > 0:
            return "better"
        if self.high is not None and self.high < 0:
            return "worse"
        return "no difference shown"


def arms_of(results: Results) -> list[Arm]:
    """Return the arms that are not today's setting, in the order of the config."""
    names = results.trials["arm"]
    current = results.trial("current")
    numbers = {str(name): int(n) for n, name in enumerate(names) if isinstance(name, str)}
    bases = results.manifest.get("arms", {})
    order = [name for name in bases if name in numbers]  # as the config has them
    numbers = {name: numbers[name] for name in dict.fromkeys([*order, *numbers])}
    found = []
    for name, number in numbers.items():
        if number != current:
            base = bases.get(name) or _TODAY
            found.append(Arm(name, number, base, numbers.get(base, current)))
    return found


def arms_table(results: Results) -> Table | None:
    """Return one row per arm, today's settings first; ``None`` if the sweep has no arms."""
    arms = arms_of(results)
    if not arms:
        return None
    current = results.trial("current")
    addresses = results.manifest["table"]["columns"]
    wide = results.wide(addresses).to_numpy().tolist()
    every = [Arm(_TODAY, current, _TODAY, current), *arms]
    numbers = [arm.trial for arm in every]
    rows = [
        (
            arm.name,
            _changes(results.settings[arm.trial], results.settings[arm.base_trial], arm.base),
            *wide[arm.trial],
            score.better,
            score.worse,
        )
        for arm, score in zip(every, tallies(results, numbers), strict=True)
    ]
    return Table(
        "Named settings",
        (
            Column("arm"),
            Column("differs in", format=_shortened, key="changes"),
            *figure_columns(addresses),
            Column("better", "right"),
            Column("worse", "right"),
        ),
        tuple(rows),
        (
            "better, worse: questions compared with today.",
            *worth_of_a_question(results, [address.rpartition(".")[0] for address in addresses]),
        ),
        tuple(numbers),
    )


@functools.lru_cache(maxsize=1)  # printed, and written into the report
def moves_of(results: Results) -> list[Move]:
    """Return what each arm moves, per metric and slice, against what it is built on.

    Intervals of ``overall`` resample questions within their slices, and each question counts alike.
    Metrics that no setting can change, and those that count rows, are left out.
    """
    arms = arms_of(results)
    if not arms:
        return []
    numbers = dict.fromkeys(number for arm in arms for number in (arm.trial, arm.base_trial))
    place = {number: row for row, number in enumerate(numbers)}
    scores = results.scores(list(numbers))
    found = []
    for metric in results.metrics:
        if not metric.larger_is_better or isinstance(metric, ClassAccuracy):
            continue
        values = scores.values[str(metric)]
        for arm in arms:
            moved = values[place[arm.trial]] - values[place[arm.base_trial]]
            found += [
                _move(
                    arm, str(metric), group, moved[strata.any(axis=0)], [moved[s] for s in strata]
                )
                for group, strata in _groups(scores, np.logical_not(np.isnan(values).any(axis=0)))
            ]
    return found


def _groups(scores: Scores, defined: NDArray[np.bool_]) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return each slice, and ``overall``, with the slices that it is made of, as masks."""
    own = [
        (name, (defined & (scores.slice_of == number))[None])
        for number, name in enumerate(scores.slices)
    ]
    own = [(name, strata) for name, strata in own if strata.any()]
    return [*own, (OVERALL, np.concatenate([strata for _, strata in own]))] if own else []


def _move(
    arm: Arm, metric: str, group: str, moved: FloatArray, strata: Sequence[FloatArray]
) -> Move:
    interval = mean_interval(list(strata), seed=_SEED, bounds=(-1.0, 1.0))
    ends = (None, None) if interval is None else (interval.low, interval.high)
    return Move(arm.name, metric, group, len(moved), float(moved.mean()), *ends)


def moves_tables(results: Results, moves: Sequence[Move]) -> list[Table]:
    """Return a table per metric: what each arm moves in every slice, with intervals."""
    bases = {arm.name: arm.base for arm in arms_of(results)}
    tables = []
    for metric in dict.fromkeys(move.metric for move in moves):
        own = [move for move in moves if move.metric == metric]
        groups = {move.group: move.n_queries for move in own}
        rows = [
            (name, base, *(next(m for m in own if (m.arm, m.group) == (name, g)) for g in groups))
            for name, base in bases.items()
        ]
        shown = metric.upper() if metric in {"mrr", "ap"} else metric
        tables.append(
            Table(
                f"What each arm moves in {shown}, and the 95 % interval",
                (
                    Column("arm"),
                    Column("against", key="base"),
                    *(
                        Column(f"{group} ({n})", "right", _moved, key=group)
                        for group, n in groups.items()
                    ),
                ),
                tuple(rows),
            )
        )
    return tables


def verdict_table(results: Results, moves: Sequence[Move]) -> Table:
    """Return what moved, what did not and what got worse."""
    rows = []
    for arm in arms_of(results):
        for metric in dict.fromkeys(move.metric for move in moves):
            own = [move for move in moves if (move.arm, move.metric) == (arm.name, metric)]
            said = [
                ", ".join(
                    f"{move.group} {move.difference:+.2f}" if told else move.group
                    for move in own
                    if move.verdict == verdict
                )
                for verdict, told in (
                    ("better", True),
                    ("worse", True),
                    ("no difference shown", False),
                )
            ]
            rows.append((arm.name, arm.base, metric, *said))
    n_intervals = sum(move.low is not None for move in moves)
    return Table(
        "What moved, what got worse, and where no difference is shown",
        (
            Column("arm"),
            Column("against", key="base"),
            Column("metric"),
            *(Column(text, format=lambda value: plain(value) or "-") for text in _VERDICTS),
        ),
        tuple(rows),
        (
            f"An interval that excludes 0 counts as moved. Of {n_intervals} intervals of 95 %, "
            f"about {round(0.05 * n_intervals)} would exclude 0 even if no arm changed anything.",
        ),
    )


_VERDICTS = ("better", "worse", "no difference shown")


def _moved(move: Move) -> str:
    if move.low is None or move.high is None:
        return f"{move.difference:+.2f}"
    mark = "" if move.verdict == "no difference shown" else "*"
    return f"{mark}{move.difference:+.2f} ({move.low:+.2f} to {move.high:+.2f})"


def _changes(own: Settings, base: Settings, base_name: str) -> str:
    names = dict.fromkeys([*base.as_dict(), *own.as_dict()])
    changed = [name for name in names if own.given(name) != base.given(name)]
    said = ", ".join(f"{name} {knob(name).format(own.given(name))}" for name in changed)
    return said if base_name == _TODAY else f"{base_name}, and {said}"


def _shortened(changes: str) -> str:
    """Return a text of changes in which those of classes are summed up, if it is long."""
    if not changes:
        return "-"
    if len(changes) <= _CHANGES_SHOWN:
        return plain(changes)
    parts = changes.split(", ")
    classes = dict.fromkeys(m[1] for part in parts if (m := _ROUTED.search(part)))
    rest = [part for part in parts if not _ROUTED.search(part)]
    summed = f"routing of {', '.join(classes)}" if classes else ""
    return plain(", ".join([*rest, summed] if summed else rest))


_ROUTED = re.compile(r"routing\.([\w-]+)\.")
