"""Named settings side by side: their figures, and what each of them moves per slice."""

from __future__ import annotations

import numpy as np

from sweeper.golden import OVERALL
from sweeper.intervals import mean_interval
from sweeper.knobs import Settings, knob
from sweeper.result_tables import Table, figure_columns, tallies, worth_of_a_question
from sweeper.results import Results
from sweeper.tables import Column, signed

__all__ = ["arms_table", "price_table"]

_SEED = 0


def arms_table(results: Results) -> Table | None:
    """Return one row per arm, today's settings first; ``None`` if the sweep has no arms."""
    trials = _trials(results)
    if not trials:
        return None
    current = results.trial("current")
    addresses = results.manifest["table"]["columns"]
    wide = results.wide(addresses).to_numpy().tolist()
    numbers = [current, *(number for _, number in trials)]
    names = ["today", *(name for name, _ in trials)]
    rows = [
        (name, _changes(results, number), *wide[number], score.better, score.worse)
        for name, number, score in zip(names, numbers, tallies(results, numbers), strict=True)
    ]
    return Table(
        "Named settings",
        (
            Column("arm"),
            Column("differs from today in", key="changes"),
            *figure_columns(addresses),
            Column("better", "right"),
            Column("worse", "right"),
        ),
        tuple(rows),
        worth_of_a_question(results, [address.rpartition(".")[0] for address in addresses]),
        tuple(numbers),
    )


def price_table(results: Results) -> Table | None:
    """Return what each arm moves in every slice: the difference from today, with its interval.

    The metric is that of the first objective. ``None`` if the sweep has no arms.
    """
    trials = _trials(results)
    if not trials:
        return None
    metric = results.objectives[0].address.rpartition(".")[2]
    scores = results.scores([results.trial("current"), *(number for _, number in trials)])
    values = scores.values[metric]
    rows: list[tuple[object, ...]] = []
    for group in (*scores.slices, OVERALL):
        member = ~np.isnan(values).any(axis=0)
        if group != OVERALL:
            member &= scores.slice_of == scores.slices.index(group)
        strata = [member & (scores.slice_of == number) for number in range(len(scores.slices))]
        if not member.any():
            continue
        for (name, _), own in zip(trials, values[1:], strict=True):
            moved = own - values[0]
            interval = mean_interval(
                [moved[part] for part in strata if part.any()], seed=_SEED, bounds=(-1.0, 1.0)
            )
            low, high = (None, None) if interval is None else (interval.low, interval.high)
            rows.append((group, int(member.sum()), name, float(moved[member].mean()), low, high))
    return Table(
        f"What each arm moves in {metric.upper() if metric in {'mrr', 'ap'} else metric}",
        (
            Column("slice"),
            Column("questions", "right"),
            Column("arm"),
            Column("moves by", "right", signed, key="difference"),
            Column("95% from", "right", signed, key="low"),
            Column("to", "right", signed, key="high"),
        ),
        tuple(rows),
    )


def _trials(results: Results) -> list[tuple[str, int]]:
    """Return name and number of each arm that is not today's setting, in the config's order."""
    arms = results.trials["arm"]
    current = results.trial("current")
    found = [(str(name), int(n)) for n, name in enumerate(arms) if isinstance(name, str)]
    return [(name, number) for name, number in found if number != current]


def _changes(results: Results, number: int) -> str:
    own: Settings = results.settings[number]
    today = results.settings[results.trial("current")]
    names = dict.fromkeys([*today.as_dict(), *own.as_dict()])
    changed = [name for name in names if own.get(name) != today.get(name)]
    return ", ".join(f"{name} {knob(name).format(own.get(name))}" for name in changed) or "-"
