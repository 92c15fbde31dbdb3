"""Named settings side by side: their figures, and what each moves against what it is built on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sweeper.golden import OVERALL
from sweeper.intervals import mean_interval
from sweeper.knobs import knob
from sweeper.metrics import ClassAccuracy
from sweeper.pools import FloatArray
from sweeper.result_tables import Table, worth_of_a_question
from sweeper.results import Results
from sweeper.scores import Scores
from sweeper.settings import Settings
from sweeper.tables import Column, plain

__all__ = ["Arm", "Move", "arms_of", "arms_table", "moves_of", "moves_tables", "verdict_table"]

_SEED = 0
_TODAY = "today"
_WIDTH = 107
"""Columns of text that a table of arms may take where no terminal says it."""

_CHANGES_SHOWN = 64
_GROUP_SHOWN = 40
"""Characters of what an arm changes: in all, and beyond that of budgets and of weights."""

_FEW = 20


class Arm(NamedTuple):
    """A named setting, its trial, and the arm that it is built on (``today`` by default)."""

    name: str
    trial: int
    base: str
    base_trial: int


class Move(NamedTuple):
    """What an arm moves a metric by in one slice: the mean difference per question.

    ``low`` and ``high`` are the ends of a 95 % interval; ``None`` where there is none. ``n_differ``
    of the questions have another value of the metric.
    """

    arm: str
    metric: str
    group: str
    n_queries: int
    difference: float
    low: float | None
    high: float | None
    n_differ: int

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
    ids, names = results.trials["trial_id"].tolist(), results.trials["arm"].tolist()
    place = {trial_id: number for number, trial_id in enumerate(ids)}
    # Of a version whose arms were all built on today's setting, the table alone tells.
    old = {n: {"from": None, "trial_id": i} for i, n in zip(ids, names, strict=True)}
    told = results.manifest.get("arms", {n: arm for n, arm in old.items() if isinstance(n, str)})
    current = results.trial("current")
    numbers = {name: place[arm["trial_id"]] for name, arm in told.items()}
    return [
        Arm(name, number, told[name]["from"] or _TODAY, numbers.get(told[name]["from"], current))
        for name, number in numbers.items()
        if number != current or told[name]["from"] is not None
    ]


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
        for arm, score in zip(every, results.tallies(numbers), strict=True)
    ]
    return Table(
        "Named settings",
        (
            Column("arm", whole=True),
            Column("differs in", format=_shortened, key="changes"),
            *(Column(_figure(address), "right", key=address) for address in addresses),
            Column("better", "right"),
            Column("worse", "right"),
        ),
        tuple(rows),
        (
            "better, worse: questions compared with today.",
            *worth_of_a_question(results, [address.rpartition(".")[0] for address in addresses]),
        ),
        tuple(numbers),
        width=_WIDTH,
    )


_MOVES: WeakKeyDictionary[Results, tuple[Move, ...]] = WeakKeyDictionary()
"""Moves are printed and written into the report; they go with their results."""


def moves_of(results: Results) -> tuple[Move, ...]:
    """Return what each arm moves, per metric and slice, against what it is built on.

    Intervals of ``overall`` resample questions within their slices, and each question counts alike.
    Metrics that no setting can change, and those that count rows, are left out.
    """
    if results not in _MOVES:
        _MOVES[results] = tuple(_moves(results))
    return _MOVES[results]


def _moves(results: Results) -> list[Move]:
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
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    n_differ = int((moved != 0).sum())
    return Move(arm.name, metric, group, len(moved), float(moved.mean()), low, high, n_differ)


def moves_tables(results: Results, moves: Sequence[Move]) -> list[Table]:
    """Return a table per metric: what each arm moves in every slice, and overall with its interval.

    The one slice of a golden set without others is left out: it is ``overall``.
    """
    bases = {arm.name: arm.base for arm in arms_of(results)}
    moves = _distinct(results, moves)
    tables = []
    for metric in dict.fromkeys(move.metric for move in moves):
        own = [move for move in moves if move.metric == metric]
        groups = {move.group: move.n_queries for move in own}
        rows = [
            (name, base, *(next(m for m in own if (m.arm, m.group) == (name, g)) for g in groups))
            for name, base in bases.items()
        ]
        tables.append(
            Table(
                f"What each arm moves in {_metric(metric)}, and the 95 % interval of {OVERALL}",
                (
                    Column("arm", whole=True),
                    Column("against", key="base", whole=True),
                    *(
                        Column(
                            f"{group} ({n})",
                            "right",
                            _with_interval if group == OVERALL else _moved,
                            key=group,
                        )
                        for group, n in groups.items()
                    ),
                ),
                tuple(rows),
                _legend(min(groups.values())),
                width=_WIDTH,
            )
        )
    return tables


def _legend(fewest: int) -> tuple[str, ...]:
    wide = f"With fewer than {_FEW} questions intervals are wide: they assume nothing. "
    return (
        "* the 95 % interval excludes 0 (--json has all of them); = no question's value differs.",
        (wide if fewest < _FEW else "") + "`sweep compare` tests a pair.",
    )


def verdict_table(results: Results, moves: Sequence[Move]) -> Table:
    """Return what moved: a row per arm and metric of which some interval excludes 0."""
    moves = _distinct(results, moves)
    rows, n_still = [], 0
    for arm in arms_of(results):
        for metric in dict.fromkeys(move.metric for move in moves):
            own = [move for move in moves if (move.arm, move.metric) == (arm.name, metric)]
            said = [
                ", ".join(
                    f"{move.group} {_difference(move.difference)}"
                    for move in own
                    if move.verdict == verdict
                )
                for verdict in _VERDICTS
            ]
            if any(said):
                rows.append((arm.name, arm.base, metric, *said))
            else:
                n_still += 1
    n_intervals = sum(move.low is not None for move in moves)
    pairs = f"{n_still}{' other' if rows else ''} pair{'' if n_still == 1 else 's'}"
    notes = (
        f"Of {pairs} of arm and metric nothing is shown to move.",
        f"An interval that excludes 0 counts as moved. Of {n_intervals} intervals of 95 %, "
        f"about {round(0.05 * n_intervals)}",
        "would exclude 0 even if no arm changed anything.",
    )
    return Table(
        "What moved, and what got worse",
        (
            Column("arm", whole=True),
            Column("against", key="base", whole=True),
            Column("metric", format=_metric),
            *(Column(text, format=lambda value: plain(value) or "-") for text in _VERDICTS),
        ),
        tuple(rows),
        notes if n_still else notes[1:],
        width=_WIDTH,
    )


_VERDICTS = ("better", "worse")


def _distinct(results: Results, moves: Sequence[Move]) -> list[Move]:
    """Return the moves without those of a slice that all questions are in."""
    whole = results.golden.slices if len(results.golden.slices) == 1 else ()
    return [move for move in moves if move.group not in whole]


def _moved(move: Move) -> str:
    if not move.n_differ:
        return "="
    mark = "" if move.verdict == "no difference shown" else "*"
    return f"{mark}{_difference(move.difference)}"


def _with_interval(move: Move) -> str:
    if not move.n_differ or move.low is None or move.high is None:
        return _moved(move)
    return f"{_moved(move)} ({_difference(move.low)} to {_difference(move.high)})"


def _difference(value: float) -> str:
    """Return a difference with its sign: two decimals, or three where these would hide it.

    Examples
    --------
    >>> _difference(0.25), _difference(-0.003), _difference(-0.0001), _difference(0.0)
    ('+0.25', '-0.003', '0.00', '0.00')
    """
    for places in (2, 3):
        text = f"{value:+.{places}f}"
        if float(text):
            return text
    return "0.00"


def _metric(name: str) -> str:
    """Return a metric's name as people say it: in words that a narrow header may break between."""
    return name.upper() if name in {"mrr", "ap"} else name.replace("_", " ")


