"""Cross-validating a pick against choosing anew among all settings in every fold.

python -m tests.benchmarks.picking
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np

from sweeper.constraints import parse_constraint, parse_objectives
from sweeper.cross_validation import cross_validate
from sweeper.metrics import parse_metrics
from sweeper.recommend import choose
from sweeper.replay import Replay
from sweeper.scores import Scores, scores_of
from tests.benchmarks import peers

__all__ = ["PickRow", "pick_row"]

METRICS = parse_metrics(["recall@5", "recall@10", "mrr"])
OBJECTIVES = parse_objectives("memories.mrr")
CONSTRAINTS = (parse_constraint("overall.mrr >= current - 0.02"),)
SEED = 1


@dataclass(frozen=True, slots=True)
class PickRow:
    """Seconds of one cross-validation, of as many picks as it has folds, and their ratio."""

    n_questions: int
    n_settings: int
    validated_seconds: float
    chosen_seconds: float
    ratio: float


def pick_row(n_questions: int = 1000, n_settings: int = 10_000, n_rounds: int = 3) -> PickRow:
    """Race both over a grid; one pick is timed on nine tenths of the questions, and multiplied."""
    pool, golden = peers.pool_of(peers.questions(n_questions), depth=20)
    settings = peers.settings_of(peers.grid(n_settings))
    scores = scores_of(Replay(pool, golden, compiled=False), settings, METRICS)
    preference = [(float(number),) for number in range(n_settings)]
    seen = np.arange(n_questions) % 10 != 0
    part = Scores(
        {name: table[:, seen] for name, table in scores.values.items()},
        scores.slices,
        scores.slice_of[seen],
    )
    spent: list[tuple[float, float]] = []
    for _ in range(n_rounds):
        started = time.perf_counter()
        found = cross_validate(
            scores,
            OBJECTIVES,
            CONSTRAINTS,
            current=0,
            preference=preference,
            policy="supported",
            seed=SEED,
        )
        middle = time.perf_counter()
        choose(
            part,
            OBJECTIVES,
            CONSTRAINTS,
            current=0,
            preference=preference,
            seed=SEED,
            n_permutations=999,
        )
        ended = time.perf_counter()
        assert found is not None
        spent.append((middle - started, (ended - middle) * found.n_folds * found.n_repeats))
    return PickRow(
        n_questions,
        n_settings,
        statistics.median(validated for validated, _ in spent),
        statistics.median(chosen for _, chosen in spent),
        statistics.median(chosen / validated for validated, chosen in spent),
    )


if __name__ == "__main__":
    print(pick_row())
