"""Reference against challenger, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sweeper.metrics import Metric
from sweeper.runs import Positions

__all__ = ["Tally", "tally"]


@dataclass(frozen=True, slots=True)
class Tally:
    """How many questions a challenger answers better, worse, equally, or both ways.

    A question is *better* when at least one metric rises and none falls, *worse* the other way
    round, *mixed* when some rise and some fall.
    """

    better: int
    worse: int
    equal: int
    mixed: int


def tally(
    positions: Positions, metrics: Sequence[Metric], reference: int | Positions
) -> list[Tally]:
    """Compare every trial with a reference.

    Parameters
    ----------
    positions
        Several trials.
    metrics
        What counts as better; those of which more is not better are left out.
    reference
        The index of one of the trials, or a single trial over the same questions.
    """
    n_queries = positions.judgments.n_queries
    rises = np.zeros((len(positions), n_queries), bool)
    falls = np.zeros((len(positions), n_queries), bool)
    for metric in (item for item in metrics if item.larger_is_better):
        values = metric.values(positions)
        before = values[reference] if isinstance(reference, int) else metric.values(reference)[0]
        defined = metric.queries(positions.judgments)
        rises[:, defined] |= values > before
        falls[:, defined] |= values < before
    return [
        Tally(
            better=int((up & ~down).sum()),
            worse=int((down & ~up).sum()),
            equal=int((~up & ~down).sum()),
            mixed=int((up & down).sum()),
        )
        for up, down in zip(rises, falls, strict=True)
    ]