def _figure(address: str) -> str:
    """Return a figure as the header of a narrow column; overall goes without saying."""
    group, _, metric = address.rpartition(".")
    return _metric(metric) if group == OVERALL else f"{group} {_metric(metric)}"


def _changes(own: Settings, base: Settings, base_name: str) -> str:
    names = dict.fromkeys([*base.as_dict(), *own.as_dict()])
    changed = [name for name in names if own.given(name) != base.given(name)]
    said = ", ".join(f"{name} {knob(name).format(own.given(name))}" for name in changed)
    return said if base_name == _TODAY else f"{base_name}, and {said}"


def _shortened(changes: str) -> str:
    """Return a text of changes in which those of classes are gathered, and cut if there are many.

    Examples
    --------
    >>> _shortened("rrf_k 5, routing.code.budget 3, routing.code.weights.vector 0.25")
    'rrf_k 5, weights code vector 0.25, budgets code 3'
    """
    if not changes:
        return "-"
    rest: list[str] = []
    gathered: dict[str, list[str]] = {"weights": [], "budgets": [], "prior": []}
    for part in changes.split(", "):
        known = _GATHERED.fullmatch(part)
        if known is None:
            rest.append(part)
            continue
        said = " ".join(word for word in (known["of"], known["what"], known["value"]) if word)
        kind = known["kind"] or "budget"
        gathered["budgets" if kind == "budget" else kind].append(said)
    found = {name: ", ".join(parts) for name, parts in gathered.items() if parts}
    length = len(", ".join([*rest, *found.values()]))
    if length > _CHANGES_SHOWN:
        found |= {name: _cut(found[name]) for name in ("weights", "budgets") if name in found}
    return plain(", ".join([*rest, *(f"{name} {said}" for name, said in found.items())]))


def _cut(listed: str) -> str:
    """Return the first parts of a list, as many as fit."""
    if len(listed) <= _GROUP_SHOWN:
        return listed
    return f"{listed[: _GROUP_SHOWN + 2].rpartition(', ')[0]}, ..."


_GATHERED = re.compile(
    r"(?:and )?(?:routing\.(?P<of>[\w-]+)\.)?(?:budget|(?P<kind>weights|prior)\.(?P<what>\S+))"
    r" (?P<value>.+)"
)
